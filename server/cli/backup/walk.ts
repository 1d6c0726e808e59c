import type { Session } from '../../boot/open.ts';
import type { AccountInfo } from '../../services/account/record.ts';
import { eachOf } from '../../services/maintenance/each.ts';
import { readInstallation } from '../../store/installation.ts';
import { createCopyStore } from '../../store/maintenance/copy.ts';
import { redisKeys } from '../../store/redis/keys.ts';
import { scanNames } from '../../store/redis/scan.ts';
import { CommandError } from '../commands/command.ts';
import { copyBeside, copyLeading, copyUnnamed, fieldsOf } from './account.ts';
import { addHash, copyKey, type KeyCopying, openContext } from './key.ts';
import { type BackupRecord, recordOf } from './record.ts';

const KEYS_AT_ONCE = 4;
const USERS_PAGE = 1_000;
/** What no directory knows: idempotency keys, and ids of requests that are done. */
const UNNAMED = [redisKeys.idempotency('*'), redisKeys.job('*', '*')];

/** What was copied; `damaged` counts records that do not open and were copied as they are. */
export interface Copied {
  readonly accounts: number;
  readonly keys: number;
  readonly items: number;
  readonly damaged: number;
}

interface Walk extends KeyCopying {
  readonly session: Session;
}

async function copyAllUnnamed({ session, copies, add }: Walk): Promise<void> {
  for (const pattern of UNNAMED) {
    for await (const names of scanNames(session.vault.redis, pattern)) {
      await copyUnnamed(copies, names.map(String), add);
    }
  }
}

async function copyKeysOf(walk: Walk, aid: string): Promise<number> {
  const { keyStore } = walk.session.vault.stores;
  let keys = 0;
  let after: string | undefined;
  for (;;) {
    const users = await keyStore.users(aid, after, USERS_PAGE);
    await eachOf(
      users,
      async (user) => {
        keys += (await copyKey(walk, aid, user)) ? 1 : 0;
      },
      KEYS_AT_ONCE,
    );
    after = users.at(-1);
    if (users.length < USERS_PAGE) {
      return keys;
    }
  }
}

/** The BIN table in force. A new one that is loaded meanwhile is taken in its place. */
async function copyBins({ copies, add }: Walk): Promise<void> {
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

/** What is the operator's own: the certificate of compliance. */
async function copyOperators({ copies, add }: Walk): Promise<void> {
  for (const key of await copies.keys([redisKeys.compliance])) {
    await add(key);
  }
}

/** Security logs, each as it is at one moment, behind the list of them: no checkpoint is newer than its log. */
async function copyAudit({ copies, add }: Walk): Promise<void> {
  const [chains] = await copies.keys([redisKeys.auditChains]);
  for (const aid of (chains && fieldsOf(chains)?.keys()) ?? []) {
    const [chain] = await copies.keys([redisKeys.auditChain(aid)]);
    await addHash(add, redisKeys.auditChain(aid), chain?.parts ?? []);
  }
  await addHash(add, redisKeys.auditChains, chains?.parts ?? []);
}

/** Accounts come last, as they are now: of one that was deleted meanwhile a restore removes all that was copied. */
async function copyAccounts({ session, add }: Walk, begun: readonly AccountInfo[]): Promise<number> {
  const { services, stores } = session.vault;
  const left = new Map((await services.accounts.list()).map(({ name, aid }) => [aid, name]));
  let copied = 0;
  for (const { aid } of begun) {
    const name = left.get(aid);
    const record = name === undefined ? undefined : await stores.accountStore.read(name);
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
 * Copies a vault that is in use. The order is what makes it whole: what leads to something is copied before it, and
 * what it needs behind it (docs/decisions/backup.md). Everything that was acknowledged before is in the copy.
 */
export async function copyVault(
  session: Session,
  add: (record: BackupRecord) => Promise<void>,
  seen: (items: number) => void,
): Promise<Copied> {
  const { vault } = session;
  const installation = await readInstallation(vault.redis);
  if (installation === undefined) {
    throw new CommandError('There is no vault in this Redis.', 1);
  }
  let items = 0;
  let damaged = 0;
  let keys = 0;
  const walk: Walk = {
    session,
    ...{ crypto: vault.crypto, keyStore: vault.stores.keyStore, settings: vault.settings },
    copies: createCopyStore(vault.redis),
    buckets: installation.buckets,
    context: openContext(session, installation.root),
    add,
    counted: (more) => {
      items += more;
      seen(items);
    },
    damaged: () => {
      damaged += 1;
    },
  };
  const { buckets, root } = installation;
  await add(recordOf('hash', redisKeys.installation, ['buckets', buckets, 'root', root]));
  await copyAllUnnamed(walk);
  const accounts = await vault.services.accounts.list();
  for (const { aid } of accounts) {
    await copyLeading(walk.copies, aid, add);
  }
  for (const account of accounts) {
    keys += await copyKeysOf(walk, account.aid);
    await copyBeside(walk.copies, account, vault.now(), add);
  }
  await copyBins(walk);
  await copyOperators(walk);
  await copyAudit(walk);
  return { accounts: await copyAccounts(walk, accounts), keys, items, damaged };
}
