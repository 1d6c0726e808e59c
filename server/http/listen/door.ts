import type { Elysia } from 'elysia';
import { listeningDescriptors, shutGate } from './gate.ts';
import { type ListenOptions, listen } from './listen.ts';

/**
 * How long a socket that begins no connections any more still takes those that have begun: a round trip for the
 * last step of the handshake, and the request behind it. Shorter than the second after which a client asks again.
 */
const GATE_MS = 500;
/** How long connections under an old certificate may stay without a request. */
const RENEWED_MS = 10_000;

/** The way in for callers, over the life of a server. */
export interface Door {
  readonly port: number;
  /** From now on every reply ends its connection; new ones are still taken, so that no caller is turned away. */
  readonly leave: () => void;
  /**
   * Takes no new connection, answers what has come, ends connections that nobody uses, and resolves when none is
   * left. Requests on connections that stay open until then are answered as well.
   */
  readonly close: () => Promise<void>;
  /**
   * Shows another certificate to whoever connects from now on. The runtime cannot change that of an open socket, so
   * a second socket takes the port over, and the first one is closed like a door.
   */
  readonly renew: (tls: Bun.TLSOptions) => void;
}

type Leaf = Pick<Door, 'leave' | 'close'>;

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

const openLeaf = (app: Elysia, options: ListenOptions): Leaf & { readonly port: number } => {
  const before = new Set(listeningDescriptors(options.port));
  let isLeaving = false;
  const server = listen(app, { ...options, isShared: true, isLeaving: () => isLeaving });
  const port = server.port ?? options.port;
  const own = listeningDescriptors(port).filter((descriptor) => !before.has(descriptor));
  const leave = (): void => {
    isLeaving = true;
  };
  return {
    port,
    leave,
    close: async () => {
      leave();
      shutGate(own);
      await sleep(GATE_MS);
      await server.stop();
    },
  };
};

/**
 * Opens the door. Throws what the system says when the address cannot be listened on. `lingerMs` is how long
 * connections under a certificate that was renewed may stay.
 */
export const openDoor = (app: Elysia, options: ListenOptions, lingerMs = RENEWED_MS): Door => {
  const first = openLeaf(app, options);
  const port = first.port;
  let newest: Leaf = first;
  const leaves = new Set<Leaf>([first]);
  return {
    port,
    leave: () => {
      for (const leaf of leaves) {
        leaf.leave();
      }
    },
    close: async () => {
      await Promise.all([...leaves].map((leaf) => leaf.close()));
    },
    renew: (tls) => {
      const old = newest;
      newest = openLeaf(app, { ...options, port, tls });
      leaves.add(newest);
      old.leave();
      setTimeout(() => {
        old.close().finally(() => leaves.delete(old));
      }, lingerMs).unref();
    },
  };
};
