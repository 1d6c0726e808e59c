import { createHash } from 'node:crypto';
import { preferredLimit } from '../account/preference-values.ts';
import { bindParts } from '../core/bind.ts';
import type { RandomId } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import { decodeSecret, encodeSecret, type Secret, type SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import type { EndpointStore } from '../endpoint/store.ts';
import type { JobStore } from '../job/store/jobs.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type { IdempotencyService, Repeatable } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import type { KeyHandle, KeyOpener } from './opener.ts';
import { renewKey, withSameKey } from './records.ts';
import type { Key } from './schema.ts';
import type { KeyStore } from './store.ts';

/** A key with its passphrase, shown once. */
export interface NewPassphrase {
  readonly user: string;
  readonly passphrase: Secret<string>;
}

/** Characters of a generated passphrase. */
const GENERATED_LENGTH = 64;
/** Keys of a list whose caller and account say nothing of it. */
const LIST_LIMIT = 65_536;
/** Why a key was not deleted. */
const NOT_REMOVED = { busy: 'key_changed', not_empty: 'key_not_empty', late: 'store_unavailable' } as const;

interface KeyParts {
  readonly crypto: Pick<Crypto, 'createKey' | 'changePassphrase' | 'makePassphrase' | 'proveKeyRemoval'>;
  readonly keyStore: KeyStore;
  readonly endpointStore: Pick<EndpointStore, 'removeAll'>;
  readonly jobStore: Pick<JobStore, 'removeOfKey'>;
  /** Removes a job, `aid.id`, from the queue. */
  readonly dequeue: (name: string) => Promise<void>;
  readonly opener: KeyOpener;
  readonly metering: Pick<MeteringService, 'count' | 'request'>;
  readonly idempotency: IdempotencyService;
  readonly cursors: Cursors;
  readonly randomId: RandomId;
}

/** The life of keys from creation to deletion. Errors are those of the contract; a lost passphrase is lost data. */
export type Keys = ReturnType<typeof createKeys>;

/** Makes the keys of a server, with what `opener` finds and unlocks. */
export function createKeys(parts: KeyParts) {
  const { find, withUnlocked, prove, recallId, close } = parts.opener;
  const functions = { create, list, changePassphrase, remove, users, sweep, removeAll };
  return { ...bindParts(parts, functions), find, withUnlocked, prove, recallId, close };
}

function kidFromSeed(seed: string): string {
  return createHash('sha256').update(`key ${seed}`).digest('base64url').slice(0, 22);
}

/** A passphrase as `POST /v1/key` generates it. */
export async function generatePassphrase({
  crypto,
}: {
  readonly crypto: Pick<Crypto, 'makePassphrase'>;
}): Promise<SecretBytes> {
  return encodeSecret(await crypto.makePassphrase({ length: GENERATED_LENGTH }));
}

/** Creates the key; one that the same request made before it was interrupted counts as made now. */
async function createOnce(
  { crypto, keyStore, opener }: KeyParts,
  ctx: AccountContext,
  user: string,
  passphrase: SecretBytes,
  { kid, summary }: Pick<KeyHandle, 'kid' | 'summary'>,
): Promise<void> {
  const { account } = ctx;
  const record = await crypto.createKey({ key: { aid: account.aid, user, kid }, summary, passphrase });
  if (await keyStore.create(account.aid, user, record)) {
    return;
  }
  if ((await opener.find(account, user)).kid !== kid) {
    throw new VaultError('key_exists', { field: 'body.user' });
  }
  await opener.prove(ctx, user, passphrase);
}

/** Says of a key that is not there where the request names it, which elsewhere is the query. */
export async function namedInBody<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const isMissing = error instanceof VaultError && error.code === 'key_not_found';
    throw isMissing ? new VaultError('key_not_found', { field: 'body.user' }) : error;
  }
}

/**
 * Creates a key, with a generated passphrase when none is given. Rejects with `key_exists`, and with
 * `idempotency_passphrase_required` when a passphrase is to be generated for a request with an Idempotency-Key.
 */
async function create(
  parts: KeyParts,
  ctx: AccountContext,
  input: {
    readonly user: string;
    readonly passphrase?: SecretBytes | undefined;
    readonly summary?: boolean | undefined;
  },
): Promise<Repeatable<NewPassphrase>> {
  const { keyStore, opener, metering, idempotency, randomId } = parts;
  const { account, idempotencyKey } = ctx;
  const { user, passphrase, summary = false } = input;
  if (idempotencyKey === undefined) {
    const chosen = passphrase ?? (await generatePassphrase(parts));
    if (await keyStore.read(account.aid, user)) {
      throw new VaultError('key_exists', { field: 'body.user' });
    }
    await createOnce(parts, ctx, user, chosen, { kid: randomId(), summary });
    metering.count(ctx, 'key');
    return { reply: { user, passphrase: decodeSecret(chosen) }, replayed: false };
  }
  if (!passphrase) {
    throw new VaultError('idempotency_passphrase_required', { field: 'body.passphrase' });
  }
  const request = { key: idempotencyKey, route: 'POST /v1/key', parts: summary ? [user, 'summary'] : [user] };
  const { replayed } = await idempotency.run(ctx, request, async (seed) => {
    await createOnce(parts, ctx, user, passphrase, { kid: kidFromSeed(seed), summary });
    metering.count(ctx, 'key');
    return { user };
  });
  if (replayed) {
    // The kept reply has no passphrase: the repeat shows that it knows it.
    await namedInBody(opener.prove(ctx, user, passphrase));
  }
  return { reply: { user, passphrase: decodeSecret(passphrase) }, replayed };
}

/** Identifiers in order that the caller may use, beginning behind `after`; a negative `limit` is none. */
async function users(
  { keyStore, opener }: KeyParts,
  { aid, credential }: Pick<Account, 'aid' | 'credential'>,
  after: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  if (credential?.keys === undefined) {
    return keyStore.users(aid, after, limit);
  }
  const behind = [...credential.keys].filter((user) => after === undefined || user > after).sort();
  const found = await Promise.all(
    behind.map((user) => recover(opener.find({ aid }, user), 'key_not_found', undefined)),
  );
  return behind.filter((_, i) => found[i] !== undefined).slice(0, limit < 0 ? undefined : limit);
}

/** A page of the account's keys in the order of their identifiers. Rejects with `cursor_invalid`. */
async function list(
  parts: KeyParts,
  ctx: AccountContext,
  input: { readonly limit?: number | undefined; readonly next_token?: string | undefined },
): Promise<{ readonly keys: readonly Key[]; readonly nextToken?: string | undefined }> {
  const { metering, cursors } = parts;
  const { aid, preferences } = ctx.account;
  const limit = preferredLimit(preferences, input.limit, LIST_LIMIT);
  const scope = [aid, 'GET /v1/key'];
  const after = input.next_token === undefined ? undefined : String(cursors.verify(scope, input.next_token));
  // One more than asked for shows whether there is a next page.
  const found = await users(parts, ctx.account, after, limit < 0 ? -1 : limit + 1);
  const page = limit < 0 ? found : found.slice(0, limit);
  const last = page.at(-1);
  metering.count(ctx, 'key');
  return {
    keys: page.map((user) => ({ user })),
    ...(found.length > page.length && last !== undefined ? { nextToken: cursors.sign(scope, last) } : {}),
  };
}

/**
 * Replaces the passphrase of a key, by a generated one when none is given. Rejects with `key_not_found`,
 * `passphrase_wrong`, `too_many_failures`, and `key_changed` when another change came first.
 */
async function changePassphrase(
  parts: KeyParts,
  ctx: AccountContext,
  input: {
    readonly user: string;
    readonly passphrase: SecretBytes;
    readonly new_passphrase?: SecretBytes | undefined;
  },
): Promise<NewPassphrase> {
  const { crypto, opener, metering } = parts;
  const key = await namedInBody(opener.find(ctx.account, input.user));
  const to = input.new_passphrase ?? (await generatePassphrase(parts));
  metering.count(ctx, 'key');
  const from = input.passphrase;
  await renewKey(parts, ctx, key, (read) =>
    opener.guarded(ctx, read.key, from, () => crypto.changePassphrase({ ...read, from, to })),
  );
  return { user: input.user, passphrase: decodeSecret(to) };
}

/** Deletes what a deleted key leaves behind. */
async function purge(parts: KeyParts, aid: string, kid: string): Promise<void> {
  const { endpointStore, keyStore, jobStore, dequeue } = parts;
  await endpointStore.removeAll(aid, kid);
  for await (const ids of jobStore.removeOfKey(aid, kid)) {
    // Without its job an entry of the queue is an id that means nothing, and ends when it is due.
    await Promise.all(ids.map((id) => dequeue(`${aid}.${id}`).catch(() => undefined)));
  }
  await keyStore.purge(aid, kid);
}

/** Closes the key's buckets and deletes the record. Nothing that began before is stored afterwards. */
async function removeRecord(
  { crypto, keyStore }: KeyParts,
  { aid, user, kid, record }: KeyHandle,
  safe: boolean,
  deletion: string,
): Promise<'ok' | 'changed' | keyof typeof NOT_REMOVED> {
  const closed = await keyStore.close(kid, deletion);
  if (closed.kind === 'busy') {
    return 'busy';
  }
  if (safe && closed.items > 0) {
    return 'not_empty';
  }
  const proof = await crypto.proveKeyRemoval({ params: { aid, kid } });
  return keyStore.remove({ aid, user, kid, read: record, actBefore: closed.actBefore, proof });
}

async function removeKey(parts: KeyParts, key: KeyHandle, safe: boolean): Promise<void> {
  const { keyStore, opener, randomId } = parts;
  await withSameKey(parts, key, async (target) => {
    const deletion = randomId();
    const removed = await removeRecord(parts, target, safe, deletion);
    if (removed === 'ok') {
      opener.forget(target);
      await purge(parts, target.aid, target.kid);
      return true;
    }
    await keyStore.reopen(target.kid, deletion);
    if (removed !== 'changed') {
      throw new VaultError(NOT_REMOVED[removed]);
    }
    return undefined;
  });
}

/**
 * Deletes a key with its data and endpoints. Rejects with `key_not_found`, with `key_changed`, and with `key_not_empty`
 * when it is to be `safe` and the key has data.
 */
async function remove(
  parts: KeyParts,
  ctx: AccountContext,
  { user, safe }: { readonly user: string; readonly safe: boolean },
): Promise<void> {
  await removeKey(parts, await parts.opener.find(ctx.account, user), safe);
  parts.metering.count(ctx, 'key');
}

/** Finishes changes and deletions of an account's keys that were interrupted behind their records. */
async function sweep(parts: KeyParts, aid: string): Promise<void> {
  const { keyStore, opener } = parts;
  for (const { kid, gen } of await keyStore.changesLeft(aid)) {
    await opener.finishChange({ aid, kid, gen });
  }
  for (const kid of await keyStore.purgesLeft(aid)) {
    await purge(parts, aid, kid);
  }
}

/** Deletes all keys of an account with their data and endpoints. */
async function removeAll(parts: KeyParts, aid: string): Promise<void> {
  await sweep(parts, aid);
  for (const user of await parts.keyStore.users(aid, undefined, -1)) {
    await removeKey(parts, await parts.opener.find({ aid }, user), false);
  }
}
