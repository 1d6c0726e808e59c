import type { Accounts } from '../account/accounts.ts';
import type { AccountInfo } from '../account/records.ts';
import type { AccountStore } from '../account/store.ts';
import type { Clock } from '../core/clock.ts';
import { eachOf } from '../core/concurrency.ts';
import type { Installation } from '../installation/store.ts';
import type { RecordStore } from '../maintenance/store/records.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { monthsOf } from '../request/metering.ts';
import type { KeyCopy } from './key.ts';
import { type CopySink, fieldsOf, type KindCopy } from './kinds.ts';
import { recordOf } from './record.ts';
import type { BackupStore } from './store.ts';

/** Keys that are copied concurrently. */
const KEYS_AT_ONCE = 4;

/** Numbers of copied records. `damaged` counts records that cannot be decrypted; they were copied unchanged. */
export interface Copied {
  readonly accounts: number;
  readonly keys: number;
  readonly items: number;
  readonly damaged: number;
}

/** Copies a vault that is in use. */
export class VaultCopy {
  constructor(
    private readonly accountStore: AccountStore,
    private readonly recordStore: RecordStore,
    private readonly backupStore: BackupStore,
    private readonly accounts: Accounts,
    private readonly kinds: KindCopy,
    private readonly keys: KeyCopy,
    private readonly sink: CopySink,
    private readonly now: Clock,
  ) {}

  /**
   * Copies the vault. The order makes the copy consistent: a record is copied after the records that refer to it, and before
   * those that it depends on (docs/decisions/backup.md). Everything that was acknowledged before the call is in the copy.
   */
  async copy({ buckets, root }: Installation): Promise<Copied> {
    await this.sink.add(recordOf('hash', redisKeys.installation, ['buckets', buckets, 'root', root]));
    // Idempotency keys and reserved ids first: they refer to everything else.
    await this.kinds.copyScanned();
    // Accounts that are created during the copy are not in it.
    const started = await this.accounts.list();
    for (const { aid } of started) {
      await this.kinds.copyListed(aid);
    }
    let keys = 0;
    for (const account of started) {
      keys += await this.copyKeysOf(account.aid);
      await this.copyRest(account);
    }
    await this.copyBins();
    await this.kinds.copyWhole('');
    await this.copyAudit();
    const accounts = await this.copyAccounts(started);
    return { accounts, keys, items: this.sink.items, damaged: this.sink.damaged };
  }

  /** Copies the keys of an account; returns their number. */
  private async copyKeysOf(aid: string): Promise<number> {
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

  /** Copies the other records of an account. They come after the keys that refer to them. */
  private copyRest({ aid, created_at }: AccountInfo): Promise<void> {
    const months = monthsOf(Date.parse(created_at), this.now());
    return this.kinds.copyWhole(
      aid,
      months.map((month) => redisKeys.usage(aid, month)),
    );
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

  /**
   * Copies the security logs, each as of one moment. Their list was read before, so no checkpoint is newer than its
   * log.
   */
  private async copyAudit(): Promise<void> {
    const [chains] = await this.backupStore.keys([redisKeys.auditChains]);
    for (const aid of (chains && fieldsOf(chains)?.keys()) ?? []) {
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
}
