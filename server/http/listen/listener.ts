import type { Elysia } from 'elysia';
import { type ListenOptions, listen } from './listen.ts';

/**
 * How long replies end their connections before the socket closes: a connection that is used more often than that is
 * never cut off between two requests. Milliseconds.
 */
const LAST_REPLIES_MS = 500;

/** A socket that accepts connections, until it is closed. */
export interface Listener {
  readonly port: number;
  /** From now on every reply ends its connection. New connections are still accepted. */
  readonly startDraining: () => void;
  /** Drains, stops accepting, and resolves when every request in flight is answered and no connection is left. */
  readonly close: () => Promise<void>;
}

/**
 * Listens on a port that other servers may share. Throws the system's error when the address cannot be listened on.
 * A connection that the kernel has completed and the runtime has not accepted when the socket closes is reset, unless
 * `net.ipv4.tcp_migrate_req` lets the kernel hand it to another server on the port.
 */
export function openListener(app: Elysia, options: ListenOptions): Listener {
  let isDraining = false;
  const server = listen(app, { ...options, isShared: true, isDraining: () => isDraining });
  const startDraining = (): void => {
    isDraining = true;
  };
  return {
    port: server.port ?? options.port,
    startDraining,
    close: async () => {
      startDraining();
      await Bun.sleep(LAST_REPLIES_MS);
      await server.stop();
    },
  };
}
