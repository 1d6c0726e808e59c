import type { CardFacts, StoredFacts, StoredParts, StoreParams } from '../../workers/jobs/vault/jobs.ts';
import { bindParts } from '../core/bind.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { formatExpiry, formatStoredAt } from '../domain/text/time.ts';
import { type Done, done, type KeyRef, type Retry } from '../key/opener.ts';
import { type AccountContext, actorOf, confirmAccount } from '../request/context.ts';
import type { CardMetadataSource } from './card-metadata.ts';
import type { TokenInfo } from './schema.ts';
import type { ItemStore } from './store/items.ts';
import type { ItemWrite, WriteOutcome } from './store/write.ts';

/** More clashes in a row than random tokens can have. */
export const CANDIDATES_MAX = 1_000;

/** How often an item may be deleted and stored by others while it is stored here. */
export const LOGS_MAX = 40;

/** What a caller says of an item to be stored, beside the item. */
export interface StoreRequest {
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata: boolean;
  readonly return_fingerprint?: boolean | undefined;
  readonly ttl?: string | undefined;
  /** JSON text. */
  readonly metadata?: string | undefined;
  /** Of an idempotent request; choices that are otherwise random follow from it. */
  readonly seed: string | undefined;
  /** Whether an item that is stored already is left as it is: `token_exists`. */
  readonly keeps?: boolean | undefined;
  /** Called when the item is sealed, right before each try to write it: nothing of the request is wrong any more. */
  readonly onSealed?: () => void;
}

interface StoringParts {
  readonly crypto: Pick<Crypto, 'sealLog'>;
  readonly itemStore: Pick<ItemStore, 'write'>;
  readonly cards: CardMetadataSource;
  readonly now: Clock;
  readonly settings: Pick<ServiceSettings, 'environment' | 'sadTtlMs'>;
}

/** Until when codes that are stored now may be kept, ms since 1970; 0 = until they are deleted. */
function sadExpiry({ settings, now }: Pick<StoringParts, 'settings' | 'now'>): number {
  return settings.sadTtlMs === 0 ? 0 : now() + settings.sadTtlMs;
}

/** What its caller learns of an item that is stored. */
function tokenInfo(
  { cards }: Pick<StoringParts, 'cards'>,
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
  return card === undefined ? info : withCard(cards, info, card);
}

async function withCard(cards: CardMetadataSource, info: TokenInfo, card: CardFacts): Promise<TokenInfo> {
  const card_metadata = await cards.of(card);
  return card_metadata === undefined ? info : { ...info, card_metadata };
}

function firstParams(
  parts: StoringParts,
  ctx: AccountContext,
  { aid, kid, summary }: KeyRef,
  { number, reference, algorithm = 'full', seed, ...request }: StoreRequest,
): StoreParams {
  return {
    ...actorOf(ctx, parts.now()),
    aid,
    kid,
    number,
    reference,
    algorithm,
    seed,
    candidate: 0,
    rejectTestCards: parts.settings.environment === 'production',
    ttl: request.ttl,
    metadata: request.metadata,
    wantsCard: request.return_card_metadata,
    wantsFingerprint: request.return_fingerprint === true,
    wantsSummary: summary,
    sadExpiresAt: sadExpiry(parts),
    seen: 0,
  };
}

type SealedItem = Extract<Awaited<ReturnType<Crypto['storeItem']>>, { readonly kind: 'stored' }>;

/** A sealed item for the store. */
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

/** Writes a sealed item; where the same item is stored already, behind the entries of its log, as long as that lives. */
async function writeItem(
  { crypto, itemStore }: StoringParts,
  kid: string,
  params: StoreParams,
  sealed: SealedItem,
  { seed, keeps }: Pick<StoreRequest, 'keeps' | 'seed'>,
): Promise<WriteOutcome> {
  const write = writeOf(sealed, seed);
  const { token } = write;
  let outcome = await itemStore.write(kid, write);
  for (let tries = 0; outcome.kind === 'exists' && tries < LOGS_MAX; tries++) {
    if (keeps && outcome.isLive) {
      throw new VaultError('token_exists');
    }
    const { logLength: seen, logTail: tail } = outcome;
    const entry = { ...params, token, action: 'encrypt', outcome: 'ok', seen } as const;
    const logEntry = await crypto.sealLog({ params: entry, tail });
    outcome = await itemStore.write(kid, { ...write, logEntry });
  }
  return outcome;
}

/**
 * Stores until it lands: behind the log entries that are there, and past tokens that mean another number.
 * `seal` makes the item for the parameters it is given.
 */
async function storeUnder(
  parts: StoringParts,
  ctx: AccountContext,
  key: KeyRef,
  request: StoreRequest,
  seal: (params: StoreParams) => ReturnType<Crypto['storeItem']>,
): Promise<Done<TokenInfo> | Retry> {
  let params = firstParams(parts, ctx, key, request);
  for (;;) {
    const sealed = await seal(params);
    if (sealed.kind === 'warm_miss') {
      return sealed;
    }
    await confirmAccount(ctx);
    request.onSealed?.();
    const { facts } = sealed;
    const outcome = await writeItem(parts, key.kid, params, sealed, request);
    switch (outcome.kind) {
      case 'ok':
        return done(await tokenInfo(parts, facts, key.user, outcome));
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

/** How items are stored, through whichever endpoint. */
export function createStoring(parts: StoringParts) {
  return bindParts(parts, { sadExpiry, tokenInfo, storeUnder });
}

export type Storing = ReturnType<typeof createStoring>;
