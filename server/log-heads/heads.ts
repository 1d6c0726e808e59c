import type { HeadsCheckpoint } from '../../workers/jobs/log-heads/jobs.ts';
import { bindParts } from '../core/bind.ts';
import type { Clock } from '../core/clock.ts';
import { pause, recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Bucket } from '../redis/records/name.ts';
import type { ItemStore } from '../vault/store/items.ts';
import type { HeadsStore, ReadHeads } from './store.ts';
import { parseHeadsCheckpoint } from './verify.ts';

/** A vault key and its account. */
export interface OwnedKey {
  readonly aid: string;
  readonly kid: string;
}

/** What is wrong with recorded heads: a log is shorter than recorded, one was removed by another, or all are older than before. */
export interface HeadsFault extends OwnedKey {
  readonly what: 'cut' | 'removed' | 'older';
  /** Logs that it concerns; 0 for all of the key. */
  readonly logs: number;
}

interface HeadsDependencies {
  readonly crypto: Pick<Crypto, 'coverKey' | 'foldHeads' | 'readHeadsMark' | 'signHeads' | 'uncoverKey'>;
  readonly headsStore: HeadsStore;
  readonly itemStore: Pick<ItemStore, 'buckets' | 'takeMoved'>;
  /** All accounts with their vault keys. */
  readonly accounts: () => AsyncIterable<{ readonly aid: string; readonly kids: readonly string[] }>;
  readonly now: Clock;
  /** Called with each checkpoint before it is stored: it is to be kept outside of Redis. */
  readonly announce: (checkpoint: HeadsCheckpoint) => void;
  readonly onFault: (fault: HeadsFault) => void;
  /** Called behind the recording of logs in these buckets of a key. */
  readonly onRecorded?: ((key: OwnedKey, numbers: readonly number[]) => Promise<void>) | undefined;
  /** Called with why something was not recorded; it is retried. */
  readonly onFailure: (error: unknown) => void;
}

interface HeadsParts extends HeadsDependencies {
  /** Accounts of keys. */
  readonly owners: Map<string, string>;
  /** Buckets that the next `take` looks at again, by key. */
  readonly left: Map<string, Set<number>>;
  /** The newest epoch of each account that this process has seen. */
  readonly epochs: Map<string, number>;
  /** When the last round of a stopping server ends. */
  readonly last: { endsAt: number };
}

/** Others that change the same record at the same time. */
const RACES_MAX = 20;
/** A round takes no more of Redis' time than one part of so many: what it leaves is recorded by the next one. */
const PACE = 4;
/** How long a round lasts: the checkpoints of the security logs wait for it. The next one goes on. */
const ROUND_MS = 20_000;
/** The same of the last round of a stopping server. Another server goes on, or this one at its next start. */
const LAST_ROUND_MS = 5_000;

/**
 * Records how long the logs of items are, and signs that, so that a log that was cut since is found. Logs are named by the
 * scripts that append to them; nothing waits for this. All servers may do it at once: each change names what it follows.
 */
export function createLogHeads(dependencies: HeadsDependencies) {
  const parts: HeadsParts = {
    ...dependencies,
    ...{ owners: new Map(), left: new Map(), epochs: new Map(), last: { endsAt: Number.POSITIVE_INFINITY } },
  };
  return bindParts(parts, { take, takeLast, catchUp });
}

/** Records the logs of one reading; false when there was nothing that could be recorded, or another one was first. */
async function foldSome(
  { crypto, headsStore, onFault }: HeadsParts,
  { aid, kid }: OwnedKey,
  bucket: Bucket,
  first: ReadHeads,
): Promise<void> {
  let read = first;
  for (let races = 0; races < RACES_MAX && read.tokens.length > 0; races++) {
    const params = { aid, kid, bucket: bucket.number, tokens: read.tokens };
    const { record, facts } = await crypto.foldHeads({ params, record: read.record, heads: read.heads });
    for (const what of ['cut', 'removed'] as const) {
      const logs = facts.faults.filter((fault) => fault.what === what).length;
      if (logs > 0 && races === 0) {
        onFault({ aid, kid, what, logs });
      }
    }
    if (record.length === 0 || (await headsStore.fold(bucket, read, facts.lengths, record))) {
      return;
    }
    read = await headsStore.read(bucket, read.tokens);
  }
}

/** Whether a round is over that ends at this time of `performance.now()`. */
function isOver({ last }: HeadsParts, endsAt: number): boolean {
  return performance.now() > Math.min(endsAt, last.endsAt);
}

/**
 * Records the changed logs of a bucket, with pauses in which others use Redis, unless the server stops. False when the
 * round was over before.
 */
async function foldBucket(
  parts: HeadsParts,
  key: OwnedKey,
  bucket: Bucket,
  endsAt: number,
): Promise<boolean> {
  let startedAt = performance.now();
  for await (const read of parts.headsStore.changed(bucket)) {
    if (isOver(parts, endsAt)) {
      return false;
    }
    await foldSome(parts, key, bucket, read);
    if (read.tokens.length > 0 && parts.last.endsAt === Number.POSITIVE_INFINITY) {
      await pause((PACE - 1) * (performance.now() - startedAt));
    }
    startedAt = performance.now();
  }
  return true;
}

/**
 * What an account says of a key, with the epoch of its mark and that of its newest checkpoint. Reports, and rejects with
 * `integrity_failed`, a mark that is older than what was signed, or seen by this process.
 */
async function readKey(parts: HeadsParts, { aid, kid }: OwnedKey) {
  const { crypto, headsStore, epochs, onFault } = parts;
  // Before the mark, which others may replace meanwhile.
  const seen = epochs.get(aid) ?? 0;
  const signed = epochOfText(await headsStore.readCheckpoint(aid));
  const read = await headsStore.readKey(aid, kid);
  const { epoch } = await crypto.readHeadsMark({
    params: { aid, kids: [] },
    mark: read.mark,
    buckets: [],
  });
  if (epoch < Math.max(seen, signed)) {
    onFault({ aid, kid, what: 'older', logs: 0 });
    throw new VaultError('integrity_failed');
  }
  epochs.set(aid, Math.max(epoch, epochs.get(aid) ?? 0));
  return { ...read, epoch, signed };
}

/** The epoch of a stored checkpoint; 0 without one. */
function epochOfText(text: string | undefined): number {
  return text === undefined ? 0 : (parseHeadsCheckpoint(text)?.epoch ?? 0);
}

function recordsOf({ headsStore, itemStore }: HeadsParts, kid: string): Promise<Buffer[]> {
  return Promise.all(bucketsOf(itemStore, kid).map((bucket) => headsStore.record(bucket)));
}

/** Enters what the buckets of a key have recorded into what its account has. */
async function coverAccount(parts: HeadsParts, key: OwnedKey): Promise<void> {
  const { crypto, headsStore, onFault } = parts;
  const { aid, kid } = key;
  for (let races = 0; races < RACES_MAX; races++) {
    const read = await readKey(parts, key);
    // Behind what the account says of them: they can only be newer.
    const records = await recordsOf(parts, kid);
    if (read.proof.length > 0 || (read.buckets.length === 0 && records.every(({ length }) => length === 0))) {
      return;
    }
    const params = { aid, kid };
    const covered = crypto.coverKey({ params, mark: read.mark, buckets: read.buckets, records });
    const next = await recover(covered, 'integrity_failed', undefined);
    if (next === undefined) {
      onFault({ aid, kid, what: 'older', logs: 0 });
      return;
    }
    const { mark, buckets } = next;
    if (mark === undefined || (await headsStore.put(aid, read, { mark, buckets }))) {
      return;
    }
  }
  throw new VaultError('overloaded');
}

function bucketsOf({ buckets }: Pick<ItemStore, 'buckets'>, kid: string): Bucket[] {
  return Array.from({ length: buckets }, (_, number) => ({ kid, number }));
}

/**
 * Records the changed logs of some buckets of a key; of all of them, and all logs, if it was never done. Buckets that
 * are not recorded when the round is over are left to the next one.
 */
async function coverKey(
  parts: HeadsParts,
  key: OwnedKey,
  numbers: Iterable<number>,
  endsAt = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { headsStore, itemStore } = parts;
  const { aid, kid } = key;
  const { buckets } = await headsStore.readKey(aid, kid);
  const isNew = buckets.length === 0;
  const some = isNew ? bucketsOf(itemStore, kid) : [...numbers].map((number) => ({ kid, number }));
  const recorded: number[] = [];
  for (const bucket of some) {
    await (isNew ? headsStore.nameAll(bucket) : undefined);
    if (await foldBucket(parts, key, bucket, endsAt)) {
      recorded.push(bucket.number);
    } else {
      keepLeft(parts, kid, [bucket.number]);
    }
  }
  await parts.onRecorded?.(key, recorded);
  await coverAccount(parts, key);
}

/** Signs the recorded heads of an account, unless the newest checkpoint is of them. */
async function checkpoint(parts: HeadsParts, aid: string): Promise<void> {
  const { crypto, headsStore, now, announce } = parts;
  const { mark, epoch, signed: newest } = await readKey(parts, { aid, kid: '' });
  if (epoch === newest) {
    return;
  }
  const signed = await crypto.signHeads({ params: { aid, timeMs: now() }, mark });
  // Announced before it is stored: one that is announced twice does no harm, one that never is does.
  announce(signed);
  await headsStore.putCheckpoint(aid, JSON.stringify(signed));
}

/** Learns the accounts of all keys; returns all accounts. */
async function learnOwners({ accounts, owners }: HeadsParts): Promise<ReadonlySet<string>> {
  const aids = new Set<string>();
  owners.clear();
  for await (const { aid, kids } of accounts()) {
    aids.add(aid);
    for (const kid of kids) {
      owners.set(kid, aid);
    }
  }
  return aids;
}

/** Names buckets for the next round. */
function keepLeft({ left }: HeadsParts, kid: string, numbers: Iterable<number>): void {
  left.set(kid, new Set([...(left.get(kid) ?? []), ...numbers]));
}

/** Records the logs that this process has added to since the last time. */
async function take(parts: HeadsParts): Promise<void> {
  const { itemStore, left, owners, onFailure } = parts;
  const endsAt = performance.now() + ROUND_MS;
  for (const { kid, number } of itemStore.takeMoved()) {
    keepLeft(parts, kid, [number]);
  }
  const round = new Map(left);
  left.clear();
  const aids = new Set<string>();
  if ([...round.keys()].some((kid) => !owners.has(kid))) {
    await learnOwners(parts).catch(onFailure);
  }
  for (const [kid, numbers] of round) {
    const aid = owners.get(kid);
    if (aid === undefined) {
      continue;
    }
    if (isOver(parts, endsAt)) {
      keepLeft(parts, kid, numbers);
      continue;
    }
    aids.add(aid);
    await coverKey(parts, { aid, kid }, numbers, endsAt).catch((error: unknown) => {
      keepLeft(parts, kid, numbers);
      onFailure(error);
    });
  }
  for (const aid of aids) {
    await checkpoint(parts, aid).catch(onFailure);
  }
}

/** The last round of a stopping server: it is short, and ends one in flight at the same time. */
function takeLast(parts: HeadsParts): Promise<void> {
  parts.last.endsAt = performance.now() + LAST_ROUND_MS;
  return take(parts);
}

/** Forgets the keys of an account that the service has deleted, once nothing of them is left. */
async function forgetRemoved(parts: HeadsParts, aid: string): Promise<void> {
  const { crypto, headsStore } = parts;
  for (const { kid, proof } of (await headsStore.readAccount(aid)).keys) {
    if (proof.length > 0 && (await recordsOf(parts, kid)).every(({ length }) => length === 0)) {
      const read = await headsStore.readKey(aid, kid);
      const { mark } = await crypto.uncoverKey({ params: { aid, kid }, ...read });
      await headsStore.put(aid, read, { mark, buckets: new Uint8Array(0) });
    }
  }
}

/** Records the logs of all keys, whichever server has added to them, and forgets deleted keys. */
async function catchUp(parts: HeadsParts): Promise<void> {
  const { itemStore, owners } = parts;
  const aids = await learnOwners(parts);
  const all = [...owners].map(([kid, aid]) => ({ aid, kid }));
  const errors: unknown[] = [];
  const attempt = (work: Promise<void>): Promise<unknown> =>
    work.catch((error: unknown) => errors.push(error));
  for (const key of all) {
    await attempt(
      coverKey(
        parts,
        key,
        bucketsOf(itemStore, key.kid).map(({ number }) => number),
      ),
    );
  }
  for (const aid of aids) {
    await attempt(forgetRemoved(parts, aid));
    await attempt(checkpoint(parts, aid));
  }
  if (errors.length > 0) {
    throw errors[0];
  }
}
