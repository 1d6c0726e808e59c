import { randomInt } from 'node:crypto';

/** Below the ports that the kernel gives to connections, which could take the port of a server that is down. */
const FIRST = 12_000;
const PORTS = 10_000;
const TRIES_MAX = 1_000;

function listenOn(port: number): Bun.TCPSocketListener | undefined {
  try {
    return Bun.listen({ hostname: '127.0.0.1', port, socket: { data: () => undefined } });
  } catch {
    return undefined;
  }
}

/**
 * A free port of 127.0.0.1, for a server that must know its port before it starts. While this process runs, no other
 * test process gets the same port: a listener on a much higher port is the claim.
 */
export function freePort(): number {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = FIRST + randomInt(PORTS);
    const claim = listenOn(port + PORTS);
    const probe = claim && listenOn(port);
    if (claim && probe) {
      probe.stop(true);
      claim.unref();
      return port;
    }
    claim?.stop(true);
  }
  throw new Error('No port of 127.0.0.1 is free');
}
