const TRIES_MS = 3_000;
const PAUSE_MS = 100;

/** What a port is to a server that wants to listen on it. */
export type PortState = 'free' | 'shared' | 'taken';

/** A port that is free now; pages and documents name it before anybody listens. */
export function findFreePort(hostname: string): number {
  const probe = Bun.listen({ hostname, port: 0, socket: { data: () => undefined } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

/** Whether nobody listens there: only then the system lets a socket have the port for itself. */
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
 * Finds out whether a port can be listened on. All servers of a vault share theirs, so the system alone would let
 * any other program of this user share it too, and take a part of the requests: hence the port must be free, or
 * `hasSibling` must know that a server of the same vault has it. A server that starts at the same moment is waited
 * for, a few seconds at most. Throws what the system says of an address that is not this machine's.
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
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
