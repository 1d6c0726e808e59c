import { metadataMembers } from '../../workers/crypto/item/lookup.ts';
import { sealMeta } from '../../workers/crypto/item/meta.ts';
import { EMPTY } from '../../workers/crypto/primitives/bytes.ts';
import { createThreadContext, type ThreadContext } from '../../workers/jobs/context.ts';
import { metadataDigests, metadataOf, metaOf, referenceMember } from '../../workers/jobs/vault/records.ts';
import type { Config } from '../config/config.ts';
import type { MasterKeyRing } from '../config/ring.ts';
import { eachOf, recover } from '../core/concurrency.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyStore } from '../key/store.ts';
import type { RecordStore } from '../maintenance/store/records.ts';
import { redisKeys } from '../redis/records/keys.ts';
import type { Bucket } from '../redis/records/name.ts';
import { type CopySink, fieldsOf, recordOf } from './record.ts';
import type { BackupStore, CopiedItem } from './store.ts';

/** Buckets of a key that are read concurrently. */
const BUCKETS_AT_ONCE = 8;
/** The recorded length of a log: a restored vault records it anew. */
const RECORDED_FIELD = 'r';

/**
 * Creates the keys that decrypt the metadata of items in this thread. The references in it are needed to create the
 * reference index again.
 */
export function openContext(config: Config, ring: MasterKeyRing, root: Uint8Array): ThreadContext {
  return createThreadContext({
    env: config.env,
    writeId: ring.writeId,
    keys: [...ring.keys],
    // Only for cached keys, which a copy does not use.
    processKey: new Uint8Array(32),
    argon2: config.argon2,
    root,
  });
}

/** An item as it is written to a backup. `member` is its entry in the reference index, empty without a reference. */
interface KeptItem {
  readonly token: string;
  readonly storedAt: string;
  /** False if nothing but its log is left. */
  readonly isLive: boolean;
  readonly parts: readonly Uint8Array[];
  readonly sad: Uint8Array;
  readonly member: Uint8Array;
  /** Its digests in the metadata index, 8 bytes each. */
  readonly digests: Uint8Array;
  /** Its score among the expiries or ''; negative if its log alone is left. */
  readonly expiry: string;
}

/** Copies vault keys with their items. */
export class KeyCopy {
  constructor(
    private readonly recordStore: RecordStore,
    private readonly keyStore: KeyStore,
    private readonly backupStore: BackupStore,
    private readonly crypto: Crypto,
    private readonly sink: CopySink,
    /** Decrypts metadata of items in this thread. */
    private readonly context: ThreadContext,
    private readonly buckets: number,
    private readonly settings: ServiceSettings,
  ) {}

  /**
   * Copies a key: its items, then its fences, then its record, which therefore has every generation that they name. A
   * key that was deleted in the meantime is recorded as `orphan`, so that a restore removes what was copied of it.
   * Returns false if the key does not exist.
   */
  async copy(aid: string, user: string): Promise<boolean> {
    let pair = await this.keyStore.readPair(aid, user);
    const before = pair.record;
    if (before === undefined) {
      return false;
    }
    const kid = await this.kidOf(aid, user, before);
    if (kid !== undefined) {
      const all = Array.from({ length: this.buckets }, (_, number) => ({ kid, number }));
      await eachOf(all, (bucket) => this.copyBucket(aid, bucket), BUCKETS_AT_ONCE);
      // Read again after the items: the key may have a new generation now, or be deleted.
      pair = await this.keyStore.readPair(aid, user);
      const { record } = pair;
      const isSame = record?.equals(before) || (record && (await this.kidOf(aid, user, record)) === kid);
      if (record === undefined || isSame !== true) {
        await this.sink.add(recordOf('orphan', aid, [kid]));
        return false;
      }
    }
    const { record = before, recovery } = pair;
    // Both as of one moment: a recovery opens the generations of its key.
    if (recovery) {
      await this.sink.add(recordOf('string', redisKeys.recovery(aid, user), [recovery]));
    }
    await this.sink.add(recordOf('string', redisKeys.keyRecord(aid, user), [record]));
    await this.sink.add(recordOf('zset', redisKeys.keyDirectory(aid), [user, '0']));
    return true;
  }

  /** Returns the id of a key, from its record; undefined for a damaged record. */
  private async kidOf(aid: string, user: string, record: Uint8Array): Promise<string | undefined> {
    const describing = this.crypto.describeKey({ place: { aid, user }, record });
    const facts = await recover(describing, 'integrity_failed', undefined);
    this.sink.damaged += facts === undefined ? 1 : 0;
    return facts?.kid;
  }

  /** Copies the items, identity tags and the fence of one bucket. */
  private async copyBucket(aid: string, bucket: Bucket): Promise<void> {
    for await (const { items, isAgain } of this.backupStore.items(bucket)) {
      if (items.length > 0) {
        await this.copyPage(aid, bucket, items, isAgain);
      }
    }
    for (const { name, backup } of Object.values(this.recordStore.kinds)) {
      if (name.scope === 'bucket' && backup === 'whole') {
        const key = name.make(bucket, '');
        for await (const fields of this.backupStore.fields(key)) {
          await this.addPart('hash', key, fields);
        }
      }
    }
    const [fence] = await this.backupStore.keys([redisKeys.fence(bucket)]);
    // A closed bucket is restored open: the deletion that closed it does not run in the restored vault.
    const kept = [...fieldsOf(fence?.parts ?? [])].filter(([name]) => name === 'g' || name === 'l');
    await this.addPart('hash', redisKeys.fence(bucket), kept.flat());
  }

  /** Adds a part of a key, if it is not empty. */
  private async addPart(
    kind: 'hash' | 'zset',
    key: string,
    values: readonly (Uint8Array | string)[],
  ): Promise<void> {
    if (values.length > 0) {
      await this.sink.add(recordOf(kind, key, values));
    }
  }

  /** Copies a page of items with their index entries, the entries last. */
  private async copyPage(
    aid: string,
    bucket: Bucket,
    items: readonly CopiedItem[],
    isAgain: boolean,
  ): Promise<void> {
    const kept = items.map((item) => this.keptItem(aid, bucket.kid, item));
    if (isAgain) {
      const pairs = kept.flatMap(({ token, member }) => [token, member]);
      await this.sink.add(recordOf('again', String(bucket.number), [bucket.kid, ...pairs]));
    }
    for (const { token, parts, sad } of kept) {
      await this.sink.addHash(redisKeys.item(bucket, token), parts);
      if (sad.length > 0) {
        await this.sink.add(recordOf('string', redisKeys.sad(bucket, token), [sad]));
      }
    }
    const live = kept.filter(({ isLive }) => isLive);
    const metadata = kept.flatMap(({ digests, token }) => metadataMembers(digests, token));
    const expiries = kept.flatMap(({ token, expiry }) => (expiry === '' ? [] : [token, expiry]));
    const references = live.flatMap(({ member }) => (member.length > 0 ? [member, '0'] : []));
    const times = live.flatMap(({ token, storedAt }) => [token, storedAt]);
    await this.addPart(
      'zset',
      redisKeys.metadata(bucket),
      metadata.flatMap((member) => [member, '0']),
    );
    await this.addPart('zset', redisKeys.expiries(bucket), expiries);
    await this.addPart('zset', redisKeys.references(bucket), references);
    // The time index is last: an item is found only when it is complete.
    await this.addPart('zset', redisKeys.times(bucket), times);
    this.sink.countItems(live.length);
  }

  /**
   * Returns the item without sensitive authentication data that is to expire, as if it had expired: a file may be kept for
   * years, and nothing in it expires (PCI DSS 3.3.1). Metadata that cannot be decrypted is copied unchanged.
   */
  private keptItem(aid: string, kid: string, item: CopiedItem): KeptItem {
    const { token, storedAt, expired } = item;
    // Data that expires is not copied, also not with a remaining lifetime.
    const isKept = item.sadExpiresAt === 0 && !this.settings.sadAfterProxy;
    const fields = new Map<string, Uint8Array>(fieldsOf(item.parts));
    fields.delete(RECORDED_FIELD);
    let [member, digests, expiry]: [Uint8Array, Uint8Array, string] = [EMPTY, EMPTY, expired];
    try {
      const { sad: _, ...meta } = metaOf(this.context, { aid, kid }, token, fields.get('m') ?? EMPTY);
      if (!isKept && item.sad.length > 0) {
        fields.set('m', sealMeta(this.context.sealer, { env: this.context.env, aid, kid, token }, meta));
      }
      if (expired === '') {
        // Of the root that is in the file: while it is rotated, those of the item may be of another.
        digests = metadataDigests(this.context, aid, metadataOf(meta));
        expiry = String(meta.expiresAtMs ?? '');
      }
      if (digests.length > 0) {
        fields.set('y', digests);
      }
      member = referenceMember(this.context, aid, meta.reference, token);
    } catch {
      this.sink.damaged += 1;
    }
    const parts = [...fields].flatMap(([name, value]) => [Buffer.from(name), value]);
    const sad = isKept ? item.sad : EMPTY;
    return { token, storedAt, isLive: expired === '', parts, sad, member, digests, expiry };
  }
}
