const TRIES_MS = 3_000;
const PAUSE_MS = 100;

export type PortState = 'free' | 'shared' | 'taken';

/** Returns a free port: pages and documents contain it before the server listens. */
export function findFreePort(hostname: string): number {
  const probe = Bun.listen({ hostname, port: 0, socket: { data: () => undefined } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

/** True if a socket can have the port exclusively. */
function isFree(hostname: string, port: number): boolean {
  try {
    const probe = Bun.listen({ hostname, port, socket: { data: () => undefined } });
    probe.stop(true);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      return false;
    }
    throw error;
  }
}

/**
 * Checks that a server can listen on a port. Servers of one vault share a port, but the system would let any other program of
 * this user share it too, and receive some of the requests. So the port must be free, or `hasSibling` must report a server of
 * the same vault. Waits up to three seconds for a server that starts at the same time. Throws the system's error for an
 * address of another machine.
 */
export async function probePort(
  hostname: string,
  port: number,
  hasSibling: () => Promise<boolean>,
): Promise<PortState> {
  const end = Date.now() + TRIES_MS;
  for (;;) {
    if (isFree(hostname, port)) {
      return 'free';
    }
    if (await hasSibling()) {
      return 'shared';
    }
    if (Date.now() > end) {
      return 'taken';
    }
    await Bun.sleep(PAUSE_MS);
  }
}
