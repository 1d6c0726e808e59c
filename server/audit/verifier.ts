import type { ChainFault, Checkpoint, MarkFacts } from '../../workers/jobs/audit/jobs.ts';
import { bindParts } from '../core/bind.ts';
import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { AuditStore } from './store.ts';

const STEP = 256;

/**
 * What is wrong with a chain at a sequence number. `missing`: no entry there, though later ones or the head say that
 * there was. `damaged`: it does not open. `broken`: it does not follow the one before it, or the head names another.
 * `replaced`: a checkpoint names another. `cut`: a checkpoint proves that the chain went on from there. `foreign`:
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

interface Bounds {
  readonly head: MarkFacts;
  readonly start: MarkFacts;
  /** Entries that lie there. */
  readonly entries: number;
}

type Verdict = ChainReport['fault'];
type KnownLinks = Parameters<Crypto['verifyAudit']>[0]['known'];

const MEMBERS = ['account', 'head', 'time', 'signature'] as const;

/** Parses the JSON text of a checkpoint; undefined for any other text. Its signature is not verified here. */
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

interface VerifierParts {
  readonly crypto: Pick<Crypto, 'checkCheckpoint' | 'describeChain' | 'verifyAudit'>;
  readonly auditStore: Pick<AuditStore, 'chains' | 'read' | 'readCheckpoint' | 'readMarks'>;
}

/** The verifier of security logs. */
export type AuditVerifier = ReturnType<typeof createAuditVerifier>;

/** Verifies security logs against themselves, their heads, and the checkpoints that were taken of them. */
export function createAuditVerifier(parts: VerifierParts) {
  return bindParts(parts, { chains, verify });
}

async function describe({ crypto, auditStore }: VerifierParts, aid: string): Promise<Bounds> {
  const { entries, ...marks } = await auditStore.readMarks(aid);
  return { ...(await crypto.describeChain({ aid, ...marks })), entries };
}

/** The checkpoints of a chain: of those given, and the one that is stored. Rejects one that this vault has not signed. */
async function checkpointsOf(
  { crypto, auditStore }: VerifierParts,
  aid: string,
  given: readonly Checkpoint[],
): Promise<readonly Checkpoint[]> {
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
}

/** Entries upwards from `first` as far as none is missing. */
async function readUp(
  { auditStore }: VerifierParts,
  aid: string,
  first: number,
  last: number,
): Promise<readonly Buffer[]> {
  const sequences = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const entries = await auditStore.read(aid, sequences);
  const gap = entries.indexOf(undefined);
  return entries.slice(0, gap < 0 ? entries.length : gap).filter((entry) => entry !== undefined);
}

/** Walks from the start of a chain to its head, and returns the first fault. */
async function walk(
  parts: VerifierParts,
  aid: string,
  { head, start }: Bounds,
  known: KnownLinks,
): Promise<Verdict> {
  let before = start;
  while (before.sequence < head.sequence) {
    const first = before.sequence + 1;
    const last = Math.min(head.sequence, first + STEP - 1);
    const entries = await readUp(parts, aid, first, last);
    const within = known.filter(({ sequence }) => sequence >= first && sequence <= last);
    const { end, fault } = await parts.crypto.verifyAudit({ ...{ aid, before, known: within }, entries });
    if (fault !== undefined) {
      return { sequence: end.sequence + 1, reason: fault };
    }
    if (entries.length === last - first + 1) {
      before = end;
      continue;
    }
    // Retention may have removed what is missing in the meantime.
    const now = (await describe(parts, aid)).start;
    if (now.sequence <= end.sequence) {
      return { sequence: end.sequence + 1, reason: 'missing' };
    }
    before = now;
  }
  return before.sequence === head.sequence && before.link !== head.link
    ? { sequence: head.sequence, reason: 'broken' }
    : undefined;
}

async function judge(parts: VerifierParts, aid: string, bounds: Bounds, known: KnownLinks): Promise<Verdict> {
  const { head, start, entries } = bounds;
  const wrong = await walk(parts, aid, bounds, known);
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

/** Internal ids of the accounts, deleted ones too, that have a chain or are said to have one; '' is the operator's. */
async function chains(
  { auditStore }: VerifierParts,
  checkpoints: readonly Checkpoint[] = [],
): Promise<readonly string[]> {
  const known = await auditStore.chains();
  return [...new Set(['', ...known, ...checkpoints.map(({ account }) => account)])].sort();
}

/**
 * Verifies a whole chain, with the newest checkpoint that is stored beside it and with those given, of which it takes its
 * own. Entries that are written, or removed by retention, meanwhile do no harm. A checkpoint that this vault has not
 * signed is rejected with `integrity_failed`. `keptSinceMs`: a chain may be gone, if its checkpoints are older.
 */
async function verify(
  parts: VerifierParts,
  account: string,
  given: readonly Checkpoint[] = [],
  keptSinceMs = 0,
): Promise<ChainReport> {
  const checkpoints = await checkpointsOf(parts, account, given);
  const known = checkpoints.map(({ sequence, head }) => ({ sequence, link: head }));
  const report = { account, checkpoints: known.length };
  const bounds = await recover(describe(parts, account), 'integrity_failed', undefined);
  if (!bounds) {
    return { ...report, first: 0, last: 0, fault: { sequence: 0, reason: 'head' } };
  }
  const { head, start } = bounds;
  const isGone = head.sequence === 0 && bounds.entries === 0;
  if (isGone && checkpoints.every(({ time }) => Date.parse(time) < keptSinceMs)) {
    return { ...report, first: 0, last: 0 };
  }
  const fault = await judge(parts, account, bounds, known);
  const ends = { first: head.sequence === 0 ? 0 : start.sequence + 1, last: head.sequence };
  return { ...report, ...ends, ...(fault ? { fault } : {}) };
}
