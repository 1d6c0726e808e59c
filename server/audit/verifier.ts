import type { ChainFault, Checkpoint, MarkFacts } from '../../workers/jobs/audit/jobs.ts';
import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { AuditStore } from './store.ts';

const STEP = 256;

/**
 * The fault of a chain at a sequence number. `missing`: no entry, though later ones or the head prove that there was one.
 * `damaged`: it does not open. `broken`: it does not follow the one before it, or the head names another. `replaced`: a
 * checkpoint names another. `cut`: a checkpoint proves that the chain was longer. `foreign`: an entry after the head.
 * `head`: the record of the end of the chain, or of its start, does not open.
 */
export type AuditFault = ChainFault | 'missing' | 'cut' | 'foreign' | 'head';

export interface ChainReport {
  /** Internal id of the account; empty for the operator's own chain. */
  readonly account: string;
  /** Sequence numbers of the oldest and the newest entry that the chain should have; both 0 for an empty one. */
  readonly first: number;
  readonly last: number;
  /** Number of checkpoints that were compared with it. */
  readonly checkpoints: number;
  readonly fault?: { readonly sequence: number; readonly reason: AuditFault };
}

interface Bounds {
  readonly head: MarkFacts;
  readonly start: MarkFacts;
  readonly entries: number;
}

type Verdict = ChainReport['fault'];
type KnownLinks = Parameters<Crypto['verifyAudit']>[0]['known'];

/** The members of a checkpoint that are texts. */
const TEXTS = ['account', 'head', 'time', 'signature'] as const;

/** Verifies security logs against themselves, their heads, and their checkpoints. */
export class AuditVerifier {
  constructor(
    private readonly store: AuditStore,
    private readonly crypto: Crypto,
  ) {}

  /** Lists the internal ids of accounts, including removed ones, that have a chain or a checkpoint; '' is the operator's. */
  async chains(checkpoints: readonly Checkpoint[] = []): Promise<readonly string[]> {
    const known = await this.store.chains();
    return [...new Set(['', ...known, ...checkpoints.map(({ account }) => account)])].sort();
  }

  /**
   * Verifies a whole chain against its stored checkpoint and against `given`, of which it uses its own. Entries may be
   * written, or removed by retention, meanwhile. Rejects with `integrity_failed` if this vault has not signed a checkpoint.
   * `keptSinceMs`: a chain may be gone, if its checkpoints are older.
   */
  async verify(account: string, given: readonly Checkpoint[] = [], keptSinceMs = 0): Promise<ChainReport> {
    const checkpoints = await this.checkpointsOf(account, given);
    const known = checkpoints.map(({ sequence, head }) => ({ sequence, link: head }));
    const report = { account, checkpoints: known.length };
    const bounds = await recover(this.describe(account), 'integrity_failed', undefined);
    if (!bounds) {
      return { ...report, first: 0, last: 0, fault: { sequence: 0, reason: 'head' } };
    }
    const { head, start } = bounds;
    const isGone = head.sequence === 0 && bounds.entries === 0;
    if (isGone && checkpoints.every(({ time }) => Date.parse(time) < keptSinceMs)) {
      return { ...report, first: 0, last: 0 };
    }
    const fault = await this.judge(account, bounds, known);
    const ends = { first: head.sequence === 0 ? 0 : start.sequence + 1, last: head.sequence };
    return { ...report, ...ends, ...(fault ? { fault } : {}) };
  }

  /** Returns the checkpoints of a chain: of those given, and the stored one. Rejects one that this vault has not signed. */
  private async checkpointsOf(aid: string, given: readonly Checkpoint[]): Promise<readonly Checkpoint[]> {
    const stored = await this.store.readCheckpoint(aid);
    const own = stored && parseCheckpoint(stored.text);
    if (stored && own?.account !== aid) {
      throw new VaultError('integrity_failed');
    }
    const all = [...given.filter(({ account }) => account === aid), ...(own ? [own] : [])];
    for (const checkpoint of all) {
      await this.crypto.checkCheckpoint({ checkpoint });
    }
    return all;
  }

  private async describe(aid: string): Promise<Bounds> {
    const { entries, ...marks } = await this.store.readMarks(aid);
    return { ...(await this.crypto.describeChain({ aid, ...marks })), entries };
  }

  private async judge(aid: string, bounds: Bounds, known: KnownLinks): Promise<Verdict> {
    const { head, start, entries } = bounds;
    const wrong = await this.walk(aid, bounds, known);
    if (wrong) {
      return wrong;
    }
    if (known.some(({ sequence, link }) => sequence === start.sequence && link !== start.link)) {
      return { sequence: start.sequence, reason: 'replaced' };
    }
    if (known.some(({ sequence }) => sequence > head.sequence)) {
      return { sequence: head.sequence + 1, reason: 'cut' };
    }
    return entries > head.sequence - start.sequence
      ? { sequence: head.sequence + 1, reason: 'foreign' }
      : undefined;
  }

  /** Walks from the start of a chain to its head, and returns the first fault. */
  private async walk(aid: string, { head, start }: Bounds, known: KnownLinks): Promise<Verdict> {
    let before = start;
    while (before.sequence < head.sequence) {
      const first = before.sequence + 1;
      const last = Math.min(head.sequence, first + STEP - 1);
      const entries = await this.store.readRun(aid, first, last);
      const within = known.filter(({ sequence }) => sequence >= first && sequence <= last);
      const { end, fault } = await this.crypto.verifyAudit({ ...{ aid, before, known: within }, entries });
      if (fault !== undefined) {
        return { sequence: end.sequence + 1, reason: fault };
      }
      if (entries.length === last - first + 1) {
        before = end;
        continue;
      }
      // Retention may have removed the missing entries in the meantime.
      const now = (await this.describe(aid)).start;
      if (now.sequence <= end.sequence) {
        return { sequence: end.sequence + 1, reason: 'missing' };
      }
      before = now;
    }
    return before.sequence === head.sequence && before.link !== head.link
      ? { sequence: head.sequence, reason: 'broken' }
      : undefined;
  }
}

/** Parses the JSON text of a checkpoint; undefined for any other text. Its signature is not verified here. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  try {
    const value = JSON.parse(text) as Checkpoint;
    return TEXTS.every((name) => typeof value[name] === 'string') && Number.isSafeInteger(value.sequence)
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}
