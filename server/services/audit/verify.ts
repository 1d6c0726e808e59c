import { VaultError } from '../../core/errors.ts';
import type { ChainFault, Checkpoint, Crypto, MarkFacts } from '../../crypto/client.ts';
import type { AuditStore } from '../../store/audit.ts';

const STEP = 256;

/**
 * What is wrong with a chain at a sequence number. `missing`: no entry there, though later ones or the head say that
 * there was. `damaged`: it does not open. `broken`: it does not follow the one before it, or the head names another.
 * `replaced`: a checkpoint names another. `cut`: a checkpoint tells that the chain went on from there. `foreign`:
 * something lies there that no head speaks of. `head`: the record of where the chain ends, or begins, does not open.
 */
export type AuditFault = ChainFault | 'missing' | 'cut' | 'foreign' | 'head';

/** What a check of a chain has found. */
export interface ChainReport {
  /** Internal id of the account; empty for the operator's own chain. */
  readonly account: string;
  /** Sequence numbers of the oldest and the newest entry that the chain should have; both 0 for an empty one. */
  readonly first: number;
  readonly last: number;
  /** Checkpoints that were compared with it. */
  readonly checkpoints: number;
  /** The first number at which something is wrong. */
  readonly fault?: { readonly sequence: number; readonly reason: AuditFault };
}

export interface AuditVerifier {
  /** Internal ids of the accounts, deleted ones too, that have a chain or are said to have one; '' is the operator's. */
  readonly chains: (checkpoints?: readonly Checkpoint[]) => Promise<readonly string[]>;
  /**
   * Checks a chain whole, with the newest checkpoint that lies beside it and with those given, of which it takes its
   * own. Entries that are written, or removed by retention, meanwhile do no harm. A checkpoint that this vault has not
   * signed is refused with `integrity_failed`. `keptSinceMs`: a chain may be gone, if its checkpoints are older.
   */
  readonly verify: (
    account: string,
    checkpoints?: readonly Checkpoint[],
    keptSinceMs?: number,
  ) => Promise<ChainReport>;
}

interface Known {
  readonly sequence: number;
  readonly link: string;
}

interface Bounds {
  readonly head: MarkFacts;
  readonly start: MarkFacts;
  /** Entries that lie there. */
  readonly entries: number;
}

type Verdict = { readonly sequence: number; readonly reason: AuditFault } | undefined;

const MEMBERS = ['account', 'head', 'time', 'signature'] as const;

/** A checkpoint of its JSON text; undefined for what is none. Whether it is one of ours is not looked at. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  try {
    const value = JSON.parse(text) as Checkpoint;
    return MEMBERS.every((name) => typeof value[name] === 'string') && Number.isSafeInteger(value.sequence)
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof VaultError && error.code === 'integrity_failed';
}

/** Checks security logs against themselves, their heads, and the checkpoints that were taken of them. */
export function createAuditVerifier({
  crypto,
  auditStore,
}: {
  readonly crypto: Pick<Crypto, 'checkCheckpoint' | 'describeChain' | 'verifyAudit'>;
  readonly auditStore: Pick<AuditStore, 'chains' | 'read' | 'readCheckpoint' | 'readMarks'>;
}): AuditVerifier {
  const describe = async (aid: string): Promise<Bounds> => {
    const marks = await auditStore.readMarks(aid);
    return { ...(await crypto.describeChain({ aid, ...marks })), entries: marks.entries };
  };

  /** Those of a chain, the one that is stored beside it among them. */
  const checkpointsOf = async (aid: string, given: readonly Checkpoint[]): Promise<readonly Checkpoint[]> => {
    const stored = await auditStore.readCheckpoint(aid);
    const own = stored && parseCheckpoint(stored.text);
    if (stored && own?.account !== aid) {
      throw new VaultError('integrity_failed');
    }
    const all = [...given.filter(({ account }) => account === aid), ...(own ? [own] : [])];
    for (const checkpoint of all) {
      await crypto.checkCheckpoint({ checkpoint });
    }
    return all;
  };

  /** Entries upwards from `first` as far as they are there. */
  const readUp = async (aid: string, first: number, last: number): Promise<readonly Buffer[]> => {
    const sequences = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    const entries = await auditStore.read(aid, sequences);
    const gap = entries.indexOf(undefined);
    return entries.slice(0, gap < 0 ? entries.length : gap).filter((entry) => entry !== undefined);
  };

  /** Walks from the start of a chain to its head; gives the first place that is wrong. */
  const walk = async (aid: string, { head, start }: Bounds, known: readonly Known[]): Promise<Verdict> => {
    let before = start;
    while (before.sequence < head.sequence) {
      const first = before.sequence + 1;
      const last = Math.min(head.sequence, first + STEP - 1);
      const entries = await readUp(aid, first, last);
      const within = known.filter(({ sequence }) => sequence >= first && sequence <= last);
      const { end, fault } = await crypto.verifyAudit({ ...{ aid, before, known: within }, entries });
      if (fault !== undefined) {
        return { sequence: end.sequence + 1, reason: fault };
      }
      if (entries.length === last - first + 1) {
        before = end;
        continue;
      }
      // Retention may have removed what is missing while we came here.
      const now = (await describe(aid)).start;
      if (now.sequence <= end.sequence) {
        return { sequence: end.sequence + 1, reason: 'missing' };
      }
      before = now;
    }
    return before.sequence === head.sequence && before.link !== head.link
      ? { sequence: head.sequence, reason: 'broken' }
      : undefined;
  };

  const judge = async (aid: string, bounds: Bounds, known: readonly Known[]): Promise<Verdict> => {
    const { head, start, entries } = bounds;
    const wrong = await walk(aid, bounds, known);
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
  };

  return {
    async chains(checkpoints = []) {
      const known = await auditStore.chains();
      return [...new Set(['', ...known, ...checkpoints.map(({ account }) => account)])].sort();
    },
    async verify(account, given = [], keptSinceMs = 0) {
      const checkpoints = await checkpointsOf(account, given);
      const known = checkpoints.map(({ sequence, head }) => ({ sequence, link: head }));
      const report = { account, checkpoints: known.length };
      let bounds: Bounds;
      try {
        bounds = await describe(account);
      } catch (error) {
        if (!isDamage(error)) {
          throw error;
        }
        return { ...report, first: 0, last: 0, fault: { sequence: 0, reason: 'head' } };
      }
      const { head, start } = bounds;
      const isGone = head.sequence === 0 && bounds.entries === 0;
      if (isGone && checkpoints.every(({ time }) => Date.parse(time) < keptSinceMs)) {
        return { ...report, first: 0, last: 0 };
      }
      const fault = await judge(account, bounds, known);
      const ends = { first: head.sequence === 0 ? 0 : start.sequence + 1, last: head.sequence };
      return { ...report, ...ends, ...(fault ? { fault } : {}) };
    },
  };
}
