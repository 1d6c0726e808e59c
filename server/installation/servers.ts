import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { HEARTBEAT_MS, type ServerEntry, type ServerStore } from './server-store.ts';

/** The other servers of the same vault, as one server sees them. */
export interface Siblings {
  /** Whether another one listens on this server's address and port, on the same network stack. */
  readonly havePort: () => Promise<boolean>;
  /** Records that this server listens, and repeats that until `withdraw`. */
  readonly announce: () => Promise<void>;
  /** Removes the record; a failure is ignored, because the record expires automatically. */
  readonly withdraw: () => Promise<void>;
}

/** Identifies the network stack: two processes can compete for a port if boot and network namespace are equal. */
function networkOf(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/net')}`;
  } catch {
    return hostname();
  }
}

/**
 * Creates the view of one server that listens, or will listen, on this address. `readRoots` reads the root record, gives it
 * to the threads, and names its state.
 */
export function createSiblings(
  store: ServerStore,
  own: Pick<ServerEntry, 'id' | 'address' | 'port' | 'version'>,
  readRoots: () => Promise<string> = async () => '',
): Siblings {
  const entry: ServerEntry = {
    ...own,
    host: hostname(),
    network: networkOf(),
    pid: process.pid,
    started: new Date().toISOString(),
    roots: '',
  };
  let roots = '';
  let timer: ReturnType<typeof setInterval> | undefined;
  // Other parts report a lost connection to Redis; the next heartbeat records this server again.
  const record = async (): Promise<void> => {
    // What it uses is reported an interval later: by then the requests that began before have ended.
    const used = roots;
    roots = await readRoots().catch(() => '');
    await store.heartbeat({ ...entry, roots: used === roots ? roots : '' }).catch(() => undefined);
  };
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
