import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ServerEntry, ServerStore } from './server-store.ts';

const HEARTBEAT_MS = 5_000;

/** The other servers of the same vault, as seen by one server that listens, or will listen, on an address. */
export class Siblings {
  private readonly entry: ServerEntry;
  private roots = '';
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly store: ServerStore,
    own: Pick<ServerEntry, 'id' | 'address' | 'port' | 'version' | 'certificateEnd'>,
    /** Reads the root record, passes it to the threads, and returns its state. */
    private readonly readRoots: () => Promise<string>,
  ) {
    this.entry = {
      ...own,
      host: hostname(),
      network: networkOf(),
      pid: process.pid,
      started: new Date().toISOString(),
      roots: '',
    };
  }

  /** Returns whether another one listens on this server's address and port, on the same network stack. */
  async havePort(): Promise<boolean> {
    const { network, address, port } = this.entry;
    const isSame = (one: ServerEntry): boolean =>
      one.network === network && one.address === address && one.port === port;
    return (await this.store.list()).some(isSame);
  }

  /** Records that this server listens, and repeats that until `withdraw`. */
  async announce(): Promise<void> {
    this.timer = setInterval(() => this.record(), HEARTBEAT_MS);
    this.timer.unref();
    await this.record();
  }

  /** Removes the record. A failure is ignored, since the record expires. */
  async withdraw(): Promise<void> {
    clearInterval(this.timer);
    await this.store.leave(this.entry.id).catch(() => undefined);
  }

  private async record(): Promise<void> {
    // A state counts one interval later: requests that began before it have ended by then.
    const before = this.roots;
    this.roots = await this.readRoots().catch(() => '');
    const roots = before === this.roots ? before : '';
    // A lost connection to Redis is reported elsewhere; the next heartbeat records this server again.
    await this.store.heartbeat({ ...this.entry, roots }).catch(() => undefined);
  }
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
