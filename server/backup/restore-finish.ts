import type { System } from '../boot/assemble.ts';
import { recover } from '../core/concurrency.ts';
import { eachOf } from '../core/each.ts';
import { readLoggedStates } from '../maintenance/verify/rollback.ts';
import { redisKeys } from '../redis/records/keys.ts';

/** Keys that are finished concurrently. */
const KEYS_AT_ONCE = 8;

/** What was deleted during the backup, as far as the file contains it. */
export interface Leftovers {
  /** Deleted keys with their accounts. */
  readonly keys: readonly { readonly aid: string; readonly kid: string }[];
  /** Ids of deleted accounts. */
  readonly accounts: readonly string[];
}

/**
 * Completes passphrase changes that may be only half in the copy: endpoints of an older generation are stopped, and
 * older generations stay invalid.
 */
async function finishChanges({ stores, crypto }: System, aid: string, user: string): Promise<void> {
  const { keyStore, endpointStore } = stores;
  const record = await keyStore.read(aid, user);
  // A damaged record stays as it is; `vault verify` reports it.
  const facts = record && (await crypto.describeKey({ place: { aid, user }, record }).catch(() => undefined));
  // A key of the first generation was never changed.
  if (facts !== undefined && facts.gen > 1) {
    await keyStore.moveFences(facts.kid, facts.gen);
    await endpointStore.stopBefore(aid, facts.kid, facts.gen);
  }
}

/**
 * Removes endpoints and credentials that were deleted while the backup was made: they were copied before, and the security log, which is
 * copied after them, says so.
 */
async function removeEnded({ stores, services, crypto }: System, aid: string): Promise<void> {
  const { auditStore, endpointStore } = stores;
  const { gone } = await readLoggedStates({ auditStore, crypto }, aid);
  await services.credentials.removeStates(aid, gone);
  for (const entry of gone.size === 0 ? [] : await endpointStore.entries(aid)) {
    const stored = await endpointStore.read(entry.id);
    const digest = stored && crypto.endpointDigest({ place: { aid, id: entry.id }, policy: stored.policy });
    if (digest && gone.has(await recover(digest, 'integrity_failed', ''))) {
      await endpointStore.remove(aid, entry);
    }
  }
}

/** Makes a restored vault consistent, before any server may use it. Can be repeated after an interruption. */
export async function finishVault(
  vault: System,
  { keys, accounts }: Leftovers,
  seen: (keys: number) => void,
): Promise<void> {
  const { endpointStore, keyStore, recordStore } = vault.stores;
  for (const { aid, kid } of keys) {
    await endpointStore.removeOfKey(aid, kid);
    await keyStore.purge(aid, kid);
  }
  if (accounts.length > 0) {
    // The sweep of the first server that starts removes what is left of them.
    await vault.redis.write('SADD', [redisKeys.goneAccounts, ...accounts]);
  }
  let done = 0;
  for (const { aid } of await vault.services.accounts.list()) {
    await removeEnded(vault, aid);
    for await (const entries of recordStore.entries(recordStore.kinds.keyRecord, aid)) {
      await eachOf(entries, ({ id: user }) => finishChanges(vault, aid, user), KEYS_AT_ONCE);
      done += entries.length;
      seen(done);
    }
  }
}
