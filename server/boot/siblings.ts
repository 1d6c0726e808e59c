import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { HEARTBEAT_MS, type ServerEntry, type ServerStore } from '../store/server.ts';

/** The servers of the same vault, from the point of view of one of them. */
export interface Siblings {
  /** Whether another one listens on the port that this one wants, on the same network stack. */
  readonly havePort: () => Promise<boolean>;
  /** Records that this one listens, now and again and again until it is withdrawn. */
  readonly announce: () => Promise<void>;
  /** Removes that record. */
  readonly withdraw: () => Promise<void>;
}

/** Two processes compete for a port when they share this boot's network namespace. */
function networkOf(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/net')}`;
  } catch {
    return hostname();
  }
}

/** Makes the siblings of a server that listens, or is going to, on this address. */
export function createSiblings(
  store: ServerStore,
  own: Pick<ServerEntry, 'id' | 'address' | 'port' | 'version'>,
): Siblings {
  const entry: ServerEntry = {
    ...own,
    host: hostname(),
    network: networkOf(),
    pid: process.pid,
    started: new Date().toISOString(),
  };
  let timer: ReturnType<typeof setInterval> | undefined;
  // Where Redis is away, other parts report that; the next round records again.
  const record = (): Promise<unknown> => store.heartbeat(entry).catch(() => undefined);
  return {
    havePort: async () =>
      (await store.list()).some(
        ({ network, address, port }) =>
          network === entry.network && address === entry.address && port === entry.port,
      ),
    announce: async () => {
      timer = setInterval(record, HEARTBEAT_MS);
      timer.unref();
      await record();
    },
    withdraw: async () => {
      clearInterval(timer);
      await store.leave(entry.id).catch(() => undefined);
    },
  };
}
