import type { Audit } from '../audit/audit.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyOpener } from '../key/opener.ts';
import type { Bucket } from '../redis/records/name.ts';
import { proveRemovals } from './remover.ts';
import type { ItemRemoval, ItemStore } from './store/items.ts';
import type { ReadingStore } from './store/readings.ts';

/** Items of one step: about a millisecond of Redis. */
const STEP = 64;
/** Margin of both clocks, this server's and that of Redis: a clock that is ahead must not remove items that others still show. */
const GRACE_MS = 60_000;

/** Removes items that have expired. */
export class ItemExpiry {
  constructor(
    private readonly store: ItemStore,
    private readonly readings: ReadingStore,
    private readonly crypto: Crypto,
    private readonly audit: Audit,
    private readonly keys: KeyOpener,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
    private readonly randomId: RandomId,
  ) {}

  /**
   * Removes the expired items of an account except their logs, which are kept for the retention of the security log. One
   * entry of the security log has their number for each key. Readings older than that leave the list of the account.
   */
  async sweep(aid: string): Promise<void> {
    const { auditRetentionMs } = this.settings;
    for await (const { kid, user } of this.keys.each({ aid })) {
      let expired = 0;
      for (let number = 0; number < this.store.buckets; number++) {
        const bucket = { kid, number };
        expired += await this.removeDue(aid, bucket);
        if (auditRetentionMs > 0) {
          await this.removeDue(aid, bucket, auditRetentionMs);
          await this.readings.trim(bucket, this.now() - auditRetentionMs);
        }
      }
      if (expired > 0) {
        await this.audit.record({
          aid,
          action: 'item.expire',
          outcome: 'success',
          actor: 'vault',
          object: `items/${user}/${expired}`,
          ip: '',
          userAgent: '',
          requestId: this.randomId(),
        });
      }
    }
  }

  /**
   * Removes the items of a bucket that have expired, in steps; with `logsKept`, in ms, the logs that such items left that long
   * ago. Returns the number of removed ones.
   */
  private async removeDue(aid: string, bucket: Bucket, logsKept?: number): Promise<number> {
    let done = 0;
    // Skips the rest of a step, which is damaged or in use by another server or a deletion: it must not block other items.
    for (let skip = 0; ; ) {
      const now = this.now() - GRACE_MS;
      const tokens = await this.store.dueTokens(bucket, now, logsKept, skip, STEP);
      if (tokens.length === 0) {
        return done;
      }
      const items = await this.expiredOf(aid, bucket, tokens, now - (logsKept ?? 0));
      const removed =
        logsKept === undefined
          ? await this.store.expire(bucket, items)
          : await this.removeLogs(bucket, items);
      done += removed;
      skip += tokens.length - removed;
    }
  }

  /**
   * Returns the removals of these items. The index that names them is not sealed: damaged items are left out, and items
   * that had not expired `by` this time, in ms since 1970, by their own records.
   */
  private async expiredOf(
    aid: string,
    bucket: Bucket,
    tokens: readonly string[],
    by: number,
  ): Promise<readonly ItemRemoval[]> {
    const replies = await this.store.readMany([{ bucket, tokens }], 'log');
    const params = { aid, kid: bucket.kid, tokens, references: null, now: 0, expiredBy: by };
    const { removals } = await proveRemovals(this.crypto, params, replies);
    return removals.filter((removal) => typeof removal !== 'string');
  }

  /** Removes the logs that expired items have left; returns their number. */
  private async removeLogs(bucket: Bucket, items: readonly ItemRemoval[]): Promise<number> {
    // An item that was stored again meanwhile has other metadata, and stays.
    const outcomes = await this.store.remove(bucket, items);
    return outcomes === 'closed' ? 0 : outcomes.filter((outcome) => outcome === 'ok').length;
  }
}
