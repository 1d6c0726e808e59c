import type { Audit } from '../audit/audit.ts';
import { bindParts } from '../core/bind.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Keys } from '../key/keys.ts';
import type { KeyStore } from '../key/store.ts';
import type { Bucket } from '../redis/records/name.ts';
import { prove } from './remover.ts';
import type { ItemStore } from './store/items.ts';
import type { ItemRemoval } from './store/removal.ts';

/** Items of one step: Redis is busy with them for a millisecond. */
const STEP = 64;
/** A clock that is ahead must not remove what others still show: that of Redis must agree, and both by so much. */
const GRACE_MS = 60_000;

interface ExpiryParts {
  readonly crypto: Pick<Crypto, 'proveRemovals'>;
  readonly itemStore: Pick<ItemStore, 'buckets' | 'dueTokens' | 'expire' | 'readMany' | 'remove'>;
  readonly keys: Pick<Keys, 'find'>;
  readonly keyStore: Pick<KeyStore, 'users'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'auditRetentionMs'>;
}

/**
 * What the store needs to remove these items. The index that names them is not sealed: an item whose own record says that its
 * time was not over `by` then, in ms since 1970, stays, and so does a damaged one.
 */
async function expiredOf(
  parts: ExpiryParts,
  aid: string,
  { kid, number }: Bucket,
  tokens: readonly string[],
  by: number,
): Promise<readonly ItemRemoval[]> {
  const places = tokens.map((token) => ({ token, bucket: number }));
  const replies = await parts.itemStore.readMany(kid, places, 'log');
  if (replies === undefined) {
    throw new VaultError('integrity_failed'); // no metadata is so large
  }
  const params = { aid, kid, tokens, references: null, now: 0, expiredBy: by };
  const { failed, removals } = await prove(parts, params, replies);
  const staying = new Set(failed.map(({ index }) => index));
  return removals.filter((_, i) => !staying.has(i));
}

/** Removes the logs of items that have expired, which are all that is left of them; gives how many of them that were. */
async function removeLogs(
  { itemStore }: ExpiryParts,
  bucket: Bucket,
  items: readonly ItemRemoval[],
): Promise<number> {
  // What was stored anew meanwhile has other metadata, and stays.
  const outcomes = await itemStore.remove(bucket, items);
  return outcomes === 'closed' ? 0 : outcomes.filter((outcome) => outcome === 'ok').length;
}

/** Does this with all items of a bucket whose time is over, in steps; gives with how many it was done. */
async function eachStep(
  parts: ExpiryParts,
  aid: string,
  bucket: Bucket,
  logsKept: number | undefined,
  act: (items: readonly ItemRemoval[]) => Promise<number>,
): Promise<number> {
  let done = 0;
  // What is left of a step is damaged, or another server or a deletion is about it: it must not hold up the rest.
  for (let skip = 0; ; ) {
    const now = parts.now() - GRACE_MS;
    const tokens = await parts.itemStore.dueTokens(bucket, { now, logsKept, skip, limit: STEP });
    if (tokens.length === 0) {
      return done;
    }
    const of = await act(await expiredOf(parts, aid, bucket, tokens, now - (logsKept ?? 0)));
    done += of;
    skip += tokens.length - of;
  }
}

/** Removes what is over of one bucket; gives the number of items that have expired. */
async function sweepBucket(parts: ExpiryParts, aid: string, bucket: Bucket): Promise<number> {
  const { auditRetentionMs } = parts.settings;
  const expired = await eachStep(parts, aid, bucket, undefined, (items) =>
    parts.itemStore.expire(bucket, items),
  );
  if (auditRetentionMs > 0) {
    await eachStep(parts, aid, bucket, auditRetentionMs, (items) => removeLogs(parts, bucket, items));
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
