import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { ItemStore } from '../../store/item/item.ts';
import type { KeyStore } from '../../store/key.ts';
import type { Bucket } from '../../store/records/name.ts';
import type { Audit } from '../audit/audit.ts';
import { bindParts } from '../common/bind.ts';
import type { Clock, RandomId } from '../common/clock.ts';
import { recover } from '../common/coalesce.ts';
import type { ServiceSettings } from '../common/settings.ts';
import type { Keys } from '../key/key.ts';
import { prove } from './remove.ts';

/** Items of one step: Redis is busy with them for a millisecond. */
const STEP = 64;
/** A clock that is ahead must not remove what others still show: that of Redis must agree, and both by so much. */
const GRACE_MS = 60_000;

interface ExpiryParts {
  readonly crypto: Pick<Crypto, 'proveRemovals' | 'referenceMembers'>;
  readonly itemStore: Pick<
    ItemStore,
    'buckets' | 'dueTokens' | 'expire' | 'readMany' | 'readTrace' | 'remove'
  >;
  readonly keys: Pick<Keys, 'find'>;
  readonly keyStore: Pick<KeyStore, 'users'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'auditRetentionMs'>;
}

/** Leaves nothing but their logs of these items; gives how many of them that were. */
async function expire(
  { crypto, itemStore }: ExpiryParts,
  aid: string,
  bucket: Bucket,
  tokens: readonly string[],
): Promise<number> {
  const { kid } = bucket;
  const traces = await Promise.all(tokens.map((token) => itemStore.readTrace(kid, token)));
  const metas = traces.map((trace) => trace?.meta ?? Buffer.alloc(0));
  const members = await crypto.referenceMembers({ params: { aid, kid, tokens }, metas });
  const items = tokens.flatMap((token, i) => {
    const meta = metas[i] ?? Buffer.alloc(0);
    return meta.length === 0 ? [] : [{ token, meta, refMember: members[i] ?? new Uint8Array(0) }];
  });
  return itemStore.expire(bucket, items);
}

/** Removes the logs of items that have expired, which are all that is left of them; gives how many of them that were. */
async function removeLogs(
  parts: ExpiryParts,
  aid: string,
  bucket: Bucket,
  tokens: readonly string[],
): Promise<number> {
  const { itemStore } = parts;
  const { kid, number } = bucket;
  const places = tokens.map((token) => ({ token, bucket: number }));
  const replies = await itemStore.readMany(kid, places, 'log');
  if (replies === undefined) {
    throw new VaultError('integrity_failed'); // no metadata is so large
  }
  const { failed, removals } = await prove(parts, { aid, kid, tokens, references: null, now: 0 }, replies);
  const damaged = new Set(failed.map(({ index }) => index));
  // What was stored anew meanwhile has other metadata, and stays.
  const outcomes = await itemStore.remove(
    bucket,
    removals.filter((_, i) => !damaged.has(i)),
  );
  return outcomes === 'closed' ? 0 : outcomes.filter((outcome) => outcome === 'ok').length;
}

/** Does this with all tokens of a bucket whose time is over, in steps; gives with how many it was done. */
async function eachStep(
  { itemStore, now }: ExpiryParts,
  bucket: Bucket,
  logsKept: number | undefined,
  act: (tokens: readonly string[]) => Promise<number>,
): Promise<number> {
  let done = 0;
  // What is left of a step is damaged, or another server or a deletion is about it: it must not hold up the rest.
  for (let skip = 0; ; ) {
    const wanted = { now: now() - GRACE_MS, logsKept, skip, limit: STEP };
    const tokens = await itemStore.dueTokens(bucket, wanted);
    if (tokens.length === 0) {
      return done;
    }
    const of = await act(tokens);
    done += of;
    skip += tokens.length - of;
  }
}

/** Removes what is over of one bucket; gives the number of items that have expired. */
async function sweepBucket(parts: ExpiryParts, aid: string, bucket: Bucket): Promise<number> {
  const { auditRetentionMs } = parts.settings;
  const expired = await eachStep(parts, bucket, undefined, (tokens) => expire(parts, aid, bucket, tokens));
  if (auditRetentionMs > 0) {
    await eachStep(parts, bucket, auditRetentionMs, (tokens) => removeLogs(parts, aid, bucket, tokens));
  }
  return expired;
}

/**
 * Removes what is left of items whose time is over, but for their logs, which are kept as long as the security log is, from
 * their expiry on. One entry of the security log says how many they were of each key.
 */
async function sweep(parts: ExpiryParts, aid: string): Promise<void> {
  const { itemStore, keys, keyStore, audit, randomId } = parts;
  for (const user of await keyStore.users(aid, undefined, -1)) {
    const key = await recover(keys.find({ aid }, user), 'key_not_found', undefined);
    let expired = 0;
    for (let number = 0; key !== undefined && number < itemStore.buckets; number++) {
      expired += await sweepBucket(parts, aid, { kid: key.kid, number });
    }
    if (expired > 0) {
      await audit.record({
        ...{
          aid,
          action: 'item.expire',
          outcome: 'success',
          actor: 'vault',
          object: `items/${user}/${expired}`,
        },
        ...{ ip: '', userAgent: '', requestId: randomId() },
      });
    }
  }
}

/** The sweep of items that have expired. */
export function createExpiry(parts: ExpiryParts) {
  return bindParts(parts, { sweep });
}
