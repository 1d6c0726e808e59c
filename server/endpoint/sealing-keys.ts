import { Memory } from '../core/cache.ts';
import { type Clock, DAY_MS } from '../core/clock.ts';
import { createSharedRuns } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { formatExpiry } from '../domain/text/time.ts';
import type { SealingKey } from './schema.ts';
import type { SealingStore } from './store.ts';

/** The time that a server caches a key, so that a sealed capture costs no additional command. */
const CACHED_MS = 60_000;
/** The keys of yesterday and today, and of tomorrow for a server whose clock is ahead. */
const DAYS_MAX = 3;
const KID = /^(\d{1,6})-[0-9a-f]{16}$/;

/**
 * Keys that browsers seal captures to. All servers of a vault have the same: a new one each day of UTC, which is accepted
 * on the day after as well. The private halves are only opened in the threads.
 */
export class SealingKeys {
  private readonly records: Memory<Buffer>;
  private readonly published: Memory<SealingKey>;
  private readonly reading = createSharedRuns<Buffer | undefined>();
  private readonly publishing = createSharedRuns<SealingKey>();

  constructor(
    private readonly store: SealingStore,
    private readonly crypto: Crypto,
    private readonly now: Clock,
  ) {
    this.records = new Memory(DAYS_MAX, CACHED_MS, now);
    this.published = new Memory(DAYS_MAX, CACHED_MS, now);
  }

  /** Returns the key of the day, for any endpoint. */
  async current(): Promise<SealingKey> {
    const day = this.today();
    const name = String(day);
    return this.published.get(name) ?? (await this.publishing(name, () => this.publish(day)));
  }

  /** Returns the sealed record of a key. Rejects with `sealing_key_expired` for a key that is not accepted or unknown. */
  async recordOf(kid: string): Promise<Uint8Array> {
    const day = Number(KID.exec(kid)?.[1] ?? Number.NaN);
    const record = Math.abs(day - this.today()) <= 1 ? await this.read(day) : undefined;
    if (record === undefined) {
      throw new VaultError('sealing_key_expired');
    }
    return record;
  }

  private today(): number {
    return Math.floor(this.now() / DAY_MS);
  }

  /** Returns the public half of the key of a day, which is created if there is none. */
  private async publish(day: number): Promise<SealingKey> {
    const name = String(day);
    const endsAt = (day + 2) * DAY_MS;
    let record = await this.read(day);
    if (record === undefined) {
      const made = await this.crypto.createSealingKey({ day: name });
      record = await this.store.create(day, made, day - 1, endsAt - this.now());
    }
    const { kid, publicKey } = await this.crypto.describeSealingKey({ day: name, record });
    const published: SealingKey = {
      kid,
      public_key: publicKey.toBase64({ alphabet: 'base64url', omitPadding: true }),
      suite: 'P256-HKDF-SHA256-AES256GCM',
      expires_at: formatExpiry(endsAt),
    };
    this.published.set(name, published);
    return published;
  }

  private read(day: number): Promise<Buffer | undefined> {
    const name = String(day);
    return this.reading(name, async () => {
      const cached = this.records.get(name);
      const view = cached ?? (await this.store.read(day));
      if (cached !== undefined || view === undefined) {
        return view;
      }
      // The record is copied: it is a view of a larger reply, which the cache would keep in memory.
      const record = Buffer.from(view);
      this.records.set(name, record);
      return record;
    });
  }
}
