import { createHash } from 'node:crypto';
import type { RandomId } from '../core/clock.ts';
import { withRetries } from '../core/concurrency.ts';
import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import { decodeSecret, encodeSecret, type Secret, type SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import type { AccountContext } from '../request/context.ts';
import type { Idempotency, Repeatable } from '../request/idempotency.ts';
import type { Metering } from '../request/metering.ts';
import { requireReveal } from '../request/permission.ts';
import { type KeyDependent, type KeyHandle, type KeyOpener, namedInBody } from './opener.ts';
import type { KeyRecords } from './records.ts';
import type { KeyStore } from './store.ts';

/** A key with its passphrase, shown once. */
export interface NewPassphrase {
  readonly user: string;
  readonly passphrase: Secret<string>;
  /** Whether the key has summaries from now on, if that was sent. */
  readonly summary?: boolean | undefined;
}

const GENERATED_LENGTH = 64;
/** Keys of a page if neither the caller nor the account sets a limit. */
const LIST_LIMIT = 65_536;
/** The error for each reason not to delete a key. */
const NOT_REMOVED = { busy: 'key_changed', not_empty: 'key_not_empty', late: 'store_unavailable' } as const;

/** Manages keys from creation to deletion. A lost passphrase is lost data. */
export class Keys {
  constructor(
    private readonly store: KeyStore,
    private readonly crypto: Crypto,
    private readonly dependents: readonly KeyDependent[],
    private readonly opener: KeyOpener,
    private readonly records: KeyRecords,
    private readonly metering: Metering,
    private readonly idempotency: Idempotency,
    private readonly cursors: Cursors,
    private readonly randomId: RandomId,
  ) {}

  /** Creates a key. Rejects with `key_exists`, or in an idempotent request with `idempotency_passphrase_required`. */
  async create(
    ctx: AccountContext,
    input: {
      readonly user: string;
      readonly passphrase?: SecretBytes | undefined;
      readonly summary?: boolean | undefined;
    },
  ): Promise<Repeatable<NewPassphrase>> {
    const { account, idempotencyKey } = ctx;
    const { user, passphrase, summary = false } = input;
    if (idempotencyKey === undefined) {
      const chosen = passphrase ?? (await generatePassphrase(this.crypto));
      if (await this.store.read(account.aid, user)) {
        throw new VaultError('key_exists', { field: 'body.user' });
      }
      await this.createOnce(ctx, user, chosen, this.randomId(), summary);
      this.metering.count(ctx, 'key');
      return { reply: { user, passphrase: decodeSecret(chosen) }, replayed: false };
    }
    if (!passphrase) {
      throw new VaultError('idempotency_passphrase_required', { field: 'body.passphrase' });
    }
    const request = {
      key: idempotencyKey,
      route: 'POST /v1/key',
      parts: summary ? [user, 'summary'] : [user],
    };
    const { replayed } = await this.idempotency.run(ctx, request, async (seed) => {
      const kid = createHash('sha256').update(`key ${seed}`).digest('base64url').slice(0, 22);
      await this.createOnce(ctx, user, passphrase, kid, summary);
      this.metering.count(ctx, 'key');
      return { user };
    });
    if (replayed) {
      // The stored reply has no passphrase: the repeated request must prove that it knows it.
      await namedInBody(this.opener.prove(ctx, user, passphrase));
    }
    return { reply: { user, passphrase: decodeSecret(passphrase) }, replayed };
  }

  /** Returns a page of the account's keys in the order of their names. Rejects with `cursor_invalid`. */
  async list(
    ctx: AccountContext,
    input: { readonly limit?: number | undefined; readonly next_token?: string | undefined },
  ) {
    const { aid, preferences } = ctx.account;
    const limit = input.limit ?? preferences.default_limit ?? LIST_LIMIT;
    const scope = [aid, 'GET /v1/key'];
    const after =
      input.next_token === undefined ? undefined : String(this.cursors.verify(scope, input.next_token));
    // One key more than the limit shows whether there is a next page.
    const found = await this.opener.users(ctx.account, after, limit < 0 ? -1 : limit + 1);
    const page = limit < 0 ? found : found.slice(0, limit);
    const last = page.at(-1);
    this.metering.count(ctx, 'key');
    const hasNext = found.length > page.length && last !== undefined;
    const nextToken = hasNext ? this.cursors.sign(scope, last) : undefined;
    return { keys: page.map((user) => ({ user })), nextToken };
  }

  /**
   * Changes a passphrase, or with `summary` alone whether the key has summaries. Rejects with `key_not_found`, `passphrase_wrong`,
   * `too_many_failures`, `key_changed`, or with `not_allowed` a caller that may not decide what others see.
   */
  async change(
    ctx: AccountContext,
    input: {
      readonly user: string;
      readonly passphrase: SecretBytes;
      readonly new_passphrase?: SecretBytes | undefined;
      readonly summary?: boolean | undefined;
    },
  ): Promise<NewPassphrase> {
    const { user, passphrase: from, new_passphrase, summary } = input;
    if (summary !== undefined) {
      requireReveal(ctx.account, 'body.summary');
    }
    const key = await namedInBody(this.opener.find(ctx.account, user));
    this.metering.count(ctx, 'key');
    if (summary !== undefined && new_passphrase === undefined) {
      await this.setSummary(ctx, key, from, summary);
      return { user, passphrase: decodeSecret(from), summary };
    }
    const to = new_passphrase ?? (await generatePassphrase(this.crypto));
    await this.records.renew(ctx, key, (read) =>
      this.opener.guarded(ctx.ip, read.key, from, () =>
        this.crypto.changePassphrase({ ...read, from, to, summary }),
      ),
    );
    if (summary !== undefined && summary !== key.summary) {
      await this.moveSummaries(key, summary);
    }
    return { user, passphrase: decodeSecret(to), summary };
  }

  /** Lets a key have summaries, or none. Its passphrase, generation and endpoints stay. */
  private async setSummary(
    ctx: AccountContext,
    key: KeyHandle,
    passphrase: SecretBytes,
    summary: boolean,
  ): Promise<void> {
    await this.records.replace(ctx, key, ({ recovery, ...read }) =>
      this.opener.guarded(ctx.ip, read.key, passphrase, async () => ({
        record: await this.crypto.setSummary({ ...read, passphrase, summary }),
        recovery,
      })),
    );
    this.opener.forget(key);
    await this.moveSummaries(key, summary);
  }

  /** Makes every server read the key again before it stores. What is left undone, the first write that is rejected does. */
  private async moveSummaries({ kid }: KeyHandle, summary: boolean): Promise<void> {
    await withRetries(() => this.store.setSummaries(kid, summary)).catch(() => undefined);
  }

  /** Deletes a key with its data. Rejects with `key_not_found`, `key_changed`, or if `safe` with `key_not_empty`. */
  async remove(
    ctx: AccountContext,
    { user, safe }: { readonly user: string; readonly safe: boolean },
  ): Promise<void> {
    await this.removeKey(await this.opener.find(ctx.account, user), safe);
    this.metering.count(ctx, 'key');
  }

  /** Completes changes and deletions of an account's keys that were interrupted after their records were stored. */
  async sweep(aid: string): Promise<void> {
    for (const { kid, gen } of await this.store.changesLeft(aid)) {
      await this.opener.finishChange(aid, kid, gen);
    }
    for (const kid of await this.store.purgesLeft(aid)) {
      await this.purge(aid, kid);
    }
  }

  /** Deletes all keys of an account with their data and endpoints. */
  async removeAll(aid: string): Promise<void> {
    await this.sweep(aid);
    for (const user of await this.store.users(aid, undefined, -1)) {
      await this.removeKey(await this.opener.find({ aid }, user), false);
    }
  }

  /** Creates the key. A key that the same request created before it was interrupted counts as created now. */
  private async createOnce(
    ctx: AccountContext,
    user: string,
    passphrase: SecretBytes,
    kid: string,
    summary: boolean,
  ): Promise<void> {
    const { aid } = ctx.account;
    const record = await this.crypto.createKey({ key: { aid, user, kid }, summary, passphrase });
    await this.prepare(aid, user, kid, false);
    const outcome = await this.store.create(aid, user, record);
    if (outcome === 'ok') {
      await this.prepare(aid, user, kid, true);
      return;
    }
    if (outcome === 'closed') {
      throw new VaultError('unauthenticated');
    }
    if ((await this.opener.find({ aid }, user)).kid !== kid) {
      throw new VaultError('key_exists', { field: 'body.user' });
    }
    await this.prepare(aid, user, kid, true);
    await this.opener.prove(ctx, user, passphrase);
  }

  private async prepare(aid: string, user: string, kid: string, isCreated: boolean): Promise<void> {
    for (const dependent of this.dependents) {
      await dependent.prepare?.(aid, user, kid, isCreated);
    }
  }

  private async removeKey(key: KeyHandle, safe: boolean): Promise<void> {
    await this.records.withSameKey(key, async (target) => {
      const deletion = this.randomId();
      const removed = await this.removeRecord(target, safe, deletion);
      if (removed === 'ok') {
        this.opener.forget(target);
        await this.purge(target.aid, target.kid);
        return true;
      }
      await this.store.reopen(target.kid, deletion);
      if (removed !== 'changed') {
        throw new VaultError(NOT_REMOVED[removed]);
      }
      return undefined;
    });
  }

  /** Closes the key's buckets and deletes its record. A request that began before then stores nothing afterwards. */
  private async removeRecord({ aid, user, kid, record }: KeyHandle, safe: boolean, deletion: string) {
    const closed = await this.store.close(kid, deletion);
    if (closed.kind === 'busy') {
      return 'busy';
    }
    if (safe && closed.items > 0) {
      return 'not_empty';
    }
    const proof = await this.crypto.proveKeyRemoval({ params: { aid, kid } });
    return this.store.remove({ aid, user, kid, read: record, actBefore: closed.actBefore, proof });
  }

  /** Deletes the data and dependents of a key whose record is deleted. */
  private async purge(aid: string, kid: string): Promise<void> {
    for (const dependent of this.dependents) {
      await dependent.removeOfKey(aid, kid);
    }
    await this.store.purge(aid, kid);
  }
}

export async function generatePassphrase(crypto: Crypto): Promise<SecretBytes> {
  return encodeSecret(await crypto.makePassphrase({ length: GENERATED_LENGTH }));
}
