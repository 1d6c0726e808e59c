import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { type ServerEntry, type ServerStore, TELL_MS } from '../store/server.ts';

/** The servers of the same vault, from the point of view of one of them. */
export interface Siblings {
  /** Whether another one listens on the port that this one wants, on the same network stack. */
  readonly havePort: () => Promise<boolean>;
  /** Says that this one listens, now and from now on. */
  readonly join: () => Promise<void>;
  /** Takes that back. */
  readonly leave: () => Promise<void>;
}

/** Two processes compete for a port when they share this boot's network namespace. */
const networkOf = (): string => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/net')}`;
  } catch {
    return hostname();
  }
};

/** Makes the siblings of a server that listens, or is going to, on this address. */
export const createSiblings = (
  store: ServerStore,
  own: Pick<ServerEntry, 'id' | 'address' | 'port' | 'version'>,
): Siblings => {
  const entry: ServerEntry = {
    ...own,
    host: hostname(),
    network: networkOf(),
    pid: process.pid,
    started: new Date().toISOString(),
  };
  let timer: ReturnType<typeof setInterval> | undefined;
  // A Redis that is away has other witnesses; the next round tells again.
  const tell = (): Promise<unknown> => store.tell(entry).catch(() => undefined);
  return {
    havePort: async () =>
      (await store.list()).some(
        ({ network, address, port }) =>
          network === entry.network && address === entry.address && port === entry.port,
      ),
    join: async () => {
      timer = setInterval(tell, TELL_MS);
      timer.unref();
      await tell();
    },
    leave: async () => {
      clearInterval(timer);
      await store.leave(entry.id).catch(() => undefined);
    },
  };
};
