import type { KeyName } from '../../workers/jobs/key/jobs.ts';
import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import type { BatchHead, SentFacts, ShownLogEntry, StoreOptions } from '../../workers/jobs/vault/jobs.ts';
import type { Clock } from '../core/clock.ts';
import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { type Done, type KeyOpener, provenMissing, type Retry, type Unlocked } from '../key/opener.ts';
import { type Account, type AccountContext, actorOf } from '../request/context.ts';
import type { Idempotency, IdempotentRequest, Repeatable } from '../request/idempotency.ts';
import type { Metering } from '../request/metering.ts';
import { sightOf } from '../request/permission.ts';
import type { Rules } from '../rule/rules.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { type ItemAddress, type ItemReader, type View, viewOf } from './reader.ts';
import type { Rejections } from './rejections.ts';
import type { ItemRemover } from './remover.ts';
import type { TokenInfo } from './schema.ts';
import type { ItemStore } from './store/items.ts';
import type { ItemWriter, Replaced } from './writer.ts';

const LOG_STEP = 1_000;
/** Attempts while others delete the item and store it anew. */
const LOG_TRIES_MAX = 10;
/** Entries of a log, without a limit of the request or the account. */
const LOG_LIMIT = 1_024;

export interface StoreInput extends StoreOptions, BatchHead {
  readonly algorithm?: string | undefined;
  readonly passphrase: SecretBytes;
  /** The JSON text as sent, not yet parsed. */
  readonly body: Uint8Array;
}

interface UpdateInput extends ItemAddress, SentFacts {
  readonly return_fingerprint: boolean;
  readonly passphrase: SecretBytes;
  readonly rules: readonly string[];
  readonly body: Uint8Array;
}

interface LogInput extends ItemAddress {
  readonly limit?: number | undefined;
  readonly next_token?: string | undefined;
}

type UpdateJob = Parameters<Crypto['updateItem']>[0];

/** Stores, reads, changes and removes single items. */
export class Vault {
  constructor(
    private readonly items: ItemStore,
    private readonly crypto: Crypto,
    private readonly metering: Metering,
    private readonly idempotency: Idempotency,
    private readonly keys: KeyOpener,
    private readonly rules: Rules,
    private readonly writer: ItemWriter,
    private readonly reader: ItemReader,
    private readonly remover: ItemRemover,
    private readonly rejections: Rejections,
    private readonly cursors: Cursors,
    private readonly now: Clock,
  ) {}

  /** Stores an item, or replaces the one with the same number and reference. */
  async store(ctx: AccountContext, input: StoreInput): Promise<Repeatable<TokenInfo>> {
    const { account, idempotencyKey } = ctx;
    const { preferences } = account;
    const { user, passphrase, body, number, reference, algorithm, return_card_metadata } = input;
    const { return_fingerprint, ttl, metadata } = input;
    const act = (seed?: string): Promise<TokenInfo> =>
      this.keys.withUnlocked(ctx, user, passphrase, (key, blob) => {
        const request = {
          number,
          reference,
          algorithm: algorithm ?? preferences.default_algorithm,
          wantsCard: return_card_metadata ?? preferences.return_card_metadata,
          wantsFingerprint: return_fingerprint,
          ttl,
          metadata,
          seed,
          operation: 'store',
        } as const;
        return this.writer.storeUnder(ctx, key, request, (params) =>
          this.crypto.storeItem({ params, blob, passphrase, body }),
        );
      });
    if (idempotencyKey === undefined) {
      return { reply: await act(), replayed: false };
    }
    const { key } = await this.keys.prove(ctx, user, passphrase);
    const facts = [return_fingerprint, ttl, metadata];
    // A key that was deleted and created again under the same name has another id.
    const wanted = [key.kid, number, reference, algorithm, return_card_metadata, ...facts, body];
    return this.once(ctx, { key: idempotencyKey, route: 'POST /v1/vault', parts: wanted }, act);
  }

  /** Returns the stored object as JSON bytes. */
  async decrypt(
    ctx: AccountContext,
    input: ItemAddress & View & { readonly passphrase: SecretBytes },
  ): Promise<Uint8Array> {
    const { user, token, reference, passphrase } = input;
    try {
      const view = await viewOf(this.rules, ctx.account, input);
      const opened = await this.keys.withUnlocked(ctx, user, passphrase, async (key, blob) => {
        const opening = { kind: 'warm', blob, secret: passphrase } as const;
        const request = { token, reference, view, operation: 'decrypt' } as const;
        const read = await this.reader.openOne(ctx, key, opening, request);
        const isMissing = read.kind === 'done' && read.value === undefined;
        return isMissing ? provenMissing(this.crypto, key, blob, passphrase) : read;
      });
      if (opened === undefined) {
        throw new VaultError('token_not_found');
      }
      return opened;
    } catch (error) {
      this.rejections.record(ctx, input, 'decrypt', error);
      throw error;
    }
  }

  /** Merges changes into an item. Rejects as `ItemWriter.untilWritten` does. */
  async update(ctx: AccountContext, input: UpdateInput): Promise<Repeatable<TokenInfo>> {
    const { account, idempotencyKey } = ctx;
    const { user, token, reference, passphrase, body, ttl, metadata, return_fingerprint } = input;
    const act = async (seed?: string): Promise<TokenInfo> => {
      const applied = await this.rules.find(account.aid, input.rules, 'query.rules');
      const updateUnlocked = () =>
        this.keys.withUnlocked(ctx, user, passphrase, (key, blob) =>
          this.updateOnce(ctx, input, { key, blob }, applied, seed),
        );
      return this.writer.untilWritten(account.aid, user, token, updateUnlocked);
    };
    try {
      if (idempotencyKey === undefined) {
        return { reply: await act(), replayed: false };
      }
      const { key } = await this.keys.prove(ctx, user, passphrase);
      const facts = [ttl, metadata, return_fingerprint];
      const wanted = [key.kid, token, reference, input.rules.join(), ...facts, body];
      if (input.ifMatch !== undefined) {
        wanted.push(input.ifMatch);
      }
      const request = { key: idempotencyKey, route: 'POST /v1/vault/update', parts: wanted };
      return await this.once(ctx, request, act);
    } catch (error) {
      this.rejections.record(ctx, input, 'encrypt', error);
      throw error;
    }
  }

  /** Deletes an item with its log. */
  async remove(ctx: AccountContext, input: ItemAddress): Promise<void> {
    try {
      const [outcome] = await this.remover.remove(ctx, input.user, [input], this.now());
      if (outcome !== undefined && outcome !== 'removed') {
        throw new VaultError(outcome);
      }
    } catch (error) {
      this.rejections.record(ctx, input, 'encrypt', error);
      throw error;
    }
  }

  /** Returns the entries of an item's log, newest first, including rejected attempts that this server has answered. */
  async log(
    ctx: AccountContext,
    input: LogInput,
  ): Promise<{ readonly entries: readonly ShownLogEntry[]; readonly nextToken?: string | undefined }> {
    await this.rejections.settle(ctx.account.aid);
    const key = await this.keys.find(ctx.account, input.user);
    for (let tries = 0; tries < LOG_TRIES_MAX; tries++) {
      const page = await this.logOnce(ctx.account, key, input);
      if (page !== undefined) {
        this.metering.count(ctx, 'log');
        return page;
      }
    }
    throw new VaultError('overloaded');
  }

  /** Reads a page of a log; undefined if the item was deleted or stored anew meanwhile. */
  private async logOnce(account: Account, { aid, kid }: KeyName, input: LogInput) {
    const { token, next_token } = input;
    // The log outlives the expiry of its item.
    const trace = await this.items.readTrace(kid, token);
    if (trace === undefined) {
      throw new VaultError('token_not_found');
    }
    const { meta, end } = trace;
    const named = { aid, kid, token, rule: 'check', reference: input.reference } as const;
    await this.crypto.describeItem({ params: named, meta });
    const scope = [aid, 'GET /v1/vault/metadata', kid, token];
    // The item may have been deleted and stored again since the cursor was made: then its log is shorter.
    const asked = next_token === undefined ? end.logLength : Number(this.cursors.verify(scope, next_token));
    const from = Math.min(asked, end.logLength);
    const limit = input.limit ?? account.preferences.default_limit ?? LOG_LIMIT;
    const to = limit < 0 ? 1 : Math.max(1, from - limit + 1);
    const entries: ShownLogEntry[] = [];
    for (let newest = from; newest >= to; newest -= LOG_STEP) {
      const oldest = Math.max(to, newest - LOG_STEP + 1);
      const sealed = await this.items.readLog(kid, token, end, [newest, oldest]);
      if (sealed === undefined) {
        return undefined;
      }
      const params = { aid, kid, token, newest, account: account.name };
      entries.push(...(await this.crypto.readLog({ params, entries: sealed })));
    }
    return { entries, ...(to > 1 ? { nextToken: this.cursors.sign(scope, to - 1) } : {}) };
  }

  /** Runs a request once; the kept reply has the version of the item as well. */
  private async once(
    ctx: AccountContext,
    request: IdempotentRequest,
    act: (seed: string) => Promise<TokenInfo>,
  ): Promise<Repeatable<TokenInfo>> {
    const actAndKeep = async (seed: string) => ({ ...(await act(seed)), version: ctx.version });
    const { reply, replayed } = await this.idempotency.run(ctx, request, actAndKeep);
    const { version, ...info } = reply;
    ctx.version = version;
    return { reply: info, replayed };
  }

  /** Attempts an update; undefined if the item does not exist. */
  private async updateOnce(
    ctx: AccountContext,
    input: UpdateInput,
    { key, blob }: Unlocked,
    applied: RuleSet,
    seed: string | undefined,
  ): Promise<Done<Replaced | undefined> | Retry> {
    const { token, reference, ifMatch, ttl, metadata } = input;
    const opening = { kind: 'warm', blob, secret: input.passphrase } as const;
    const updated = await this.reader.readAndOpen(key, token, async (item) => {
      const params = {
        ...actorOf(ctx, this.now()),
        ...{ aid: key.aid, kid: key.kid, token, reference, ifMatch, ttl, metadata },
        wantsSummary: key.summary,
        wantsFingerprint: input.return_fingerprint,
        seen: item.logLength,
        sadExpiresAt: this.writer.sadExpiry(),
        bytesMax: BODY_BYTES.item,
        forcedMask: sightOf(ctx.account) !== 'all',
      };
      const job = { params, opening, rules: applied, item, changes: input.body };
      const sealed = await this.sealUpdate(job, seed);
      if (sealed.kind === 'warm_miss') {
        return sealed;
      }
      return this.writer.writeOver(ctx, 'update', key, item, sealed, seed);
    });
    const isMissing = updated.kind === 'done' && updated.value === undefined;
    return isMissing ? provenMissing(this.crypto, key, blob, input.passphrase) : updated;
  }

  /** Seals a changed item. A write of the same seed, whose reply was lost, has moved the version itself: it is no other's. */
  private async sealUpdate(job: UpdateJob, seed: string | undefined): ReturnType<Crypto['updateItem']> {
    const { params } = job;
    try {
      return await this.crypto.updateItem(job);
    } catch (error) {
      const isMismatch = error instanceof VaultError && error.code === 'version_mismatch';
      if (isMismatch && seed !== undefined && (await this.items.hasSeed(params.kid, params.token, seed))) {
        return this.crypto.updateItem({ ...job, params: { ...params, ifMatch: undefined } });
      }
      throw error;
    }
  }
}
