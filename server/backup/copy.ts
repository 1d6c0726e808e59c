import { metadataMembers } from '../../workers/crypto/item/lookup.ts';
import { sealMeta } from '../../workers/crypto/item/meta.ts';
import { EMPTY } from '../../workers/crypto/primitives/bytes.ts';
import { createThreadContext, type ThreadContext } from '../../workers/jobs/context.ts';
import { indexDigests, metaOf, referenceMember } from '../../workers/jobs/vault/records.ts';
import type { Accounts } from '../account/accounts.ts';
import type { AccountInfo } from '../account/records.ts';
import type { AccountStore } from '../account/store.ts';
import type { Config } from '../config/config.ts';
import type { MasterKeyRing } from '../config/ring.ts';
import type { Clock } from '../core/clock.ts';
import { eachOf, recover } from '../core/concurrency.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Installation } from '../installation/store.ts';
import type { KeyStore } from '../key/store.ts';
import type { RecordStore } from '../maintenance/store/records.ts';
import { redisKeys } from '../redis/records/keys.ts';
import type { DirectoryEntry, RecordKind } from '../redis/records/kind.ts';
import { type Bucket, keyOf } from '../redis/records/name.ts';
import type { UsageFolding } from '../request/folding.ts';
import { monthsOf } from '../request/metering.ts';
import { type BackupRecord, fieldsOf, recordOf } from './record.ts';
import type { BackupStore, CopiedItem, CopiedKey } from './store.ts';

/** Keys that are copied concurrently. */
const KEYS_AT_ONCE = 4;
/** Keys of a kind that are read concurrently. */
const STEP = 100;
/** The target size of a record. A longer hash becomes several records, which a restore merges. */
const RECORD_BYTES = 256 * 1_024;
/** Buckets of a key that are read concurrently. */
const BUCKETS_AT_ONCE = 8;
/** The recorded length of a log: a restored vault records it anew. */
const RECORDED_FIELD = 'r';

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

/** Copies a vault that is in use. */
export class VaultCopy {
  private items = 0;
  /** Records that cannot be decrypted; they are copied unchanged. */
  private damaged = 0;
  /** Decrypts metadata of items in this thread: references are needed to create the reference index again. */
  private readonly context: ThreadContext;

  constructor(
    private readonly installation: Installation,
    private readonly accountStore: AccountStore,
    private readonly recordStore: RecordStore,
    private readonly keyStore: KeyStore,
    private readonly backupStore: BackupStore,
    private readonly crypto: Crypto,
    private readonly accounts: Accounts,
    private readonly folding: UsageFolding,
    /** Writes a record; resolves when the next one can be added. */
    private readonly add: (record: BackupRecord) => Promise<void>,
    /** Receives the number of copied items so far. */
    private readonly seen: (items: number) => void,
    private readonly settings: ServiceSettings,
    { env, argon2 }: Config,
    ring: MasterKeyRing,
    private readonly now: Clock,
  ) {
    const { root } = installation;
    // The process key is only for cached keys, which a copy does not use.
    const processKey = new Uint8Array(32);
    const { writeId, keys } = ring;
    this.context = createThreadContext({ env, writeId, keys: [...keys], processKey, argon2, root });
  }

  /**
   * Copies the vault. The order makes the copy consistent: a record is copied after the records that refer to it, and before
   * those that it depends on (docs/decisions/backup.md). Everything that was acknowledged before the call is in the copy.
   * Returns the numbers of copied records; damaged ones were copied unchanged.
   */
  async copy() {
    const { buckets, root } = this.installation;
    await this.add(recordOf('hash', redisKeys.installation, ['buckets', buckets, 'root', root]));
    // Idempotency keys and reserved ids first: they refer to everything else.
    await this.copyScanned();
    // Accounts that are created during the copy are not in it.
    const started = await this.accounts.list();
    for (const { aid } of started) {
      await this.copyListed(aid, 'directory');
    }
    let keys = 0;
    for (const { aid, created_at } of started) {
      keys += await this.copyVaultKeys(aid);
      await this.copyEvents(aid);
      // The other records of the account come after the keys that refer to them.
      const months = monthsOf(Date.parse(created_at), this.now());
      await this.copyWhole(
        aid,
        months.map((month) => redisKeys.usage(aid, month)),
      );
    }
    await this.copyBins();
    await this.copyWhole('');
    await this.copyAudit();
    const accounts = await this.copyAccounts(started);
    // After the accounts: a deletion in between has added the name.
    for (const former of await this.backupStore.keys([redisKeys.formerAccounts])) {
      await this.add(former);
    }
    return { accounts, keys, items: this.items, damaged: this.damaged };
  }

  /** Copies the vault keys of an account; returns their number. */
  private async copyVaultKeys(aid: string): Promise<number> {
    let keys = 0;
    for await (const entries of this.recordStore.entries(this.recordStore.kinds.keyRecord, aid)) {
      const copyOne = async (user: string): Promise<void> => {
        const isCopied = await this.copyKey(aid, user);
        // Not in one expression with `await`: other keys are counted in the meantime.
        keys += isCopied ? 1 : 0;
      };
      await eachOf(entries, ({ id }) => copyOne(id), KEYS_AT_ONCE);
    }
    return keys;
  }

  /**
   * Copies a key: its items, then its fences, then its record, which therefore has every generation that they name. A
   * key that was deleted in the meantime is recorded as `orphan`, so that a restore removes what was copied of it.
   * Returns false if the key does not exist.
   */
  private async copyKey(aid: string, user: string): Promise<boolean> {
    let pair = await this.keyStore.readPair(aid, user);
    const before = pair.record;
    if (before === undefined) {
      return false;
    }
    const kid = await this.kidOf(aid, user, before);
    if (kid !== undefined) {
      const all = Array.from({ length: this.installation.buckets }, (_, number) => ({ kid, number }));
      await eachOf(all, (bucket) => this.copyBucket(aid, bucket), BUCKETS_AT_ONCE);
      // Damaged counts are not copied.
      await recover(this.folding.fold(aid, [kid]), 'integrity_failed', undefined);
      // Read again after the items: the key may have a new generation now, or be deleted.
      pair = await this.keyStore.readPair(aid, user);
      const { record } = pair;
      const isSame = record?.equals(before) || (record && (await this.kidOf(aid, user, record)) === kid);
      if (record === undefined || isSame !== true) {
        await this.add(recordOf('orphan', aid, [kid]));
        return false;
      }
    }
    const { record = before, recovery } = pair;
    // Both as of one moment: a recovery opens the generations of its key.
    if (recovery) {
      await this.add(recordOf('string', redisKeys.recovery(aid, user), [recovery]));
    }
    await this.add(recordOf('string', redisKeys.keyRecord(aid, user), [record]));
    await this.add(recordOf('zset', redisKeys.keyDirectory(aid), [user, '0']));
    return true;
  }

  /** Returns the id of a key, from its record; undefined for a damaged record. */
  private async kidOf(aid: string, user: string, record: Uint8Array): Promise<string | undefined> {
    const describing = this.crypto.describeKey({ place: { aid, user }, record });
    const facts = await recover(describing, 'integrity_failed', undefined);
    this.damaged += facts === undefined ? 1 : 0;
    return facts?.kid;
  }

  /** Copies the items, identity tags, readings and the fence of one bucket. */
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
    // After the items: no change is copied without its event, which moves from here into a delivery.
    for (const outbox of await this.backupStore.keys([redisKeys.eventOutbox(bucket)])) {
      await this.add(outbox);
    }
    // After the items: a reading whose entry was not copied names nothing.
    for await (const members of this.backupStore.scored(redisKeys.readings(bucket))) {
      await this.addPart('zset', redisKeys.readings(bucket), members);
    }
    const [fence] = await this.backupStore.keys([redisKeys.fence(bucket)]);
    // A closed bucket is restored open: the deletion that closed it does not run in the restored vault.
    const kept = [...fieldsOf(fence?.parts ?? [])].filter(([name]) => ['g', 'l', 'w'].includes(name));
    await this.addPart('hash', redisKeys.fence(bucket), kept.flat());
  }

  /** Adds a hash, as several records if it is long. `parts` alternate between fields and values. */
  private async addHash(key: string, parts: readonly Uint8Array[]): Promise<void> {
    let from = 0;
    let size = 0;
    for (let at = 0; at < parts.length; at += 2) {
      size += (parts[at]?.length ?? 0) + (parts[at + 1]?.length ?? 0);
      if (size > RECORD_BYTES || at + 2 >= parts.length) {
        await this.add(recordOf('hash', key, parts.slice(from, at + 2)));
        from = at + 2;
        size = 0;
      }
    }
  }

  /** Adds a part of a key, if it is not empty. */
  private async addPart(
    kind: 'hash' | 'zset',
    key: string,
    values: readonly (Uint8Array | string)[],
  ): Promise<void> {
    if (values.length > 0) {
      await this.add(recordOf(kind, key, values));
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
      await this.add(recordOf('again', String(bucket.number), [bucket.kid, ...pairs]));
    }
    for (const { token, parts, sad } of kept) {
      await this.addHash(redisKeys.item(bucket, token), parts);
      if (sad.length > 0) {
        await this.add(recordOf('string', redisKeys.sad(bucket, token), [sad]));
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
    this.items += live.length;
    this.seen(this.items);
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
        digests = indexDigests(this.context, aid, meta);
        expiry = String(meta.expiresAtMs ?? '');
      }
      if (digests.length > 0) {
        fields.set('y', digests);
      }
      member = referenceMember(this.context, aid, meta.reference, token);
    } catch {
      this.damaged += 1;
    }
    const parts = [...fields].flatMap(([name, value]) => [Buffer.from(name), value]);
    const sad = isKept ? item.sad : EMPTY;
    return { token, storedAt, isLive: expired === '', parts, sad, member, digests, expiry };
  }

  /** Copies the active BIN table. If another one was loaded in the meantime, that one is copied instead. */
  private async copyBins(): Promise<void> {
    for (;;) {
      const [version] = await this.backupStore.keys([redisKeys.binVersion]);
      if (version === undefined) {
        return;
      }
      const table = redisKeys.binTable(String(version.parts[0]));
      for await (const members of this.backupStore.members(table)) {
        if (members.length > 0) {
          await this.add(recordOf('zset', table, members));
        }
      }
      const [now] = await this.backupStore.keys([redisKeys.binVersion]);
      if (String(now?.parts[0]) === String(version.parts[0])) {
        await this.add(version);
        return;
      }
    }
  }

  /** Copies the security logs, each as of one moment. Their list was read before, so no checkpoint is newer than its log. */
  private async copyAudit(): Promise<void> {
    const [chains] = await this.backupStore.keys([redisKeys.auditChains]);
    for (const aid of fieldsOf(chains?.parts ?? []).keys()) {
      const [chain] = await this.backupStore.keys([redisKeys.auditChain(aid)]);
      await this.addHash(redisKeys.auditChain(aid), chain?.parts ?? []);
    }
    await this.addHash(redisKeys.auditChains, chains?.parts ?? []);
  }

  /**
   * Copies the accounts last, in their current state. An account that was deleted in the meantime is recorded as
   * `gone`, so that a restore removes what was copied of it. Returns the number of accounts.
   */
  private async copyAccounts(started: readonly AccountInfo[]): Promise<number> {
    // Names can be reused, so accounts are matched by id.
    const left = new Map((await this.accounts.list()).map(({ name, aid }) => [aid, name]));
    let copied = 0;
    for (const { aid } of started) {
      const name = left.get(aid);
      const record = name === undefined ? undefined : await this.accountStore.read(name);
      if (name === undefined || record === undefined) {
        await this.add(recordOf('gone', aid, []));
        continue;
      }
      await this.add(recordOf('hash', redisKeys.accounts, [name, record]));
      copied += 1;
    }
    return copied;
  }

  /**
   * Copies the directories of an account, each before the keys that it names. A key that is created later is not in the
   * directory that was read; a deleted one leaves an entry that the sweep removes. So a copy never contains a key that
   * no directory names. Returns the members of the directories.
   */
  private async copyListed(aid: string, phase: 'directory' | 'deliveries'): Promise<ReadonlySet<string>> {
    const all = new Set<string>();
    for (const directory of this.kinds(({ backup }) => backup === phase)) {
      const [copied] = await this.backupStore.keys([keyOf(directory.name, aid, '')]);
      if (copied === undefined) {
        continue;
      }
      await this.add(copied);
      const members = copied.parts.filter((_, at) => at % 2 === 0).map(String);
      for (const member of members) {
        all.add(member);
      }
      // Keys that this directory contains.
      const named = this.kinds(
        ({ backup, listed }) => backup === 'listed' && listed?.directory === directory.name,
      );
      for (const kind of named) {
        const entries = members.flatMap((member) => kind.listed?.entryOf(member) ?? []);
        const keys = entries.map((entry) => ({ ...entry, name: keyOf(kind.name, aid, entry.id) }));
        // Several entries may lead to the same key.
        const unique = [...new Map(keys.map((key) => [`${key.nonce} ${key.name}`, key])).values()];
        await this.copyKeys(kind, unique, (found, entry) => isOfEntry(kind, found, entry));
      }
    }
    return all;
  }

  /**
   * Copies what tells of changes, after the changes and in the order in which it moves: positions in logs, what was announced, and
   * deliveries. What moves meanwhile is in the copy twice, under the same ids.
   */
  private async copyEvents(aid: string): Promise<void> {
    for (const key of await this.backupStore.keys([
      redisKeys.eventState(aid),
      redisKeys.accountOutbox(aid),
    ])) {
      await this.add(key);
    }
    const copied = await this.copyListed(aid, 'deliveries');
    const [subscriptions] = await this.backupStore.keys([redisKeys.subscriptions(aid)]);
    for (const id of fieldsOf(subscriptions?.parts ?? []).keys()) {
      const [waiting] = await this.backupStore.keys([redisKeys.waitingEvents(aid, id)]);
      const kept = [...fieldsOf(waiting?.parts ?? [])].filter(([delivery]) => copied.has(delivery));
      await this.addPart('zset', redisKeys.waitingEvents(aid, id), kept.flat());
    }
  }

  /** Copies expiring keys that no directory names. They are copied before everything that they refer to. */
  private async copyScanned(): Promise<void> {
    for (const kind of this.kinds(({ backup, isUnlisted }) => backup === 'scanned' || isUnlisted)) {
      for await (const names of this.backupStore.names(keyOf(kind.name, '*', '*'))) {
        const keys = names.map((name) => ({ name: String(name) }));
        await this.copyKeys(kind, keys, (found) => found.kind === 'hash' && found.expiresAt > 0);
      }
    }
  }

  /** Copies the single keys of an account, or of the vault if `aid` is empty, and the keys `others`. */
  private async copyWhole(aid: string, others: readonly string[] = []): Promise<void> {
    const scope = aid === '' ? 'vault' : 'account';
    const whole = this.kinds(({ name, backup }) => name.scope === scope && backup === 'whole');
    const names = [...whole.map((kind) => keyOf(kind.name, aid, '')), ...others];
    // The keys of the vault are in different slots of a Cluster.
    for (const page of scope === 'vault' ? names.map((name) => [name]) : [names]) {
      for (const key of await this.backupStore.keys(page)) {
        await this.add(key);
      }
    }
  }

  /** Copies those keys of a kind that exist and that `isWanted` accepts, in steps. */
  private async copyKeys<Key extends { readonly name: string }>(
    kind: RecordKind,
    keys: readonly Key[],
    isWanted: (copied: CopiedKey, key: Key) => boolean,
  ): Promise<void> {
    for (let at = 0; at < keys.length; at += STEP) {
      const step = keys.slice(at, at + STEP);
      const found = await Promise.all(
        step.map(async (key) => ({ key, copied: await this.backupStore.keys([key.name]) })),
      );
      for (const { key, copied } of found) {
        for (const one of copied.filter((copy) => isWanted(copy, key))) {
          await this.add(asRestored(kind, one));
        }
      }
    }
  }

  private kinds(isWanted: (kind: RecordKind) => boolean | undefined): readonly RecordKind[] {
    return Object.values(this.recordStore.kinds).filter(isWanted);
  }
}

/** Returns a key as a restored vault must have it. */
function asRestored({ restored }: RecordKind, copied: CopiedKey): BackupRecord {
  return copied.kind === 'hash' && restored
    ? recordOf('hash', copied.key, [...restored(fieldsOf(copied.parts))].flat(), copied.expiresAt)
    : copied;
}

/** Returns true if a key that is found by its id belongs to this entry. A reservation has no account yet; it expires. */
function isOfEntry({ name }: RecordKind, { kind, parts }: CopiedKey, { nonce }: DirectoryEntry): boolean {
  if (name.scope !== 'id') {
    return true;
  }
  const stored = fieldsOf(parts);
  return kind === 'hash' && stored.has('a') && stored.get('n')?.toString() === nonce;
}
