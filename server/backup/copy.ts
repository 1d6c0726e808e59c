import type { AccountInfo } from '../account/records.ts';
import type { Session } from '../boot/open.ts';
import { eachOf } from '../core/each.ts';
import type { Installation } from '../installation/store.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { monthsOf } from '../request/metering.ts';
import { addHash, copyKey, type KeyCopying, openContext } from './key.ts';
import { copyListed, copyScanned, copyWhole, fieldsOf } from './kinds.ts';
import { type BackupRecord, recordOf } from './record.ts';
import { createCopyStore } from './store.ts';

/** Keys that are copied concurrently. */
const KEYS_AT_ONCE = 4;

/** What was copied. `damaged` counts records that cannot be decrypted; they were copied unchanged. */
export interface Copied {
  readonly accounts: number;
  readonly keys: number;
  readonly items: number;
  readonly damaged: number;
}

/** Copies the keys of an account; returns their number. */
async function copyKeysOf(copying: KeyCopying, aid: string): Promise<number> {
  const { recordStore } = copying;
  let keys = 0;
  for await (const entries of recordStore.entries(recordStore.kinds.keyRecord, aid)) {
    const copyOne = async (user: string): Promise<void> => {
      const isCopied = await copyKey(copying, aid, user);
      // Not in one expression with `await`: other keys are counted in the meantime.
      keys += isCopied ? 1 : 0;
    };
    await eachOf(entries, ({ id }) => copyOne(id), KEYS_AT_ONCE);
  }
  return keys;
}

/** Copies the other records of an account. They come after the keys that refer to them. */
function copyBeside(copying: KeyCopying, { aid, created_at }: AccountInfo, now: number): Promise<void> {
  const months = monthsOf(Date.parse(created_at), now);
  return copyWhole(
    copying,
    aid,
    months.map((month) => redisKeys.usage(aid, month)),
  );
}

/** Copies the active BIN table. If another one was loaded in the meantime, that one is copied instead. */
async function copyBins({ copies, add }: KeyCopying): Promise<void> {
  for (;;) {
    const [version] = await copies.keys([redisKeys.binVersion]);
    if (version === undefined) {
      return;
    }
    const table = redisKeys.binTable(String(version.parts[0]));
    for await (const members of copies.members(table)) {
      if (members.length > 0) {
        await add(recordOf('zset', table, members));
      }
    }
    const [now] = await copies.keys([redisKeys.binVersion]);
    if (String(now?.parts[0]) === String(version.parts[0])) {
      await add(version);
      return;
    }
  }
}

/**
 * Copies the security logs, each as of one moment. Their list was read before, so no checkpoint is newer than its
 * log.
 */
async function copyAudit({ copies, add }: KeyCopying): Promise<void> {
  const [chains] = await copies.keys([redisKeys.auditChains]);
  for (const aid of (chains && fieldsOf(chains)?.keys()) ?? []) {
    const [chain] = await copies.keys([redisKeys.auditChain(aid)]);
    await addHash(add, redisKeys.auditChain(aid), chain?.parts ?? []);
  }
  await addHash(add, redisKeys.auditChains, chains?.parts ?? []);
}

/**
 * Copies the accounts last, in their current state. An account that was deleted in the meantime is recorded as
 * `gone`, so that a restore removes what was copied of it. Returns the number of accounts.
 */
async function copyAccounts(
  { vault }: Session,
  { add }: KeyCopying,
  started: readonly AccountInfo[],
): Promise<number> {
  // Names can be reused, so accounts are matched by id.
  const left = new Map((await vault.services.accounts.list()).map(({ name, aid }) => [aid, name]));
  let copied = 0;
  for (const { aid } of started) {
    const name = left.get(aid);
    const record = name === undefined ? undefined : await vault.stores.accountStore.read(name);
    if (name === undefined || record === undefined) {
      await add(recordOf('gone', aid, []));
      continue;
    }
    await add(recordOf('hash', redisKeys.accounts, [name, record]));
    copied += 1;
  }
  return copied;
}

/**
 * Copies a vault that is in use. The order makes the copy consistent: a record is copied after what refers to it, and
 * before what it depends on (docs/decisions/backup.md). Everything that was acknowledged before the call is in the
 * copy. `seen` receives the number of items so far.
 */
export async function copyVault(
  session: Session,
  { buckets, root }: Installation,
  add: (record: BackupRecord) => Promise<void>,
  seen: (items: number) => void,
): Promise<Copied> {
  const { crypto, now, redis, services, settings, stores } = session.vault;
  let [items, damaged, keys] = [0, 0, 0];
  const copying: KeyCopying = {
    ...{ crypto, redis, settings, add, buckets },
    ...stores,
    copies: createCopyStore(redis),
    context: openContext(session, root),
    counted: (more) => {
      items += more;
      seen(items);
    },
    damaged: () => {
      damaged += 1;
    },
  };
  await add(recordOf('hash', redisKeys.installation, ['buckets', buckets, 'root', root]));
  // Idempotency keys and reserved ids first: they refer to everything else.
  await copyScanned(copying);
  // Accounts that are created during the copy are not in it.
  const started = await services.accounts.list();
  for (const { aid } of started) {
    await copyListed(copying, aid);
  }
  for (const account of started) {
    keys += await copyKeysOf(copying, account.aid);
    await copyBeside(copying, account, now());
  }
  await copyBins(copying);
  await copyWhole(copying, '');
  await copyAudit(copying);
  return { accounts: await copyAccounts(session, copying, started), keys, items, damaged };
}
