import type { System } from '../../boot/assemble.ts';
import { eachOf } from '../../services/maintenance/each.ts';
import { redisKeys } from '../../store/redis/keys.ts';

const KEYS_AT_ONCE = 8;
const USERS_PAGE = 1_000;

/** What was deleted while the backup was made, as far as it is in the file. */
export interface Leftovers {
  /** Account and key ids. */
  readonly keys: readonly { readonly aid: string; readonly kid: string }[];
  /** Ids of accounts. */
  readonly accounts: readonly string[];
}

/** Ends every passphrase change that the copy holds half of: older endpoints stop, and older generations stay out. */
async function finishChanges({ stores, crypto }: System, aid: string): Promise<number> {
  const { keyStore, endpointStore } = stores;
  let keys = 0;
  let after: string | undefined;
  for (;;) {
    const users = await keyStore.users(aid, after, USERS_PAGE);
    await eachOf(
      users,
      async (user) => {
        keys += 1;
        const record = await keyStore.read(aid, user);
        // One that does not open is left for people to look at, as it was before.
        const facts = record && (await crypto.describeKey({ aid, user }, record).catch(() => undefined));
        if (facts !== undefined && facts.gen > 1) {
          await keyStore.moveFences(facts.kid, facts.gen);
          await endpointStore.stopBefore(aid, facts.kid, facts.gen);
        }
      },
      KEYS_AT_ONCE,
    );
    after = users.at(-1);
    if (users.length < USERS_PAGE) {
      return keys;
    }
  }
}

/** Makes a restored vault whole, before any server may use it. Can be done again. */
export async function finishVault(
  vault: System,
  { keys, accounts }: Leftovers,
  seen: (keys: number) => void,
): Promise<void> {
  for (const { aid, kid } of keys) {
    await vault.stores.endpointStore.removeAll(aid, kid);
    await vault.stores.keyStore.purge(aid, kid);
  }
  if (accounts.length > 0) {
    // The sweep of the first server that starts removes what is left of them.
    await vault.redis.write('SADD', [redisKeys.goneAccounts, ...accounts]);
  }
  let done = 0;
  for (const { aid } of await vault.services.accounts.list()) {
    done += await finishChanges(vault, aid);
    seen(done);
  }
}
