import type { RootFacts, RootStep } from '../../../workers/jobs/installation/jobs.ts';
import { openAccount } from '../../account/records.ts';
import { recover } from '../../core/concurrency.ts';
import { eachOf } from '../../core/each.ts';
import { pepperIdOf } from '../../domain/account/pepper.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { IndexEntry } from '../store/census.ts';
import { metadataEntries } from '../verify/items.ts';
import { accountPages, keyPages, type MaintenanceDependencies, type VaultKey } from '../walk.ts';

/** How long replies are kept for Idempotency-Keys, whose names derive from the root, and a margin. */
const KEPT_MS = 25 * 60 * 60 * 1_000;
const PASSES_MAX = 12;

/** The outcome of a rotation of the root. */
export interface RootRotation {
  /** `pending`: the older root is kept, for `waiting` accounts, or for Idempotency-Keys of the last 25 hours. */
  readonly state: 'done' | 'pending' | 'unfinished';
  /** Entries of the indexes of references and metadata that were moved in each pass. */
  readonly passes: readonly number[];
  /** Names of accounts that have not signed in since: their passwords are under the older root. */
  readonly waiting: readonly string[];
  /** When the older root is not needed any more for Idempotency-Keys, ms since 1970; 0 where there is none. */
  readonly keptUntilMs: number;
}

/** What a rotation of the root works on. */
export interface RootDependencies extends MaintenanceDependencies {
  readonly roots: {
    readonly refresh: () => Promise<RootFacts>;
    readonly step: (next: RootStep) => Promise<RootFacts>;
  };
  /** Resolves when every running server of the vault uses this state of the root record. */
  readonly waitForServers: (state: string) => Promise<void>;
  /** Called with numbers of entries that were looked at. */
  readonly seen: (entries: number) => void;
}

/** How many entries were moved, and how many are left. */
interface Moved {
  readonly moved: number;
  readonly missed: number;
}

function outcomeOf(results: readonly boolean[]): Moved {
  const moved = results.filter(Boolean).length;
  return { moved, missed: results.length - moved };
}

/** Moves the entries of a page that are not where the newest root has them. */
async function moveReferences(
  { censusStore, crypto }: RootDependencies,
  { account, kid }: VaultKey,
  bucket: Bucket,
  entries: readonly IndexEntry[],
): Promise<Moved> {
  const tokens = entries.map(({ token }) => token);
  const metas = await censusStore.metas(bucket, tokens);
  const members = await crypto.referenceMembers({ params: { aid: account.aid, kid, tokens }, metas });
  const strange = entries.flatMap(({ member, token }, i) => {
    const [meta = Buffer.alloc(0), own = new Uint8Array(0)] = [metas[i], members[i]];
    // What does not open is damaged: it is left for the operator to examine.
    const isDamaged = meta.length > 0 && own.length === 0;
    return member.equals(own) || isDamaged ? [] : [{ member, token, meta, own }];
  });
  return outcomeOf(await Promise.all(strange.map((entry) => censusStore.moveReference(bucket, entry))));
}

/** The same in the metadata index, where an item has several. */
async function moveMetadata(
  { censusStore, crypto }: RootDependencies,
  { account, kid }: VaultKey,
  bucket: Bucket,
  entries: readonly IndexEntry[],
): Promise<Moved> {
  const tokens = [...new Set(entries.map(({ token }) => token))];
  const metas = await censusStore.metas(bucket, tokens);
  const members = await crypto.metadataMembers({ params: { aid: account.aid, kid, tokens }, metas });
  const own = Map.groupBy(metadataEntries(members), ({ token }) => token);
  const strange = entries.flatMap(({ member, token }) => {
    const meta = metas[tokens.indexOf(token)] ?? Buffer.alloc(0);
    const mine = own.get(token) ?? [];
    // As above; an entry of an item that has no metadata is damage as well.
    const isDamaged = meta.length > 0 && mine.length === 0;
    const digests = Buffer.concat(mine.map(({ digest }) => digest));
    return isDamaged || mine.some((entry) => member.equals(entry.member))
      ? []
      : [{ member, token, meta, digests }];
  });
  return outcomeOf(await Promise.all(strange.map((entry) => censusStore.moveMetadata(bucket, entry))));
}

const MOVES = { references: moveReferences, metadata: moveMetadata } as const;

/** One pass over the indexes of references and metadata of all keys. */
async function movePass(parts: RootDependencies): Promise<{ moved: number; missed: number }> {
  const total = { moved: 0, missed: 0 };
  const moveBucket = async (key: VaultKey, number: number): Promise<void> => {
    const bucket = { kid: key.kid, number };
    for (const index of ['references', 'metadata'] as const) {
      for await (const entries of parts.censusStore.entries(bucket, index)) {
        const { moved, missed } = await MOVES[index](parts, key, bucket, entries);
        total.moved += moved;
        total.missed += missed;
        parts.seen(entries.length);
      }
    }
  };
  const buckets = Array.from({ length: parts.itemStore.buckets }, (_, number) => number);
  for await (const { accounts } of accountPages(parts)) {
    for (const account of accounts) {
      for await (const { keys } of keyPages(parts, account)) {
        for (const key of keys) {
          await eachOf(buckets, (number) => moveBucket(key, number));
        }
      }
    }
  }
  return total;
}

/** Passes until one has found nothing to move; false when there was always more. */
async function moveAll(parts: RootDependencies, passes: number[]): Promise<boolean> {
  for (let tries = 0; tries < PASSES_MAX; tries++) {
    const { moved, missed } = await movePass(parts);
    passes.push(moved);
    if (moved + missed === 0) {
      return true;
    }
  }
  return false;
}

/** Accounts whose password is under another root than the newest. */
async function waitingAccounts(
  parts: RootDependencies,
  newest: string | undefined,
): Promise<readonly string[]> {
  const { recordStore } = parts;
  const waiting: string[] = [];
  for await (const page of recordStore.pages(recordStore.kinds.accounts, '')) {
    for (const { id: name, record } of page) {
      const opened = await recover(openAccount(parts, name, record), 'integrity_failed', undefined);
      if (opened === undefined || pepperIdOf(opened.phc) !== newest) {
        waiting.push(name);
      }
    }
  }
  return waiting.sort();
}

/** Forgets the older root where nothing needs it, or where the operator ends it. */
async function end(
  parts: RootDependencies,
  { ids, movedAtMs }: RootFacts,
  passes: readonly number[],
  isForced: boolean,
): Promise<RootRotation> {
  const waiting = await waitingAccounts(parts, ids.at(-1));
  const keptUntilMs = movedAtMs + KEPT_MS;
  if (!isForced && (waiting.length > 0 || keptUntilMs > parts.now())) {
    return { state: 'pending', passes, waiting, keptUntilMs };
  }
  const { state } = await parts.roots.step('end');
  await parts.waitForServers(state);
  return { state: 'done', passes, waiting, keptUntilMs: 0 };
}

/**
 * Rotates the root while the vault is in use, or goes on with a rotation that was interrupted at any point: the state is
 * in the sealed root record, and every step may be made twice. Servers know the new root before any of them writes under
 * it, and all of them write under it before entries of the index are moved: an item is found at every moment.
 */
export async function rotateRoot(parts: RootDependencies, isForced = false): Promise<RootRotation> {
  const { roots, waitForServers } = parts;
  const passes: number[] = [];
  let facts = await roots.refresh();
  if (facts.stage === 'steady' && facts.ids.length === 1) {
    facts = await roots.step('begin');
  }
  if (facts.stage === 'known') {
    await waitForServers(facts.state);
    facts = await roots.step('move');
  }
  if (facts.stage === 'moving') {
    await waitForServers(facts.state);
    if (!(await moveAll(parts, passes))) {
      return { state: 'unfinished', passes, waiting: [], keptUntilMs: 0 };
    }
    facts = await roots.step('settle');
  }
  await waitForServers(facts.state);
  // Once more, for what a request has written that took longer than its server's report.
  const isMoved = await moveAll(parts, passes);
  return isMoved
    ? end(parts, facts, passes, isForced)
    : { state: 'unfinished', passes, waiting: [], keptUntilMs: 0 };
}
