/** Seals items: the choice of a token, and the parts that the store writes. */
import { VaultError } from '../../../server/core/errors.ts';
import { findNumber } from '../../../server/domain/card/number.ts';
import { splitSad } from '../../../server/domain/card/sad.ts';
import { isTestCard } from '../../../server/domain/card/test-cards.ts';
import { formatToken, isClashProne, parseAlgorithm } from '../../../server/domain/card/token-format.ts';
import type { JsonObject } from '../../../server/domain/json/json.ts';
import { type ItemOwner, sealItem } from '../../crypto/item/item.ts';
import { identityTag, tokenDigest } from '../../crypto/item/lookup.ts';
import { EMPTY, IntegrityError } from '../../crypto/primitives/bytes.ts';
import { randomUuid } from '../../crypto/primitives/random.ts';
import type { ThreadContext } from '../context.ts';
import type { KeyName } from '../key/jobs.ts';
import type { ActorParams, CardFacts, StoredParts, StoreParams } from './jobs.ts';
import { logEntry, NO_TAIL, referenceMember } from './records.ts';
import { cardFacts } from './view.ts';

/** Skipped candidates in a row that cannot happen by chance (each is skipped with less than 3% probability). */
const CANDIDATES_MAX = 64;

/** A token, with the number of the candidate that it was, and its identity tag (may be empty). */
export interface ChosenToken {
  readonly token: string;
  readonly candidate: number;
  readonly identity: Uint8Array;
}

/** Whom an item is sealed to, and what makes its token; an empty `tokenKey` makes random tokens only. */
export type ItemWriter = ItemOwner & { readonly tokenKey: Uint8Array };

interface SealRequest {
  readonly params: KeyName & ActorParams & { readonly seen: number; readonly reference?: string | undefined };
  readonly owner: ItemOwner;
  readonly object: JsonObject;
  readonly chosen: ChosenToken;
  readonly sadExpiresAt: number;
  readonly tail: Uint8Array;
  readonly card?: CardFacts | undefined;
}

function chooseToken(tokenKey: Uint8Array, number: string, params: StoreParams): ChosenToken {
  const parsed = parseAlgorithm(params.algorithm);
  if (!parsed) {
    throw new VaultError('invalid_request', { field: 'query.algorithm' });
  }
  if (parsed.kind === 'uuid') {
    return { token: params.uuid ?? randomUuid(), candidate: 0, identity: EMPTY };
  }
  // Without a token key the tokens could be guessed by anybody.
  if (tokenKey.length === 0) {
    throw new IntegrityError('key');
  }
  for (let candidate = params.candidate; candidate < params.candidate + CANDIDATES_MAX; candidate++) {
    const token = formatToken(parsed, number, tokenDigest(tokenKey, number, params.reference, candidate));
    if (token !== undefined) {
      const identity = isClashProne(parsed, number) ? identityTag(tokenKey, number, params.reference) : EMPTY;
      return { token, candidate, identity };
    }
  }
  throw new VaultError('internal');
}

/** Seals an item with its log entry. */
export function sealStored(context: ThreadContext, request: SealRequest): StoredParts {
  const { params, owner, object, chosen, sadExpiresAt, card } = request;
  const { part0, part1 } = splitSad(object);
  const { aid, kid, reference } = params;
  const sealed = sealItem({
    env: context.env,
    aid,
    kid,
    token: chosen.token,
    reference,
    owner,
    part0,
    part1: part1 && { bytes: part1, expiresAtMs: sadExpiresAt },
    sealer: context.sealer,
  });
  return {
    kind: 'stored',
    facts: {
      token: chosen.token,
      candidate: chosen.candidate,
      gen: sealed.gen,
      sadExpiresAt: part1 ? sadExpiresAt : 0,
      card,
      reference,
    },
    item: sealed.item,
    meta: sealed.meta,
    sad: sealed.sad ?? EMPTY,
    refMember: referenceMember(context, aid, reference, chosen.token),
    logEntry: logEntry(context, params, chosen.token, 'encrypt', request.tail),
    identity: chosen.identity,
  };
}

/** Checks what is to be stored, gives it its token and seals it. */
export function sealNew(
  context: ThreadContext,
  params: StoreParams,
  object: JsonObject,
  writer: ItemWriter,
): StoredParts {
  const number = findNumber(object, params.number);
  if (number === undefined) {
    throw new VaultError('number_missing');
  }
  if (params.refuseTestCards && isTestCard(number)) {
    throw new VaultError('test_card');
  }
  return sealStored(context, {
    params,
    owner: writer,
    object,
    chosen: chooseToken(writer.tokenKey, number, params),
    sadExpiresAt: params.sadExpiresAt,
    tail: NO_TAIL,
    card: params.wantsCard ? cardFacts(number) : undefined,
  });
}
