import type { Accounts } from '../account/accounts.ts';
import type { AccountInfo } from '../account/records.ts';
import type { AccountStore } from '../account/store.ts';
import type { Clock } from '../core/clock.ts';
import { eachOf } from '../core/concurrency.ts';
import type { Installation } from '../installation/store.ts';
import type { RecordStore } from '../maintenance/store/records.ts';
import { redisKeys } from '../redis/records/keys.ts';
import type { DirectoryEntry, RecordKind } from '../redis/records/kind.ts';
import { keyOf } from '../redis/records/name.ts';
import { monthsOf } from '../request/metering.ts';
import type { KeyCopy } from './key.ts';
import { type BackupRecord, type CopySink, fieldsOf, recordOf } from './record.ts';
import type { BackupStore, CopiedKey } from './store.ts';

/** Keys that are copied concurrently. */
const KEYS_AT_ONCE = 4;
/** Keys of a kind that are read concurrently. */
const STEP = 100;

/** Copies a vault that is in use. */
export class VaultCopy {
  constructor(
    private readonly accountStore: AccountStore,
    private readonly recordStore: RecordStore,
    private readonly backupStore: BackupStore,
    private readonly accounts: Accounts,
    private readonly keys: KeyCopy,
    private readonly sink: CopySink,
    private readonly now: Clock,
  ) {}

  /**
   * Copies the vault. The order makes the copy consistent: a record is copied after the records that refer to it, and before
   * those that it depends on (docs/decisions/backup.md). Everything that was acknowledged before the call is in the copy.
   * Returns the numbers of copied records; damaged ones were copied unchanged.
   */
  async copy({ buckets, root }: Installation) {
    await this.sink.add(recordOf('hash', redisKeys.installation, ['buckets', buckets, 'root', root]));
    // Idempotency keys and reserved ids first: they refer to everything else.
    await this.copyScanned();
    // Accounts that are created during the copy are not in it.
    const started = await this.accounts.list();
    for (const { aid } of started) {
      await this.copyListed(aid);
    }
    let keys = 0;
    for (const { aid, created_at } of started) {
      keys += await this.copyVaultKeys(aid);
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
    return { accounts, keys, items: this.sink.items, damaged: this.sink.damaged };
  }

  /** Copies the vault keys of an account; returns their number. */
  private async copyVaultKeys(aid: string): Promise<number> {
    let keys = 0;
    for await (const entries of this.recordStore.entries(this.recordStore.kinds.keyRecord, aid)) {
      const copyOne = async (user: string): Promise<void> => {
        const isCopied = await this.keys.copy(aid, user);
        // Not in one expression with `await`: other keys are counted in the meantime.
        keys += isCopied ? 1 : 0;
      };
      await eachOf(entries, ({ id }) => copyOne(id), KEYS_AT_ONCE);
    }
    return keys;
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
          await this.sink.add(recordOf('zset', table, members));
        }
      }
      const [now] = await this.backupStore.keys([redisKeys.binVersion]);
      if (String(now?.parts[0]) === String(version.parts[0])) {
        await this.sink.add(version);
        return;
      }
    }
  }

  /** Copies the security logs, each as of one moment. Their list was read before, so no checkpoint is newer than its log. */
  private async copyAudit(): Promise<void> {
    const [chains] = await this.backupStore.keys([redisKeys.auditChains]);
    for (const aid of fieldsOf(chains?.parts ?? []).keys()) {
      const [chain] = await this.backupStore.keys([redisKeys.auditChain(aid)]);
      await this.sink.addHash(redisKeys.auditChain(aid), chain?.parts ?? []);
    }
    await this.sink.addHash(redisKeys.auditChains, chains?.parts ?? []);
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
        await this.sink.add(recordOf('gone', aid, []));
        continue;
      }
      await this.sink.add(recordOf('hash', redisKeys.accounts, [name, record]));
      copied += 1;
    }
    return copied;
  }

  /**
   * Copies the directories of an account, each before the keys that it names. A key that is created later is not in the
   * directory that was read; a deleted one leaves an entry that the sweep removes. So a copy never contains a key that
   * no directory names.
   */
  private async copyListed(aid: string): Promise<void> {
    for (const directory of this.kinds(({ backup }) => backup === 'directory')) {
      const [copied] = await this.backupStore.keys([keyOf(directory.name, aid, '')]);
      if (copied === undefined) {
        continue;
      }
      await this.sink.add(copied);
      const members = copied.parts.filter((_, at) => at % 2 === 0).map(String);
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
        await this.sink.add(key);
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
          await this.sink.add(asRestored(kind, one));
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

/** Tells whether a key that is found by its id alone belongs to this entry. A reservation has no account yet; it expires. */
function isOfEntry({ name }: RecordKind, { kind, parts }: CopiedKey, { nonce }: DirectoryEntry): boolean {
  if (name.scope !== 'id') {
    return true;
  }
  const stored = fieldsOf(parts);
  return kind === 'hash' && stored.has('a') && stored.get('n')?.toString() === nonce;
}
