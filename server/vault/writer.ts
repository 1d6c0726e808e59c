import type { KeyName, WarmMiss } from '../../workers/jobs/key/jobs.ts';
import type {
  ActorParams,
  CardFacts,
  StoredFacts,
  StoredParts,
  StoreOptions,
  StoreParams,
} from '../../workers/jobs/vault/jobs.ts';
import type { Clock } from '../core/clock.ts';
import { createKeyedMutex } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { formatExpiry, formatStoredAt } from '../domain/text/time.ts';
import { type Done, done, type KeyRef, type Retry } from '../key/opener.ts';
import { type AccountContext, actorOf, rejectAbandoned } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { CardMetadataSource } from './card-metadata.ts';
import type { TokenInfo } from './schema.ts';
import type { ItemParts, ItemStore, ItemWrite, LogEnd, WriteOutcome } from './store/items.ts';

/** More clashes in a row than random tokens can have. */
export const CANDIDATES_MAX = 1_000;

/** Attempts to write an item while other requests change its log. */
export const LOGS_MAX = 40;

/** Attempts to change an item while other requests change it. */
export const CHANGED_TRIES_MAX = 20;

/** `changed` when another request has changed the item meanwhile. */
export type Replaced = { readonly kind: 'written'; readonly info: TokenInfo } | { readonly kind: 'changed' };

/** One store request under an open key. */
export interface StoreRequest extends StoreOptions {
  readonly algorithm?: string | undefined;
  readonly wantsCard?: boolean | undefined;
  readonly wantsFingerprint?: boolean | undefined;
  /** Of an idempotent request; choices that are otherwise random follow from it. */
  readonly seed: string | undefined;
  /** Rejects an item that is stored already with `token_exists`. */
  readonly keeps?: boolean | undefined;
  /** The operation that the written item and its request are counted as; undefined for data of a counted call. */
  readonly operation?: 'store' | 'capture';
}

/** Writes items, of routes, endpoints and calls to third parties. */
export class ItemWriter {
  /** Changes of one item run one after the other, so that simultaneous ones do not overtake each other without end. */
  private readonly changes = createKeyedMutex();

  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly cards: CardMetadataSource,
    private readonly metering: Metering,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
  ) {}

  /**
   * Retries until written: after existing log entries, and with the next candidate if a token belongs to another number.
   * `seal` seals the item with the parameters that it is given.
   */
  async storeUnder(
    ctx: AccountContext,
    key: KeyRef,
    request: StoreRequest,
    seal: (params: StoreParams) => Promise<StoredParts | WarmMiss>,
  ): Promise<Done<TokenInfo> | Retry> {
    const { number, reference, seed, ttl, metadata } = request;
    let params: StoreParams = {
      ...this.settingsOf(ctx, key),
      ...{ number, reference, seed, ttl, metadata, seen: 0 },
      algorithm: request.algorithm ?? 'full',
      wantsCard: request.wantsCard === true,
      wantsFingerprint: request.wantsFingerprint === true,
    };
    for (;;) {
      const sealed = await seal(params);
      if (sealed.kind === 'warm_miss') {
        return sealed;
      }
      rejectAbandoned(ctx);
      const { facts } = sealed;
      const write = { ...sealed, ...facts, seed, hasSummaries: key.summary };
      const count = request.operation && this.metering.requestFieldOf(request.operation);
      let outcome = await this.store.write(key.kid, write, count);
      if (outcome.kind === 'exists') {
        outcome = await this.writeAfter(key.kid, params, write, outcome, request.keeps === true, count);
      }
      switch (outcome.kind) {
        case 'ok':
          if (request.operation !== undefined && !outcome.isRepeat) {
            this.metering.requestCounted(ctx, request.operation);
          }
          // Of a repeat the item has the version of the first write, or of a later one.
          ctx.version = outcome.isRepeat ? undefined : facts.version;
          return done(await this.tokenInfo(facts, key.user, outcome));
        case 'closed':
        case 'stale':
          return outcome;
        case 'exists':
          // Other writers were first in all its attempts to write the log entry.
          throw new VaultError('overloaded');
        case 'damaged':
          throw new VaultError('integrity_failed');
        default:
          if (outcome.kind === 'changed' || facts.candidate > CANDIDATES_MAX) {
            throw new VaultError('internal');
          }
          params = { ...params, candidate: facts.candidate + 1 };
      }
    }
  }

  /**
   * Writes an item that was sealed again over the one that was read, and counts the request with its operation. A seed that was
   * written already changes and counts nothing.
   */
  async writeOver(
    ctx: AccountContext,
    operation: 'update' | 'capture',
    { kid, user, summary }: KeyRef,
    before: ItemParts,
    sealed: StoredParts,
    seed: string | undefined,
  ): Promise<Done<Replaced> | Retry> {
    const write = { ...sealed, ...sealed.facts, seed, replaces: before.meta, hasSummaries: summary };
    const outcome = await this.store.write(kid, write, this.metering.requestFieldOf(operation));
    switch (outcome.kind) {
      case 'ok':
        if (!outcome.isRepeat) {
          this.metering.requestCounted(ctx, operation);
        }
        ctx.version = outcome.isRepeat ? undefined : sealed.facts.version;
        return done({ kind: 'written', info: await this.tokenInfo(sealed.facts, user, outcome) });
      case 'closed':
      case 'stale':
        return outcome;
      case 'changed':
        return done({ kind: 'changed' });
      case 'damaged':
        throw new VaultError('integrity_failed');
      default:
        throw new VaultError('internal');
    }
  }

  /**
   * Repeats an attempt while other requests change the item. Rejects with `token_not_found` if it does not exist, and with
   * `overloaded` when it changes faster than it can be read.
   */
  async untilWritten(
    aid: string,
    user: string,
    token: string,
    attempt: () => Promise<Replaced | undefined>,
  ): Promise<TokenInfo> {
    for (let tries = 0; tries < CHANGED_TRIES_MAX; tries++) {
      const result = await this.changes(`${aid} ${user} ${token}`, attempt);
      if (result === undefined) {
        throw new VaultError('token_not_found');
      }
      if (result.kind === 'written') {
        return result.info;
      }
    }
    throw new VaultError('overloaded');
  }

  /** Returns the expiry of verification codes that are stored now, ms since 1970; 0 = never. */
  sadExpiry(): number {
    return this.settings.sadTtlMs === 0 ? 0 : this.now() + this.settings.sadTtlMs;
  }

  /** Describes a stored item for the reply, without a promise for one that has no card metadata. */
  tokenInfo(
    { token, reference, card, expiresAt, metadata, fingerprint }: StoredFacts,
    user: string,
    { storedAt, created }: { readonly storedAt: number; readonly created: boolean },
  ): TokenInfo | Promise<TokenInfo> {
    const stored_at = formatStoredAt(storedAt);
    const info: { -readonly [Name in keyof TokenInfo]: TokenInfo[Name] } =
      reference === undefined
        ? { token, user, stored_at, created }
        : { token, user, reference, stored_at, created };
    if (expiresAt !== undefined) {
      info.expires_at = formatExpiry(expiresAt);
    }
    if (metadata !== undefined) {
      info.metadata = metadata;
    }
    if (fingerprint !== undefined) {
      info.fingerprint = fingerprint;
    }
    return card === undefined ? info : this.withCard(info, card);
  }

  /** Returns the options that all items of a request have. */
  settingsOf(ctx: AccountContext, { aid, kid, summary }: KeyRef) {
    return {
      ...actorOf(ctx, this.now()),
      aid,
      kid,
      candidate: 0,
      rejectTestCards: this.settings.environment === 'production',
      wantsSummary: summary,
      sadExpiresAt: this.sadExpiry(),
    };
  }

  /** Seals the log entry of an item that is stored already. */
  sealEntry(
    params: KeyName & ActorParams,
    token: string,
    { logLength: seen, logTail: tail }: LogEnd,
  ): Promise<Uint8Array> {
    const entry = { ...params, token, action: 'encrypt', outcome: 'ok', seen } as const;
    return this.crypto.sealLog({ params: entry, tail });
  }

  /** Writes an item that is stored already after the entries of its log; with `keeps` rejects with `token_exists`. */
  private async writeAfter(
    kid: string,
    params: StoreParams,
    write: ItemWrite,
    found: WriteOutcome,
    keeps: boolean,
    count: string | undefined,
  ): Promise<WriteOutcome> {
    let outcome = found;
    for (let tries = 0; outcome.kind === 'exists' && tries < LOGS_MAX; tries++) {
      if (keeps && outcome.isLive) {
        throw new VaultError('token_exists');
      }
      const logEntry = await this.sealEntry(params, write.token, outcome);
      outcome = await this.store.write(kid, { ...write, logEntry }, count);
    }
    return outcome;
  }

  private async withCard(info: TokenInfo, card: CardFacts): Promise<TokenInfo> {
    const card_metadata = await this.cards.of(card);
    return card_metadata === undefined ? info : { ...info, card_metadata };
  }
}
