import { metadataMembers } from '../../workers/crypto/item/lookup.ts';
import { sealMeta } from '../../workers/crypto/item/meta.ts';
import { EMPTY } from '../../workers/crypto/primitives/bytes.ts';
import { createThreadContext, type ThreadContext } from '../../workers/jobs/context.ts';
import { metadataDigests, metadataOf, metaOf, referenceMember } from '../../workers/jobs/vault/records.ts';
import type { Config } from '../config/config.ts';
import type { MasterKeyRing } from '../config/ring.ts';
import { eachOf } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyStore } from '../key/store.ts';
import type { RecordStore } from '../maintenance/store/records.ts';
import { redisKeys } from '../redis/records/keys.ts';
import type { Bucket } from '../redis/records/name.ts';
import { type CopySink, fieldsOf } from './kinds.ts';
import { recordOf } from './record.ts';
import type { BackupStore, CopiedItem, CopiedPage } from './store.ts';

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
  readonly parts: readonly Uint8Array[];
  readonly sad: Uint8Array;
  readonly member: Uint8Array;
  /** Its digests in the metadata index, 8 bytes each. */
  readonly digests: Uint8Array;
  /** Its score among the expiries, if it has one: negative if its log alone is left. */
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
    await (recovery
      ? this.sink.add(recordOf('string', redisKeys.recovery(aid, user), [recovery]))
      : undefined);
    await this.sink.add(recordOf('string', redisKeys.keyRecord(aid, user), [record]));
    await this.sink.add(recordOf('zset', redisKeys.keyDirectory(aid), [user, '0']));
    return true;
  }

  /** Returns the id of a key, from its record; undefined for a damaged record. */
  private async kidOf(aid: string, user: string, record: Uint8Array): Promise<string | undefined> {
    try {
      return (await this.crypto.describeKey({ place: { aid, user }, record })).kid;
    } catch (error) {
      if (error instanceof VaultError && error.code === 'integrity_failed') {
        this.sink.countDamaged();
        return undefined;
      }
      throw error;
    }
  }

  /** Copies the items, identity tags and the fence of one bucket. */
  private async copyBucket(aid: string, bucket: Bucket): Promise<void> {
    for await (const page of this.backupStore.items(bucket)) {
      await (page.items.length > 0 ? this.copyPage(aid, bucket, page) : undefined);
    }
    for (const { name, backup } of Object.values(this.recordStore.kinds)) {
      if (name.scope === 'bucket' && backup === 'whole') {
        const key = name.make(bucket, '');
        for await (const fields of this.backupStore.fields(key)) {
          await (fields.length > 0 ? this.sink.add(recordOf('hash', key, fields)) : undefined);
        }
      }
    }
    const [fence] = await this.backupStore.keys([redisKeys.fence(bucket)]);
    // A closed bucket is restored open: the deletion that closed it does not run in the restored vault.
    const kept = [...((fence && fieldsOf(fence)) ?? [])].filter(([name]) => name === 'g' || name === 'l');
    await (kept.length > 0
      ? this.sink.add(recordOf('hash', redisKeys.fence(bucket), kept.flat()))
      : undefined);
  }

  /** Copies a page of items with their index entries, the entries last. */
  private async copyPage(aid: string, bucket: Bucket, { items, isAgain }: CopiedPage): Promise<void> {
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
    const addIndex = async (key: string, members: readonly (Uint8Array | string)[]): Promise<void> => {
      await (members.length > 0 ? this.sink.add(recordOf('zset', key, members)) : undefined);
    };
    const live = items.filter(({ expired }) => expired === '');
    const tokens = new Set(live.map(({ token }) => token));
    const metadata = kept.flatMap(({ digests, token }) => metadataMembers(digests, token));
    await addIndex(
      redisKeys.metadata(bucket),
      metadata.flatMap((member) => [member, '0']),
    );
    await addIndex(
      redisKeys.expiries(bucket),
      kept.flatMap(({ token, expiry }) => (expiry === '' ? [] : [token, expiry])),
    );
    await addIndex(
      redisKeys.references(bucket),
      kept.flatMap(({ token, member }) => (member.length > 0 && tokens.has(token) ? [member, '0'] : [])),
    );
    // The time index is last: an item is found only when it is complete.
    await addIndex(
      redisKeys.times(bucket),
      live.flatMap(({ token, storedAt }) => [token, storedAt]),
    );
    this.sink.countItems(live.length);
  }

  /**
   * Returns the item without sensitive authentication data that is to expire, as if it had expired: a file may be kept for
   * years, and nothing in it expires (PCI DSS 3.3.1). Metadata that cannot be decrypted is copied unchanged.
   */
  private keptItem(aid: string, kid: string, item: CopiedItem): KeptItem {
    const { token } = item;
    // Data that expires is not copied, also not with a remaining lifetime.
    const isKept = item.sadExpiresAt === 0 && !this.settings.sadAfterProxy;
    const sad = isKept ? item.sad : EMPTY;
    const fields = new Map<string, Uint8Array>(fieldsOf({ kind: 'hash', parts: item.parts }));
    fields.delete(RECORDED_FIELD);
    const partsNow = (): Uint8Array[] => [...fields].flatMap(([name, value]) => [Buffer.from(name), value]);
    try {
      const { sad: expiring, ...rest } = metaOf(this.context, { aid, kid }, token, fields.get('m') ?? EMPTY);
      if (!isKept && item.sad.length > 0) {
        fields.set('m', sealMeta(this.context.sealer, { env: this.context.env, aid, kid, token }, rest));
      }
      const { reference, expiresAtMs } = rest;
      // Of the root that is in the file: while it is rotated, those of the item may be of another.
      const digests = item.expired ? EMPTY : metadataDigests(this.context, aid, metadataOf(rest));
      if (digests.length > 0) {
        fields.set('y', digests);
      }
      const expiry = item.expired || String(expiresAtMs ?? '');
      const member = referenceMember(this.context, aid, reference, token);
      return { token, parts: partsNow(), sad, member, digests, expiry };
    } catch {
      this.sink.countDamaged();
      return { token, parts: partsNow(), sad, member: EMPTY, digests: EMPTY, expiry: item.expired };
    }
  }
}
