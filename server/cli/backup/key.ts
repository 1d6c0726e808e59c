import { sealMeta } from '../../../workers/crypto/item/item.ts';
import { createThreadContext, EMPTY, type ThreadContext } from '../../../workers/jobs/context.ts';
import { metaOf, referenceMember } from '../../../workers/jobs/items.ts';
import type { Session } from '../../boot/open.ts';
import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { ServiceSettings } from '../../services/common/settings.ts';
import { eachOf } from '../../services/maintenance/each.ts';
import type { KeyStore } from '../../store/key.ts';
import type { CopiedItem, CopyStore } from '../../store/maintenance/copy.ts';
import { type Bucket, redisKeys } from '../../store/redis/keys.ts';
import { text } from '../../store/redis/reply.ts';
import { fieldsOf } from './account.ts';
import { type BackupRecord, recordOf } from './record.ts';

/** Buckets of a key that are read at once. */
const BUCKETS_AT_ONCE = 8;
/** The longest that a record gets: longer hashes come in several, which a restore puts together. */
const RECORD_BYTES = 256 * 1_024;

/** What the copy of keys works with. */
export interface KeyCopying {
  readonly crypto: Pick<Crypto, 'describeKey'>;
  readonly keyStore: Pick<KeyStore, 'read'>;
  readonly settings: Pick<ServiceSettings, 'sadAfterProxy'>;
  readonly copies: CopyStore;
  readonly buckets: number;
  readonly context: ThreadContext;
  readonly add: (record: BackupRecord) => Promise<void>;
  /** Told of items as they are copied. */
  readonly counted: (items: number) => void;
  /** Told of a record that cannot be read; it is copied as it is. */
  readonly damaged: () => void;
}

/** What opens items' metadata, in this thread: the references in it give the reference index back. */
export const openContext = (
  { config, ring }: Pick<Session, 'config' | 'ring'>,
  root: Uint8Array,
): ThreadContext =>
  createThreadContext({
    env: config.env,
    writeId: ring.writeId,
    keys: [...ring.keys],
    processKey: new Uint8Array(32),
    argon2: config.argon2,
    root,
  });

/** Adds a hash, in several records where it is long. */
export async function addHash(
  add: KeyCopying['add'],
  key: string,
  parts: readonly Uint8Array[],
): Promise<void> {
  let from = 0;
  let size = 0;
  for (let at = 0; at < parts.length; at += 2) {
    size += (parts[at]?.length ?? 0) + (parts[at + 1]?.length ?? 0);
    if (size > RECORD_BYTES || at + 2 >= parts.length) {
      await add(recordOf('hash', key, parts.slice(from, at + 2)));
      from = at + 2;
      size = 0;
    }
  }
}

/** The item's entry in the reference index; undefined when it has no reference or its metadata does not open. */
const memberOf = (
  { context, damaged }: KeyCopying,
  aid: string,
  kid: string,
  { token, parts }: CopiedItem,
): Uint8Array | undefined => {
  const meta = fieldsOf({ kind: 'hash', parts })?.get('m');
  try {
    const member = referenceMember(
      context,
      aid,
      metaOf(context, { aid, kid }, token, meta ?? Buffer.alloc(0)).reference,
      token,
    );
    return member.length === 0 ? undefined : member;
  } catch {
    damaged();
    return undefined;
  }
};

/**
 * The item as it goes into a backup: without verification codes and the like that are not to be kept, as if they
 * had gone. A file may be kept for years, and nothing in it goes when its time has come.
 */
const withoutExpiring = (
  { context, settings }: KeyCopying,
  { aid, kid }: { readonly aid: string; readonly kid: string },
  item: CopiedItem,
): CopiedItem => {
  const isToGo = item.sadExpiresAt > 0 || settings.sadAfterProxy;
  if (item.sad.length === 0 || !isToGo) {
    return item;
  }
  const { token, parts } = item;
  const left = { ...item, sad: item.sad.subarray(0, 0) };
  const at = parts.findIndex((part, index) => index % 2 === 0 && text(part) === 'm') + 1;
  try {
    const { sad: _, ...rest } = metaOf(context, { aid, kid }, token, parts[at] ?? EMPTY);
    const meta = Buffer.from(sealMeta(context.sealer, { env: context.env, aid, kid, token }, rest));
    return { ...left, parts: parts.with(at, meta) };
  } catch {
    // It is counted as damaged where its reference is read.
    return left;
  }
};

async function copyPage(
  with_: KeyCopying,
  aid: string,
  bucket: Bucket,
  page: readonly CopiedItem[],
): Promise<void> {
  const { add } = with_;
  for (const found of page) {
    const { token, parts, sad } = withoutExpiring(with_, { aid, kid: bucket.kid }, found);
    await addHash(add, redisKeys.item(bucket, token), parts);
    if (sad.length > 0) {
      await add(recordOf('string', redisKeys.sad(bucket, token), [sad]));
    }
  }
  const members = page.flatMap((item) => memberOf(with_, aid, bucket.kid, item) ?? []);
  if (members.length > 0) {
    await add(
      recordOf(
        'zset',
        redisKeys.references(bucket),
        members.flatMap((member) => [member, '0']),
      ),
    );
  }
  const places = page.flatMap(({ token, storedAt }) => [token, storedAt]);
  await add(recordOf('zset', redisKeys.times(bucket), places));
  with_.counted(page.length);
}

async function copyBucket(with_: KeyCopying, aid: string, bucket: Bucket): Promise<void> {
  const { add, copies } = with_;
  for await (const page of copies.items(bucket)) {
    if (page.length > 0) {
      await copyPage(with_, aid, bucket, page);
    }
  }
  const identities = redisKeys.identities(bucket);
  for await (const fields of copies.fields(identities)) {
    if (fields.length > 0) {
      await add(recordOf('hash', identities, fields));
    }
  }
  const [fence] = await copies.keys([redisKeys.fence(bucket)]);
  // What is closed opens again: whoever closed it is not there in the restored vault.
  const kept = [...((fence && fieldsOf(fence)) ?? [])].filter(([name]) => name === 'g' || name === 'l');
  if (kept.length > 0) {
    await add(recordOf('hash', redisKeys.fence(bucket), kept.flat()));
  }
}

const kidOf = async ({ crypto, damaged }: KeyCopying, aid: string, user: string, record: Uint8Array) => {
  try {
    return (await crypto.describeKey({ aid, user }, record)).kid;
  } catch (error) {
    if (error instanceof VaultError && error.code === 'integrity_failed') {
      damaged();
      return undefined;
    }
    throw error;
  }
};

/**
 * Copies a key: its items, then its fences, then its record, which so knows every generation that they name. One that
 * was deleted meanwhile is named, so that a restore removes what was copied of it. False when the key is not there.
 */
export async function copyKey(with_: KeyCopying, aid: string, user: string): Promise<boolean> {
  const { keyStore, buckets, add } = with_;
  const before = await keyStore.read(aid, user);
  if (before === undefined) {
    return false;
  }
  const kid = await kidOf(with_, aid, user, before);
  if (kid === undefined) {
    await add(recordOf('string', redisKeys.keyRecord(aid, user), [before]));
    await add(recordOf('zset', redisKeys.keyDirectory(aid), [user, '0']));
    return true;
  }
  const all = Array.from({ length: buckets }, (_, number) => ({ kid, number }));
  await eachOf(all, (bucket) => copyBucket(with_, aid, bucket), BUCKETS_AT_ONCE);
  const record = await keyStore.read(aid, user);
  const isSame =
    record !== undefined && (record.equals(before) || (await kidOf(with_, aid, user, record)) === kid);
  if (!isSame) {
    await add(recordOf('orphan', aid, [kid]));
    return false;
  }
  await add(recordOf('string', redisKeys.keyRecord(aid, user), [record]));
  await add(recordOf('zset', redisKeys.keyDirectory(aid), [user, '0']));
  return true;
}
