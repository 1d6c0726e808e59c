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

/** Items of one step: Redis is busy with them for a millisecond. */
const STEP = 64;
/** A clock that is ahead must not remove what others still show: that of Redis must agree, and both by so much. */
const GRACE_MS = 60_000;
/** Later than any time. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER;

interface ExpiryParts {
  readonly crypto: Pick<Crypto, 'referenceMembers'>;
  readonly itemStore: Pick<ItemStore, 'buckets' | 'dueTokens' | 'expire' | 'readTrace'>;
  readonly keys: Pick<Keys, 'find'>;
  readonly keyStore: Pick<KeyStore, 'users'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'auditRetentionMs'>;
}

/** Removes what has expired of one bucket, step by step; gives the number of items. */
async function sweepBucket(parts: ExpiryParts, aid: string, bucket: Bucket): Promise<number> {
  const { crypto, itemStore, now, settings } = parts;
  const { kid } = bucket;
  let expired = 0;
  for (;;) {
    const tokens = await itemStore.dueTokens(bucket, now() - GRACE_MS, STEP);
    if (tokens.length === 0) {
      return expired;
    }
    const traces = await Promise.all(tokens.map((token) => itemStore.readTrace(kid, token)));
    const metas = traces.map((trace) => trace?.meta ?? Buffer.alloc(0));
    const members = await crypto.referenceMembers({ params: { aid, kid, tokens: [...tokens] }, metas });
    const items = tokens.flatMap((token, i) => {
      const meta = metas[i] ?? Buffer.alloc(0);
      return meta.length === 0 ? [] : [{ token, meta, refMember: members[i] ?? new Uint8Array(0) }];
    });
    const { auditRetentionMs: kept } = settings;
    const done = await itemStore.expire(bucket, items, kept === 0 ? FOREVER_MS : now() + kept);
    expired += done;
    // What is left of these was stored anew, or is not due by the clock of Redis: the next sweep looks again.
    if (done < tokens.length) {
      return expired;
    }
  }
}

/**
 * Removes what is left of items whose time is over, but for their logs, which are kept as long as the security log is. One
 * entry of the security log says how many they were of each key.
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
