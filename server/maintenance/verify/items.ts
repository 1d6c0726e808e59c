import type { LongLog } from '../../../workers/jobs/maintenance/jobs.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { addChecked, addFaults, addKeys, type Fault, type Report } from '../report.ts';
import type { IndexEntry } from '../store/census.ts';
import { type MaintenanceDependencies, openAgain, type VaultKey } from '../walk.ts';

const LOG_STEP = 500;
const TAG_BYTES = 16;
/** Of a name and its text in the metadata index. */
const DIGEST_BYTES = 8;
/** Longer than any deletion closes a bucket. */
const CLOSED_MS_MAX = 120_000;

/** The bucket that is verified. Without a report nothing is counted: it was before. */
interface Target {
  readonly parts: MaintenanceDependencies;
  readonly key: VaultKey;
  readonly bucket: Bucket;
  readonly report?: Report | undefined;
}

function faultOf(
  { key }: Target,
  kind: string,
  id: string,
  what: string,
  state: Fault['state'] = 'bad',
): Fault {
  return { kind, account: key.account.name, place: id === '' ? key.user : `${key.user}/${id}`, what, state };
}

/** While the root is rotated, an entry may be where the other root has it. */
function indexState({ isRootMoving }: MaintenanceDependencies): Fault['state'] {
  return isRootMoving?.() === true ? 'unfinished' : 'bad';
}

/** The newest generation of the key as it is stored now; undefined once the key is gone. */
async function newestGen({ parts, key }: Target): Promise<number | undefined> {
  const facts = (await openAgain(parts, key.found))?.facts;
  return facts?.kid === key.kid ? facts.gen : undefined;
}

/** What of a long log stands behind its first entries. */
async function logFaults(target: Target, token: string, { first, length }: LongLog): Promise<Fault[]> {
  const { parts, key, report } = target;
  const { kid, account } = key;
  const tagOf = (entry: Buffer): Buffer => entry.subarray(-TAG_BYTES);
  const tags = (await parts.itemStore.readLogUp(kid, token, 1, first - 1)).map(tagOf);
  for (let at = first; at <= length; at += LOG_STEP) {
    const last = Math.min(at + LOG_STEP - 1, length);
    const entries = await parts.itemStore.readLogUp(kid, token, at, last);
    const place = { aid: account.aid, kid, token, first: at };
    const { wrongAt, keys } = await parts.crypto.verifyLog({
      params: place,
      before: Buffer.concat(tags),
      entries,
    });
    if (wrongAt !== null) {
      return [faultOf(target, 'log', token, `entry ${wrongAt} is not what was written`)];
    }
    if (report) {
      addKeys(report.keys, keys);
      addChecked(report, 'log', entries.length);
    }
    tags.push(...entries.map(tagOf));
  }
  return [];
}

/** A member that an index must have for an item. */
interface OwnMember {
  readonly token: string;
  readonly member: Uint8Array;
}

/** Items that are there, and not where an index should have them. */
async function unindexed(
  { parts, bucket }: Target,
  index: 'metadata' | 'references',
  own: readonly OwnMember[],
): Promise<readonly string[]> {
  const { censusStore } = parts;
  const isThere = await censusStore.hasMembers(
    bucket,
    index,
    own.map(({ member }) => member),
  );
  return thoseThatAre(
    parts,
    bucket,
    own.filter((_, i) => !isThere[i]).map(({ token }) => token),
  );
}

async function thoseThatAre(
  { censusStore }: MaintenanceDependencies,
  bucket: Bucket,
  tokens: readonly string[],
): Promise<readonly string[]> {
  const isItem = await censusStore.hasItems(bucket, tokens);
  return tokens.filter((_, i) => isItem[i]);
}

function referencesOf(tokens: readonly string[], members: readonly Uint8Array[]): OwnMember[] {
  return members.flatMap((member, i) => (member.length > 0 ? [{ member, token: tokens[i] ?? '' }] : []));
}

/** Members of the metadata index with their tokens and digests. */
export function metadataEntries(members: readonly Uint8Array[]) {
  return members.map((member) => ({
    member,
    digest: member.subarray(0, DIGEST_BYTES),
    token: Buffer.from(member).toString('utf8', DIGEST_BYTES, member.length - 2),
  }));
}

/** Verifies the first of these items, as many as one survey takes. */
async function itemFaults(
  target: Target,
  all: readonly string[],
): Promise<{ readonly items: number; readonly faults: readonly Fault[] }> {
  const { parts, key, bucket, report } = target;
  const { kid, account } = key;
  const gen = report ? key.gen : await newestGen(target);
  if (gen === undefined) {
    return { items: all.length, faults: [] };
  }
  const { blob, items } = await parts.surveyStore.survey(bucket, all);
  const tokens = all.slice(0, items);
  const params = { aid: account.aid, kid, gen, now: parts.now(), tokens };
  const verified = await parts.crypto.verifyItems({ params, survey: blob });
  const { findings: look, members, metadata, expiries } = verified;
  const missing = await unindexed(target, 'references', referencesOf(tokens, members));
  const unfound = await unindexed(target, 'metadata', metadataEntries(metadata));
  const due = await parts.censusStore.expiriesOf(bucket, tokens);
  const wrong = tokens.filter((_, i) => due[i] !== expiries[i]);
  const mistimed = await thoseThatAre(parts, bucket, wrong);
  const logs = await Promise.all(look.long.map((log) => logFaults(target, tokens[log.item] ?? '', log)));
  if (report) {
    addKeys(report.keys, look.keys);
    for (const [kind, count] of Object.entries(look.checked)) {
      addChecked(report, kind, count);
    }
  }
  const foreign = tokens.filter((token) => parts.itemStore.bucketOf(kid, token).number !== bucket.number);
  const faults = [
    ...look.faults.map(({ item, kind, what }) => faultOf(target, kind, tokens[item] ?? '', what)),
    ...foreign.map((token) => faultOf(target, 'time index', token, 'the item belongs into another bucket')),
    ...missing.map((token) =>
      faultOf(target, 'reference index', token, 'the item is not in it', indexState(parts)),
    ),
    ...unfound.map((token) =>
      faultOf(target, 'metadata index', token, 'the item is not in it', indexState(parts)),
    ),
    ...mistimed.map((token) =>
      faultOf(target, 'expiries', token, 'it does not name the item as its metadata says'),
    ),
    ...logs.flat(),
  ];
  return { items, faults };
}

async function verifyItems(target: Target, report: Report): Promise<void> {
  const { parts, key, bucket } = target;
  for await (const page of parts.surveyStore.tokens(bucket)) {
    for (let at = 0; at < page.length; ) {
      const { items, faults } = await itemFaults({ ...target, report }, page.slice(at));
      const tokens = new Set(faults.map(({ place }) => place.slice(key.user.length + 1)));
      const check = async (): Promise<Fault[]> => {
        const again = await Promise.all([...tokens].map((token) => itemFaults(target, [token])));
        return again.flatMap((found) => found.faults);
      };
      await addFaults(report, check, faults);
      at += items;
    }
  }
}

async function referenceFaults(target: Target, entries: readonly IndexEntry[]): Promise<Fault[]> {
  const { parts, key, bucket } = target;
  const tokens = entries.map(({ token }) => token);
  const metas = await parts.censusStore.metas(bucket, tokens);
  const members = await parts.crypto.referenceMembers({
    params: { aid: key.account.aid, kid: key.kid, tokens },
    metas,
  });
  const strange = entries.filter(({ member }, i) => !member.equals(members[i] ?? Buffer.alloc(0)));
  const isThere = await parts.censusStore.hasMembers(
    bucket,
    'references',
    strange.map(({ member }) => member),
  );
  return strange
    .filter((_, i) => isThere[i])
    .map(({ token }) =>
      faultOf(target, 'reference index', token, 'an entry has no item of its reference', indexState(parts)),
    );
}

/** Entries of the metadata index without an item that has such metadata. */
async function metadataFaults(target: Target, entries: readonly IndexEntry[]): Promise<Fault[]> {
  const { parts, key, bucket } = target;
  const tokens = entries.map(({ token }) => token);
  const metas = await parts.censusStore.metas(bucket, tokens);
  const names = { aid: key.account.aid, kid: key.kid, tokens };
  const members = await parts.crypto.metadataMembers({ params: names, metas });
  const own = new Set(members.map((member) => Buffer.from(member).toString('latin1')));
  const strange = entries.filter(({ member }) => !own.has(member.toString('latin1')));
  const isThere = await parts.censusStore.hasMembers(
    bucket,
    'metadata',
    strange.map(({ member }) => member),
  );
  return strange
    .filter((_, i) => isThere[i])
    .map(({ token }) =>
      faultOf(target, 'metadata index', token, 'an entry has no item of its metadata', indexState(parts)),
    );
}

/** Tokens that are to expire, or have expired, and are no items. */
async function expiryFaults(target: Target, tokens: readonly string[]): Promise<Fault[]> {
  const { parts, bucket } = target;
  const { censusStore } = parts;
  const isItem = await censusStore.hasItems(bucket, tokens);
  const isListed = await censusStore.hasTimes(bucket, tokens);
  const due = await censusStore.expiriesOf(bucket, tokens);
  return tokens
    .filter((_, i) => !(isItem[i] && isListed[i]) && due[i] !== 0)
    .map((token) => faultOf(target, 'expiries', token, 'it names an item that is not there'));
}

/**
 * A change of passphrase moves the key to its next generation, then its fences, and is named as unfinished meanwhile. So what
 * is read in this order shows no fault of a key that is changed at this moment.
 */
async function fenceFaults(target: Target): Promise<Fault[]> {
  const { parts, key, bucket } = target;
  const gen = await newestGen(target);
  const changes = await parts.keyStore.changesLeft(key.account.aid);
  const fence = await parts.censusStore.fence(bucket);
  const now = parts.now();
  const fault = (what: string, state?: Fault['state']): Fault[] => [
    faultOf(target, 'fence', `bucket ${bucket.number}`, what, state),
  ];
  if (gen === undefined) {
    return [];
  }
  if (!Number.isSafeInteger(fence.gen) || fence.gen > ((await newestGen(target)) ?? fence.gen)) {
    return fault('it names a generation that the key does not have');
  }
  if (!Number.isFinite(fence.closedUntil) || fence.closedUntil > now + CLOSED_MS_MAX) {
    return fault('it is closed for longer than a deletion takes');
  }
  if (fence.gen < gen) {
    const isChanging = changes.some(({ kid }) => kid === key.kid);
    return fault('it stands at an older generation', isChanging ? 'unfinished' : 'bad');
  }
  return fence.closedUntil > now ? fault('a deletion has closed it', 'unfinished') : [];
}

/** Verifies one bucket of a key: its items with all that belongs to them, its indexes both ways, and its fence. */
export async function verifyBucket(
  parts: MaintenanceDependencies,
  report: Report,
  key: VaultKey,
  number: number,
): Promise<void> {
  const target: Target = { parts, key, bucket: { kid: key.kid, number } };
  await verifyItems(target, report);
  for await (const entries of parts.censusStore.entries(target.bucket, 'references')) {
    addChecked(report, 'reference index', entries.length);
    await addFaults(report, () => referenceFaults(target, entries));
  }
  for await (const entries of parts.censusStore.entries(target.bucket, 'metadata')) {
    addChecked(report, 'metadata index', entries.length);
    await addFaults(report, () => metadataFaults(target, entries));
  }
  for await (const tokens of parts.censusStore.expiries(target.bucket)) {
    addChecked(report, 'expiries', tokens.length);
    await addFaults(report, () => expiryFaults(target, tokens));
  }
  addChecked(report, 'fence', 1);
  await addFaults(report, () => fenceFaults(target));
}
