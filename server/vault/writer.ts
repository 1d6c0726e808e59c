import type {
  CardFacts,
  SentFacts,
  StoredFacts,
  StoredParts,
  StoreParams,
} from '../../workers/jobs/vault/jobs.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { formatExpiry, formatStoredAt } from '../domain/text/time.ts';
import { type Done, done, type KeyRef, type Retry } from '../key/opener.ts';
import { type AccountContext, actorOf, confirmAccount } from '../request/context.ts';
import type { CardMetadataSource } from './card-metadata.ts';
import type { TokenInfo } from './schema.ts';
import type { ItemStore, ItemWrite, WriteOutcome } from './store/items.ts';

/** More clashes in a row than random tokens can have. */
export const CANDIDATES_MAX = 1_000;

/** Attempts to write an item while other requests change its log. */
export const LOGS_MAX = 40;

/** Options of a store request. */
export interface StoreOptions extends SentFacts {
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata?: boolean | undefined;
  readonly return_fingerprint?: boolean | undefined;
}

/** One store request under an open key. */
export interface StoreRequest extends StoreOptions {
  /** Of an idempotent request; choices that are otherwise random follow from it. */
  readonly seed: string | undefined;
  /** Rejects an item that is stored already with `token_exists`. */
  readonly keeps?: boolean | undefined;
  /** Called when the item is sealed, right before each attempt to write it: the request is valid. */
  readonly onSealed?: () => void;
}

type SealedItem = Extract<Awaited<ReturnType<Crypto['storeItem']>>, { readonly kind: 'stored' }>;

/** Writes new items, of routes, endpoints and calls to third parties. */
export class ItemWriter {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly cards: CardMetadataSource,
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
    seal: (params: StoreParams) => ReturnType<Crypto['storeItem']>,
  ): Promise<Done<TokenInfo> | Retry> {
    let params = this.firstParams(ctx, key, request);
    for (;;) {
      const sealed = await seal(params);
      if (sealed.kind === 'warm_miss') {
        return sealed;
      }
      await confirmAccount(ctx);
      request.onSealed?.();
      const { facts } = sealed;
      const outcome = await this.writeItem(key.kid, params, sealed, request);
      switch (outcome.kind) {
        case 'ok':
          return done(await this.tokenInfo(facts, key.user, outcome));
        case 'closed':
        case 'stale':
          return outcome;
        case 'clash':
          if (facts.candidate > CANDIDATES_MAX) {
            throw new VaultError('internal');
          }
          params = { ...params, candidate: facts.candidate + 1 };
          continue;
        case 'exists':
          throw new VaultError('overloaded');
        case 'damaged':
          throw new VaultError('integrity_failed');
        default:
          throw new VaultError('internal');
      }
    }
  }

  /** Returns the expiry of verification codes that are stored now, ms since 1970; 0 = never. */
  sadExpiry(): number {
    return this.settings.sadTtlMs === 0 ? 0 : this.now() + this.settings.sadTtlMs;
  }

  /** Describes a stored item for the reply, without a promise for one that has no card metadata. */
  tokenInfo(
    facts: Pick<StoredFacts, 'token' | 'reference' | 'card' | 'expiresAt' | 'metadata' | 'fingerprint'>,
    user: string,
    { storedAt, created }: { readonly storedAt: number; readonly created: boolean },
  ): TokenInfo | Promise<TokenInfo> {
    const { token, reference, card, expiresAt, metadata, fingerprint } = facts;
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

  private firstParams(
    ctx: AccountContext,
    { aid, kid, summary }: KeyRef,
    { number, reference, algorithm = 'full', seed, ...request }: StoreRequest,
  ): StoreParams {
    return {
      ...actorOf(ctx, this.now()),
      aid,
      kid,
      number,
      reference,
      algorithm,
      seed,
      candidate: 0,
      rejectTestCards: this.settings.environment === 'production',
      ttl: request.ttl,
      metadata: request.metadata,
      wantsCard: request.return_card_metadata === true,
      wantsFingerprint: request.return_fingerprint === true,
      wantsSummary: summary,
      sadExpiresAt: this.sadExpiry(),
      seen: 0,
    };
  }

  /** Writes a sealed item; if the same item is stored already, after the entries of its log. */
  private async writeItem(
    kid: string,
    params: StoreParams,
    sealed: SealedItem,
    { seed, keeps }: StoreRequest,
  ): Promise<WriteOutcome> {
    const write = writeOf(sealed, seed);
    const { token } = write;
    let outcome = await this.store.write(kid, write);
    for (let tries = 0; outcome.kind === 'exists' && tries < LOGS_MAX; tries++) {
      if (keeps && outcome.isLive) {
        throw new VaultError('token_exists');
      }
      const { logLength: seen, logTail: tail } = outcome;
      const entry = { ...params, token, action: 'encrypt', outcome: 'ok', seen } as const;
      const logEntry = await this.crypto.sealLog({ params: entry, tail });
      outcome = await this.store.write(kid, { ...write, logEntry });
    }
    return outcome;
  }

  private async withCard(info: TokenInfo, card: CardFacts): Promise<TokenInfo> {
    const card_metadata = await this.cards.of(card);
    return card_metadata === undefined ? info : { ...info, card_metadata };
  }
}

/** Converts a sealed item for the store. */
export function writeOf({ facts, ...parts }: StoredParts, seed: string | undefined): ItemWrite {
  const { token, gen, sadExpiresAt, expiresAt, shared } = facts;
  const { item, meta, sad, refMember, logEntry, identity, digests } = parts;
  return {
    token,
    gen,
    sadExpiresAt,
    expiresAt,
    item,
    meta,
    sad,
    refMember,
    logEntry,
    identity,
    digests,
    seed,
    shared,
  };
}
