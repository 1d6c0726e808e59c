import type { Audit } from '../audit/audit.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyOpener } from '../key/opener.ts';
import type { KeyStore } from '../key/store.ts';
import type { Bucket } from '../redis/records/name.ts';
import { proveRemovals } from './remover.ts';
import type { ItemRemoval, ItemStore } from './store/items.ts';

/** Items of one step: about a millisecond of Redis. */
const STEP = 64;
/** Margin of both clocks, this server's and that of Redis: a clock that is ahead must not remove items that others still show. */
const GRACE_MS = 60_000;

/** Removes items that have expired. */
export class ItemExpiry {
  constructor(
    private readonly store: ItemStore,
    private readonly keyStore: KeyStore,
    private readonly crypto: Crypto,
    private readonly audit: Audit,
    private readonly keys: KeyOpener,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
    private readonly randomId: RandomId,
  ) {}

  /**
   * Removes the expired items of an account except their logs, which are kept for the retention of the security log. One
   * entry of the security log has their number for each key.
   */
  async sweep(aid: string): Promise<void> {
    for (const user of await this.keyStore.users(aid, undefined, -1)) {
      const key = await recover(this.keys.find({ aid }, user), 'key_not_found', undefined);
      let expired = 0;
      for (let number = 0; key !== undefined && number < this.store.buckets; number++) {
        expired += await this.sweepBucket(aid, { kid: key.kid, number });
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

  /** Sweeps one bucket; returns the number of items that have expired. */
  private async sweepBucket(aid: string, bucket: Bucket): Promise<number> {
    const { auditRetentionMs } = this.settings;
    const expired = await this.eachStep(aid, bucket, undefined, (items) => this.store.expire(bucket, items));
    if (auditRetentionMs > 0) {
      await this.eachStep(aid, bucket, auditRetentionMs, (items) => this.removeLogs(bucket, items));
    }
    return expired;
  }

  /** Runs `act` on all due items of a bucket, in steps; returns the number of items that it processed. */
  private async eachStep(
    aid: string,
    bucket: Bucket,
    logsKept: number | undefined,
    act: (items: readonly ItemRemoval[]) => Promise<number>,
  ): Promise<number> {
    let done = 0;
    // Skips the rest of a step, which is damaged or in use by another server or a deletion: it must not block other items.
    for (let skip = 0; ; ) {
      const now = this.now() - GRACE_MS;
      const tokens = await this.store.dueTokens(bucket, { now, logsKept, skip, limit: STEP });
      if (tokens.length === 0) {
        return done;
      }
      const of = await act(await this.expiredOf(aid, bucket, tokens, now - (logsKept ?? 0)));
      done += of;
      skip += tokens.length - of;
    }
  }

  /**
   * Returns the removals of these items. The index that names them is not sealed: damaged items are left out, and items
   * that had not expired `by` this time, in ms since 1970, by their own records.
   */
  private async expiredOf(
    aid: string,
    { kid, number }: Bucket,
    tokens: readonly string[],
    by: number,
  ): Promise<readonly ItemRemoval[]> {
    const places = tokens.map((token) => ({ token, bucket: number }));
    const replies = await this.store.readMany(kid, places, 'log');
    if (replies === undefined) {
      throw new VaultError('integrity_failed'); // no metadata is so large
    }
    const params = { aid, kid, tokens, references: null, now: 0, expiredBy: by };
    const { failed, removals } = await proveRemovals(this.crypto, params, replies);
    const staying = new Set(failed.map(({ index }) => index));
    return removals.filter((_, i) => !staying.has(i));
  }

  /** Removes the logs that expired items have left; returns their number. */
  private async removeLogs(bucket: Bucket, items: readonly ItemRemoval[]): Promise<number> {
    // An item that was stored again meanwhile has other metadata, and stays.
    const outcomes = await this.store.remove(bucket, items);
    return outcomes === 'closed' ? 0 : outcomes.filter((outcome) => outcome === 'ok').length;
  }
}
