import type { RootFacts, RootStep } from '../../workers/jobs/installation/jobs.ts';
import { writeRootCell } from '../../workers/jobs/root-keys.ts';
import type { Clock } from '../core/clock.ts';
import type { Crypto } from '../crypto/client.ts';
import type { InstallationStore } from './store.ts';

/** The root record as this process uses it. */
export class Roots {
  private constructor(
    private readonly store: InstallationStore,
    private readonly crypto: Crypto,
    /** The record that the threads of this process read. */
    private readonly cell: SharedArrayBuffer,
    private readonly now: Clock,
    private record: Buffer,
    private facts: RootFacts,
    private keys: readonly Uint8Array[],
  ) {}

  /** Opens the record that the threads of this process were started with. */
  static async open(
    store: InstallationStore,
    crypto: Crypto,
    cell: SharedArrayBuffer,
    now: Clock,
    record: Buffer,
  ): Promise<Roots> {
    const facts = await crypto.describeRoot({ root: record });
    return new Roots(store, crypto, cell, now, record, facts, await crypto.cursorKeys());
  }

  current(): RootFacts {
    return this.facts;
  }

  /** True if an older or newer root is known besides the one in use. */
  hasOther(): boolean {
    return this.facts.ids.length > 1;
  }

  /** Returns the id of the root whose pepper passwords are to have; undefined if there is no other that they may have. */
  wantedPepper(): string | undefined {
    const { ids, stage } = this.facts;
    return ids.length > 1 && stage !== 'known' ? ids.at(-1) : undefined;
  }

  cursorKeys(): readonly Uint8Array[] {
    return this.keys;
  }

  /** Reads the record, and passes a changed one to the threads. Rejects without a change if it does not open. */
  async refresh(): Promise<RootFacts> {
    const installation = await this.store.read();
    if (installation !== undefined && !installation.root.equals(this.record)) {
      const record = Buffer.from(installation.root);
      const facts = await this.crypto.describeRoot({ root: record });
      this.record = record;
      writeRootCell(this.cell, record);
      this.facts = facts;
      this.keys = await this.crypto.cursorKeys();
    }
    return this.facts;
  }

  /** Takes a step of a rotation, and returns the facts afterwards: another process may have changed the record meanwhile. */
  async step(next: RootStep): Promise<RootFacts> {
    const changed = await this.crypto.stepRoot({ root: this.record, step: next, nowMs: this.now() });
    await this.store.replaceRoot(this.record, changed);
    return this.refresh();
  }
}
