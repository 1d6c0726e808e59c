import type { Bucket } from '../../store/redis/keys.ts';
import { pause } from '../common/coalesce.ts';
import { type Fault, type Report, settled } from './report.ts';
import type { MaintenanceDependencies, WalkedKey } from './walk.ts';

/** A key whose items are verified: the newest generation as it is stored now, undefined once the key is gone. */
export interface VerifiedKey extends WalkedKey {
  readonly account: string;
  /** Whether a passphrase change is known to be unfinished. */
  readonly isChanging: () => Promise<boolean>;
  readonly genNow: () => Promise<number | undefined>;
}

const LOG_STEP = 500;
const TAG_BYTES = 16;
/** Longer than any deletion closes a bucket. */
const CLOSED_MS_MAX = 120_000;

/** Verifies one bucket of a key: its items with all that belongs to them, its indexes both ways, and its fence. */
export function createBucketCheck(parts: MaintenanceDependencies, report: Report) {
  const { crypto, surveyStore, censusStore, itemStore, now } = parts;

  const faultOf = (key: VerifiedKey, kind: string, token: string, what: string): Fault => ({
    kind,
    account: key.account,
    place: token === '' ? key.user : `${key.user}/${token}`,
    what,
    state: 'bad',
  });

  /** What of a long log stands behind its first entries. */
  const lookAtRest = async (
    key: VerifiedKey,
    token: string,
    { first, length }: { readonly first: number; readonly length: number },
    counting: boolean,
  ): Promise<Fault[]> => {
    const { aid, kid } = key;
    const start = await itemStore.readLogUp(kid, token, 1, first - 1);
    const tags: Uint8Array[] = start.map((entry) => entry.subarray(-TAG_BYTES));
    for (let at = first; at <= length; at += LOG_STEP) {
      const entries = await itemStore.readLogUp(kid, token, at, Math.min(at + LOG_STEP - 1, length));
      const look = await crypto.lookAtLog({ aid, kid, token, first: at }, Buffer.concat(tags), entries);
      if (look.wrongAt !== null) {
        return [faultOf(key, 'log', token, `entry ${look.wrongAt} is not what was written`)];
      }
      if (counting) {
        report.tally.addAll(look.keys);
        report.count('log', entries.length);
      }
      tags.push(...entries.map((entry) => entry.subarray(-TAG_BYTES)));
    }
    return [];
  };

  /** The first of these items, as many as one survey takes. */
  const lookAtItems = async (
    key: VerifiedKey,
    bucket: Bucket,
    tokens: readonly string[],
    counting: boolean,
  ): Promise<{
    readonly items: number;
    readonly faults: readonly Fault[];
    readonly tokens: readonly string[];
  }> => {
    const gen = await (counting ? key.gen : key.genNow());
    if (gen === undefined) {
      return { items: tokens.length, faults: [], tokens: [] };
    }
    const { aid, kid } = key;
    const { blob, items } = await surveyStore.survey(bucket, tokens);
    const some = tokens.slice(0, items);
    const { look, members } = await crypto.lookAtItems({ aid, kid, gen, now: now(), tokens: some }, blob);
    const faults = look.faults.map(({ item, kind, what }) => ({ token: some[item] ?? '', kind, what }));
    const named = members.flatMap((member, i) =>
      member.length > 0 ? [{ member, token: some[i] ?? '' }] : [],
    );
    const there = await censusStore.hasReferences(
      bucket,
      named.map(({ member }) => member),
    );
    const missing = named.filter((_, i) => !there[i]).map(({ token }) => token);
    const lost = await censusStore.hasItems(bucket, missing);
    const rest = await Promise.all(
      look.long.map((long) => lookAtRest(key, some[long.item] ?? '', long, counting)),
    );
    if (counting) {
      report.tally.addAll(look.keys);
      for (const [kind, count] of Object.entries(look.checked)) {
        report.count(kind, count);
      }
    }
    const foreign = some.filter((token) => itemStore.bucketOf(kid, token).number !== bucket.number);
    return {
      items,
      tokens: some,
      faults: [
        ...faults.map(({ token, kind, what }) => faultOf(key, kind, token, what)),
        ...foreign.map((token) => faultOf(key, 'time index', token, 'the item belongs into another bucket')),
        ...missing
          .filter((_, i) => lost[i])
          .map((token) => faultOf(key, 'reference index', token, 'the item is not in it')),
        ...rest.flat(),
      ],
    };
  };

  const checkItems = async (key: VerifiedKey, bucket: Bucket): Promise<void> => {
    for await (const page of surveyStore.tokens(bucket)) {
      for (let at = 0; at < page.length; ) {
        const { items, faults } = await lookAtItems(key, bucket, page.slice(at), true);
        const places = new Set(faults.map(({ place }) => place.slice(key.user.length + 1)));
        const again = async (): Promise<Fault[]> =>
          (await Promise.all([...places].map((token) => lookAtItems(key, bucket, [token], false)))).flatMap(
            (look) => look.faults,
          );
        report.add(await settled(faults, again, pause));
        at += items;
      }
    }
  };

  const lookAtReferences = async (
    key: VerifiedKey,
    bucket: Bucket,
    entries: readonly { readonly member: Buffer; readonly token: string }[],
  ): Promise<Fault[]> => {
    const { aid, kid } = key;
    const tokens = entries.map(({ token }) => token);
    const metas = await censusStore.metas(bucket, tokens);
    const members = await crypto.referenceMembers({ aid, kid, tokens }, metas);
    const strange = entries.filter(({ member }, i) => !member.equals(members[i] ?? Buffer.alloc(0)));
    const there = await censusStore.hasReferences(
      bucket,
      strange.map(({ member }) => member),
    );
    return strange
      .filter((_, i) => there[i])
      .map(({ token }) => faultOf(key, 'reference index', token, 'an entry has no item of its reference'));
  };

  const checkReferences = async (key: VerifiedKey, bucket: Bucket): Promise<void> => {
    for await (const entries of censusStore.references(bucket)) {
      report.count('reference index', entries.length);
      const first = await lookAtReferences(key, bucket, entries);
      report.add(await settled(first, () => lookAtReferences(key, bucket, entries), pause));
    }
  };

  const lookAtFence = async (key: VerifiedKey, bucket: Bucket): Promise<Fault[]> => {
    const gen = await key.genNow();
    const fence = await censusStore.fence(bucket);
    if (gen === undefined) {
      return [];
    }
    const bad = (what: string, state: Fault['state'] = 'bad'): Fault => ({
      ...faultOf(key, 'fence', `bucket ${bucket.number}`, what),
      state,
    });
    if (!Number.isSafeInteger(fence.gen) || fence.gen > gen) {
      return [bad('it names a generation that the key does not have')];
    }
    if (!Number.isFinite(fence.closedUntil) || fence.closedUntil > now() + CLOSED_MS_MAX) {
      return [bad('it is closed for longer than a deletion takes')];
    }
    if (fence.gen < gen) {
      const changing = await key.isChanging();
      return [bad('it stands at an older generation', changing ? 'unfinished' : 'bad')];
    }
    return fence.closedUntil > now() ? [bad('a deletion has closed it', 'unfinished')] : [];
  };

  return async (key: VerifiedKey, number: number): Promise<void> => {
    const bucket = { kid: key.kid, number };
    await checkItems(key, bucket);
    await checkReferences(key, bucket);
    report.count('fence', 1);
    report.add(await settled(await lookAtFence(key, bucket), () => lookAtFence(key, bucket), pause));
  };
}
