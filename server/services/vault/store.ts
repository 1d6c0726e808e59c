import { createHash } from 'node:crypto';
import { VaultError } from '../../core/errors.ts';
import type { Crypto, StoredFacts, StoreParams } from '../../crypto/client.ts';
import { formatStoredAt } from '../../domain/text/time-text.ts';
import type { CardMetadata, TokenInfo } from '../../http/schema/vault.ts';
import type { ItemStore } from '../../store/item.ts';
import type { Clock } from '../common/clock.ts';
import { type AccountContext, actorOf } from '../common/request-context.ts';
import type { ServiceSettings } from '../common/settings.ts';
import type { KeyRef, Retry } from '../key/open.ts';
import type { CardMetadataSource } from './card.ts';

/** Clashes in a row that cannot happen by chance. */
const CANDIDATES_MAX = 1_000;

/** A v4 UUID that the same seed gives again. */
function uuidFromSeed(seed: string): string {
  const hex = createHash('sha256').update(`token ${seed}`).digest('hex');
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** What a caller says of an item to be stored, beside the item. */
export interface StoreRequest {
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata: boolean;
  /** Of an idempotent request; choices that are otherwise random follow from it. */
  readonly seed: string | undefined;
  /** Called when the item is sealed, right before each try to write it: nothing of the request is wrong any more. */
  readonly onSealed?: () => void;
}

export interface Storing {
  /** Until when codes that are stored now may be kept, ms; 0 = until they are deleted. */
  readonly sadExpiry: () => number;
  readonly tokenInfo: (
    facts: Pick<StoredFacts, 'token' | 'reference' | 'card'>,
    user: string,
    storedAt: number,
  ) => Promise<TokenInfo>;
  /**
   * Stores until it lands: behind the log entries that are there, and past tokens that mean another number.
   * `seal` makes the item for the parameters it is given.
   */
  readonly storeUnder: (
    ctx: AccountContext,
    key: KeyRef,
    request: StoreRequest,
    seal: (params: StoreParams) => ReturnType<Crypto['storeItem']>,
  ) => Promise<TokenInfo | Retry>;
}

/** How items get into the store, whoever brings them. */
export function createStoring({
  crypto,
  itemStore,
  cards,
  now,
  settings,
}: {
  readonly crypto: Pick<Crypto, 'sealLog'>;
  readonly itemStore: Pick<ItemStore, 'write'>;
  readonly cards: CardMetadataSource;
  readonly now: Clock;
  readonly settings: Pick<ServiceSettings, 'environment' | 'sadTtlMs'>;
}): Storing {
  const sadExpiry = (): number => (settings.sadTtlMs === 0 ? 0 : now() + settings.sadTtlMs);

  const tokenInfo: Storing['tokenInfo'] = async (facts, user, storedAt) => {
    const metadata: CardMetadata | undefined = facts.card && (await cards.of(facts.card));
    return {
      token: facts.token,
      user,
      ...(facts.reference === undefined ? {} : { reference: facts.reference }),
      stored_at: formatStoredAt(storedAt),
      ...(metadata ? { card_metadata: metadata } : {}),
    };
  };

  const firstParams = (ctx: AccountContext, { aid, kid }: KeyRef, request: StoreRequest): StoreParams => ({
    ...actorOf(ctx, now()),
    aid,
    kid,
    number: request.number,
    reference: request.reference,
    algorithm: request.algorithm ?? 'full',
    uuid: request.seed === undefined ? undefined : uuidFromSeed(request.seed),
    candidate: 0,
    refuseTestCards: settings.environment === 'production',
    wantsCard: request.return_card_metadata,
    sadExpiresAt: sadExpiry(),
    seen: 0,
  });

  const storeUnder: Storing['storeUnder'] = async (ctx, key, request, seal) => {
    const { seed } = request;
    let params = firstParams(ctx, key, request);
    for (;;) {
      const sealed = await seal(params);
      if (sealed.kind === 'warm_miss') {
        return sealed;
      }
      request.onSealed?.();
      const { kind: _, facts, ...fields } = sealed;
      const write = { ...fields, token: facts.token, gen: facts.gen, sadExpiresAt: facts.sadExpiresAt, seed };
      let outcome = await itemStore.write(key.kid, { ...write, seen: 0 });
      if (outcome.kind === 'exists') {
        const { logLength: seen, logTail } = outcome;
        const logEntry = await crypto.sealLog({
          params: { ...params, token: facts.token, action: 'encrypt', seen },
          tail: logTail,
        });
        outcome = await itemStore.write(key.kid, { ...write, logEntry, seen });
      }
      switch (outcome.kind) {
        case 'ok':
          return tokenInfo(facts, key.user, outcome.storedAt);
        case 'closed':
        case 'stale':
          return outcome;
        case 'clash':
          if (facts.candidate > CANDIDATES_MAX) {
            throw new VaultError('internal');
          }
          params = { ...params, candidate: facts.candidate + 1 };
          continue;
        default:
          throw new VaultError('internal');
      }
    }
  };

  return { sadExpiry, tokenInfo, storeUnder };
}
