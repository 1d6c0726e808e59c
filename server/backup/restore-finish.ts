import type { Accounts } from '../account/accounts.ts';
import type { Credentials } from '../account/credential/credentials.ts';
import { eachOf, recover } from '../core/concurrency.ts';
import type { Crypto } from '../crypto/client.ts';
import type { EndpointStore } from '../endpoint/store.ts';
import type { KeyStore } from '../key/store.ts';
import type { RecordStore } from '../maintenance/store/records.ts';
import type { Rollbacks } from '../maintenance/verify/rollback.ts';
import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';

/** Keys that are finished concurrently. */
const KEYS_AT_ONCE = 8;

/** Deletions during the backup, as far as the file contains them. */
export interface Leftovers {
  /** Deleted keys with their accounts. */
  readonly keys: readonly { readonly aid: string; readonly kid: string }[];
  /** Ids of deleted accounts. */
  readonly accounts: readonly string[];
}

/** Makes a restored vault consistent, before any server may use it. */
export class RestoreFinish {
  constructor(
    private readonly redis: RedisLink,
    private readonly recordStore: RecordStore,
    private readonly keyStore: KeyStore,
    private readonly endpointStore: EndpointStore,
    private readonly crypto: Crypto,
    private readonly accounts: Accounts,
    private readonly credentials: Credentials,
    private readonly rollbacks: Rollbacks,
  ) {}

  /** Finishes the restore; `seen` receives the number of keys so far. Can be repeated after an interruption. */
  async finish({ keys, accounts }: Leftovers, seen: (keys: number) => void): Promise<void> {
    for (const { aid, kid } of keys) {
      await this.endpointStore.removeOfKey(aid, kid);
      await this.keyStore.purge(aid, kid);
    }
    if (accounts.length > 0) {
      // The sweep of the first server that starts removes the rest of them.
      await this.redis.write('SADD', [redisKeys.goneAccounts, ...accounts]);
    }
    let done = 0;
    for (const { aid } of await this.accounts.list()) {
      await this.removeEnded(aid);
      for await (const entries of this.recordStore.entries(this.recordStore.kinds.keyRecord, aid)) {
        await eachOf(entries, ({ id: user }) => this.finishChanges(aid, user), KEYS_AT_ONCE);
        done += entries.length;
        seen(done);
      }
    }
  }

  /**
   * Removes endpoints and credentials that were deleted during the backup: they were copied before, and the security log,
   * which is copied after them, contains their end.
   */
  private async removeEnded(aid: string): Promise<void> {
    const { gone } = await this.rollbacks.readLoggedStates(aid);
    await this.credentials.removeStates(aid, gone);
    for (const entry of gone.size === 0 ? [] : await this.endpointStore.entries(aid)) {
      const stored = await this.endpointStore.read(entry.id);
      const place = { aid, id: entry.id };
      const digest = stored && this.crypto.endpointDigest({ place, policy: stored.policy });
      if (digest && gone.has(await recover(digest, 'integrity_failed', ''))) {
        await this.endpointStore.remove(aid, entry);
      }
    }
  }

  /**
   * Completes passphrase changes that may be only half in the copy: endpoints of an older generation are stopped, and
   * older generations stay invalid.
   */
  private async finishChanges(aid: string, user: string): Promise<void> {
    const record = await this.keyStore.read(aid, user);
    // A damaged record stays as it is; `vault verify` reports it.
    const facts =
      record && (await this.crypto.describeKey({ place: { aid, user }, record }).catch(() => undefined));
    // A key of the first generation was never changed.
    if (facts !== undefined && facts.gen > 1) {
      await this.keyStore.moveFences(facts.kid, facts.gen);
      await this.endpointStore.stopBefore(aid, facts.kid, facts.gen);
    }
  }
}
