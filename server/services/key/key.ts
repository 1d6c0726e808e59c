import { createHash } from 'node:crypto';
import { VaultError } from '../../core/errors.ts';
import type { Secret, SecretBytes } from '../../core/secret.ts';
import type { Crypto, Passphrase } from '../../crypto/client.ts';
import { preferredLimit } from '../../domain/account/preference.ts';
import type { Key } from '../../http/schema/key.ts';
import type { EndpointStore } from '../../store/endpoint.ts';
import type { KeyStore } from '../../store/key.ts';
import type { RandomId } from '../common/clock.ts';
import { insist } from '../common/coalesce.ts';
import type { Cursors } from '../common/cursor.ts';
import type { Account, AccountContext } from '../common/request-context.ts';
import type { IdempotencyService, Repeatable } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import type { KeyHandle, KeyOpener } from './open.ts';

/** A key with its passphrase, shown once. */
export interface NewPassphrase {
  readonly user: string;
  readonly passphrase: Secret<string>;
}

export interface KeyService {
  readonly create: (
    ctx: AccountContext,
    input: {
      readonly user: string;
      readonly passphrase?: SecretBytes | undefined;
    },
  ) => Promise<Repeatable<NewPassphrase>>;
  readonly list: (
    ctx: AccountContext,
    input: { readonly limit?: number | undefined; readonly next_token?: string | undefined },
  ) => Promise<{ readonly keys: readonly Key[]; readonly nextToken?: string | undefined }>;
  readonly changePassphrase: (
    ctx: AccountContext,
    input: {
      readonly user: string;
      readonly passphrase: SecretBytes;
      readonly new_passphrase?: SecretBytes | undefined;
    },
  ) => Promise<NewPassphrase>;
  readonly remove: (
    ctx: AccountContext,
    input: { readonly user: string; readonly safe: boolean },
  ) => Promise<void>;
}

const GENERATED_LENGTH = 64;
/** A record that was only sealed again under another master key is no reason to refuse: that happens seldom. */
const RESEALED_TRIES_MAX = 3;
/** Keys of a list whose caller and account say nothing of it. */
const LIST_LIMIT = 65_536;

const encoder = new TextEncoder();
function kidFromSeed(seed: string): string {
  return createHash('sha256').update(`key ${seed}`).digest('base64url').slice(0, 22);
}

export interface Keys extends KeyService, Pick<KeyOpener, 'find' | 'withUnlocked' | 'prove' | 'close'> {
  /** Identifiers in order, beginning behind `after`. */
  readonly users: (
    account: Pick<Account, 'aid'>,
    after: string | undefined,
    limit: number,
  ) => Promise<readonly string[]>;
  /** Finishes changes and deletions of keys of this account that were interrupted behind their records. */
  readonly sweep: (aid: string) => Promise<void>;
  /** Deletes all keys of an account with their data and endpoints. */
  readonly removeAll: (aid: string) => Promise<void>;
}

interface KeyDependencies {
  readonly crypto: Pick<Crypto, 'createKey' | 'changePassphrase' | 'makePassphrase'>;
  readonly keyStore: KeyStore;
  readonly endpointStore: Pick<EndpointStore, 'removeAll'>;
  readonly opener: KeyOpener;
  readonly metering: Pick<MeteringService, 'count' | 'request'>;
  readonly idempotency: IdempotencyService;
  readonly cursors: Cursors;
  readonly randomId: RandomId;
}

/** Keys: their life from creation to deletion. Errors are those of the contract; a lost passphrase is lost data. */
export function createKeys(dependencies: KeyDependencies): Keys {
  const { crypto, keyStore, endpointStore, opener, metering, idempotency, cursors, randomId } = dependencies;
  const { find, prove, withUnlocked } = opener;

  const generate = (): Promise<Secret<string>> => crypto.makePassphrase({ length: GENERATED_LENGTH });
  const asText = (passphrase: Passphrase): Secret<string> =>
    passphrase.map((bytes) => Buffer.from(bytes).toString('utf8'));
  const asBytes = (passphrase: Secret<string>): Passphrase => passphrase.map((text) => encoder.encode(text));

  /** Creates the key; one that the same request made before it was interrupted counts as made now. */
  const createOnce = async (
    account: Account,
    user: string,
    passphrase: Passphrase,
    kid: string,
  ): Promise<void> => {
    const record = await crypto.createKey({ key: { aid: account.aid, user, kid }, passphrase });
    if (await keyStore.create(account.aid, user, record)) {
      return;
    }
    const there = await find(account, user);
    if (there.kid !== kid) {
      throw new VaultError('key_exists', { field: 'body.user' });
    }
    await prove(account, user, passphrase);
  };

  const create: KeyService['create'] = async (ctx, { user, passphrase }) => {
    const { account, idempotencyKey } = ctx;
    if (idempotencyKey === undefined) {
      const chosen = passphrase ?? asBytes(await generate());
      if (await keyStore.read(account.aid, user)) {
        throw new VaultError('key_exists', { field: 'body.user' });
      }
      await createOnce(account, user, chosen, randomId());
      metering.count(ctx, 'key');
      return { reply: { user, passphrase: asText(chosen) }, replayed: false };
    }
    if (!passphrase) {
      throw new VaultError('idempotency_passphrase_required', { field: 'body.passphrase' });
    }
    const request = { key: idempotencyKey, route: 'POST /v1/key', parts: [user] };
    const { replayed } = await idempotency.run(ctx, request, async (seed) => {
      await createOnce(account, user, passphrase, kidFromSeed(seed));
      metering.count(ctx, 'key');
      return { user };
    });
    if (replayed) {
      // The kept reply has no passphrase: the repeat shows that it knows it.
      await prove(account, user, passphrase);
    }
    return { reply: { user, passphrase: asText(passphrase) }, replayed };
  };

  /** Replaces the record; where Redis falters, finds out whether it has happened before it says anything. */
  const replaceRecord = async (key: KeyHandle, changed: Uint8Array): Promise<boolean> => {
    const { aid, user, kid, gen, record } = key;
    try {
      return await keyStore.change({ aid, user, kid, gen: gen + 1, read: record, record: changed });
    } catch (error) {
      const stored = await insist(() => keyStore.read(aid, user));
      if (stored?.equals(changed)) {
        return true;
      }
      throw error;
    }
  };

  /** The same key under the same passphrase, whose record was only sealed again meanwhile; undefined for another. */
  const sameKey = async (key: KeyHandle): Promise<KeyHandle | undefined> => {
    const there = await find(key, key.user).catch((error: unknown) => {
      if (error instanceof VaultError && error.code === 'key_not_found') {
        return undefined;
      }
      throw error;
    });
    return there?.kid === key.kid && there.gen === key.gen ? there : undefined;
  };

  const changePassphrase: KeyService['changePassphrase'] = async (
    ctx,
    { user, passphrase, new_passphrase },
  ) => {
    const { account } = ctx;
    let key = await find(account, user);
    const next = new_passphrase ?? asBytes(await generate());
    const changeRecord = async (of: KeyHandle): Promise<boolean> => {
      const record = await opener.guarded(of, () =>
        crypto.changePassphrase({ key: of, record: of.record, from: passphrase, to: next }),
      );
      // Counted ahead: nothing may fail once the new passphrase is in force, which may exist nowhere else.
      await metering.request(ctx);
      return replaceRecord(of, record);
    };
    metering.count(ctx, 'key');
    for (let tries = 1; !(await changeRecord(key)); tries++) {
      const same = tries < RESEALED_TRIES_MAX ? await sameKey(key) : undefined;
      if (!same) {
        throw new VaultError('key_changed');
      }
      key = same;
    }
    opener.forget(key);
    const changed = { aid: key.aid, kid: key.kid, gen: key.gen + 1 };
    // From here on the caller gets it, whatever Redis does. What is left undone is done by the sweep, or by the first
    // unlock after it.
    await insist(() => opener.finishChange(changed)).catch(() => undefined);
    return { user, passphrase: asText(next) };
  };

  /** Deletes what a deleted key leaves behind. */
  const purge = async (aid: string, kid: string): Promise<void> => {
    await endpointStore.removeAll(aid, kid);
    await keyStore.purge(aid, kid);
  };

  /** Closes the key's buckets, deletes the record, then the data. Nothing begun before lands afterwards. */
  const removeOnce = async (key: KeyHandle, safe: boolean): Promise<'ok' | 'changed'> => {
    const { aid, user, kid, record } = key;
    const deletion = randomId();
    const refuse = async (code: 'key_not_empty' | 'key_changed' | 'store_unavailable'): Promise<never> => {
      await keyStore.reopen(kid, deletion);
      throw new VaultError(code);
    };
    const closed = await keyStore.close(kid, deletion);
    if (closed.kind === 'busy') {
      return refuse('key_changed');
    }
    if (safe && closed.items > 0) {
      return refuse('key_not_empty');
    }
    const removed = await keyStore.remove({ aid, user, kid, read: record, actBefore: closed.actBefore });
    if (removed === 'late') {
      return refuse('store_unavailable');
    }
    if (removed === 'changed') {
      await keyStore.reopen(kid, deletion);
      return removed;
    }
    opener.forget(key);
    await purge(aid, kid);
    return removed;
  };

  const removeKey = async (key: KeyHandle, safe: boolean): Promise<void> => {
    let target: KeyHandle | undefined = key;
    for (let tries = 1; target && tries <= RESEALED_TRIES_MAX; tries++) {
      if ((await removeOnce(target, safe)) === 'ok') {
        return;
      }
      target = await sameKey(target);
    }
    throw new VaultError('key_changed');
  };

  const users: Keys['users'] = ({ aid }, after, limit) => keyStore.users(aid, after, limit);

  const sweep = async (aid: string): Promise<void> => {
    for (const { kid, gen } of await keyStore.changesLeft(aid)) {
      await opener.finishChange({ aid, kid, gen });
    }
    for (const kid of await keyStore.purgesLeft(aid)) {
      await purge(aid, kid);
    }
  };

  return {
    find,
    users,
    withUnlocked,
    prove,
    create,
    changePassphrase,
    async remove(ctx, { user, safe }) {
      const { account } = ctx;
      await removeKey(await find(account, user), safe);
      metering.count(ctx, 'key');
    },
    async list(ctx, { limit: asked, next_token }) {
      const { account } = ctx;
      const limit = preferredLimit(account.preferences, asked, LIST_LIMIT);
      const scope = [account.aid, 'GET /v1/key'];
      const after = next_token === undefined ? undefined : String(cursors.open(scope, next_token));
      // One more than asked for tells whether there is a next page.
      const found = await keyStore.users(account.aid, after, limit < 0 ? -1 : limit + 1);
      const page = limit < 0 ? found : found.slice(0, limit);
      const last = page.at(-1);
      metering.count(ctx, 'key');
      return {
        keys: page.map((user) => ({ user })),
        ...(found.length > page.length && last !== undefined ? { nextToken: cursors.seal(scope, last) } : {}),
      };
    },
    sweep,
    async removeAll(aid) {
      await sweep(aid);
      for (const user of await keyStore.users(aid, undefined, -1)) {
        await removeKey(await find({ aid }, user), false);
      }
    },
    close: opener.close,
  };
}
