import { cardBrand } from '../../server/domain/card/brand.ts';
import { onlyDigits } from '../../server/domain/card/digits.ts';
import { binOf, findNumber } from '../../server/domain/card/number.ts';
import { joinSad, splitSad } from '../../server/domain/card/sad.ts';
import { isTestCard } from '../../server/domain/card/test-cards.ts';
import { formatToken, isClashProne, parseAlgorithm } from '../../server/domain/card/token-format.ts';
import { encodeJson } from '../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../server/domain/json/json.ts';
import { maskFields, maskForced } from '../../server/domain/mask/mask.ts';
import { formatStoredAt } from '../../server/domain/text/time-text.ts';
import { type ItemOwner, type OpenedMeta, openItem, openMeta, sealItem } from '../crypto/item/item.ts';
import { encodeReferenceEnd } from '../crypto/item/ref-index.ts';
import { identityTag, tokenDigest } from '../crypto/item/token.ts';
import type { UnlockedKey } from '../crypto/key/vault-key.ts';
import { type LogEntry, openLogEntry, sealLogEntry, tagOf } from '../crypto/log/entry.ts';
import { concat, equalBytes, IntegrityError } from '../crypto/primitives/bytes.ts';
import { randomUuid } from '../crypto/primitives/random.ts';
import {
  EMPTY,
  type Fields,
  field,
  type Handler,
  JobFailure,
  paramsOf,
  type ThreadContext,
  toBytes,
  toJsonBytes,
} from './context.ts';
import { withKey } from './keys.ts';
import type {
  ActorParams,
  CardFacts,
  DescribeItemParams,
  KeyParams,
  OpenParams,
  ReadLogParams,
  SealLogParams,
  StoredFacts,
  StoreParams,
  ViewParams,
} from './kinds.ts';
import { applyRules } from './rules.ts';

/** Redis expires sensitive authentication data by its own clock, which may be this much ahead of ours. */
const CLOCK_SKEW_MS = 5_000;
const NO_TAIL = new Uint8Array(16);
/** Skipped candidates in a row that cannot happen by chance (each is skipped with less than 3% probability). */
const CANDIDATES_MAX = 64;

interface ChosenToken {
  readonly token: string;
  readonly candidate: number;
  readonly identity: Uint8Array;
}

function chooseToken(tokenKey: Uint8Array, number: string, params: StoreParams): ChosenToken {
  const parsed = parseAlgorithm(params.algorithm);
  if (!parsed) {
    throw new JobFailure('invalid_request', 'query.algorithm');
  }
  if (parsed.kind === 'uuid') {
    return { token: params.uuid ?? randomUuid(), candidate: 0, identity: EMPTY };
  }
  // Whoever has no token key would make tokens that anybody can guess.
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
  throw new JobFailure('internal');
}

/** What may be said of a card without its number. */
function cardFacts(number: string | undefined): CardFacts | undefined {
  if (number === undefined) {
    return undefined;
  }
  const bin = binOf(number);
  const brand = cardBrand(number);
  return bin === undefined && brand === undefined
    ? undefined
    : {
        ...(bin === undefined ? {} : { bin, issuerDigits: onlyDigits(number).slice(0, 8) }),
        ...(brand === undefined ? {} : { brand }),
      };
}

/** The reference's index member: encoded reference, token, and the token's length in two bytes. */
export function referenceMember(
  context: ThreadContext,
  aid: string,
  reference: string | undefined,
  token: string,
): Uint8Array {
  if (reference === undefined) {
    return EMPTY;
  }
  const tokenBytes = toBytes(token);
  const encoded = encodeReferenceEnd(context.rootKey('ref-index', aid), reference);
  return concat([encoded, tokenBytes, new Uint8Array([tokenBytes.length >> 8, tokenBytes.length & 0xff])]);
}

export function logEntry(
  context: ThreadContext,
  params: KeyParams & ActorParams & { readonly seen: number },
  token: string,
  action: 'encrypt' | 'decrypt',
  tail: Uint8Array,
): Uint8Array {
  const ids = { env: context.env, aid: params.aid, kid: params.kid, token };
  return sealLogEntry(context.sealer, ids, {
    seenLength: params.seen,
    seenTag: params.seen === 0 ? NO_TAIL : tail,
    timeMs: params.now,
    action,
    source: params.source,
    ip: params.ip,
    userAgent: params.ua,
  });
}

interface SealRequest {
  readonly params: KeyParams &
    ActorParams & { readonly seen: number; readonly reference?: string | undefined };
  readonly owner: ItemOwner;
  readonly object: JsonObject;
  readonly chosen: ChosenToken;
  readonly sadExpiresAt: number;
  readonly tail: Uint8Array;
  readonly card?: CardFacts | undefined;
}

/** Seals an item with its log entry; the fields of the reply are those of StoredParts. */
export function sealStored(context: ThreadContext, request: SealRequest): Uint8Array[] {
  const { params, owner, object, chosen, sadExpiresAt, card } = request;
  const { part0, part1 } = splitSad(object);
  const { aid, kid, reference } = params;
  const sealed = sealItem({
    env: context.env,
    aid,
    kid,
    token: chosen.token,
    ...(reference === undefined ? {} : { reference }),
    owner,
    part0,
    ...(part1 ? { part1: { bytes: part1, expiresAtMs: sadExpiresAt } } : {}),
    sealer: context.sealer,
  });
  const facts: StoredFacts = {
    token: chosen.token,
    candidate: chosen.candidate,
    gen: sealed.gen,
    sadExpiresAt: part1 ? sadExpiresAt : 0,
    card,
    reference,
  };
  return [
    toJsonBytes(facts),
    sealed.item,
    sealed.meta,
    sealed.sad ?? EMPTY,
    referenceMember(context, aid, reference, chosen.token),
    logEntry(context, params, chosen.token, 'encrypt', request.tail),
    chosen.identity,
  ];
}

/** Checks what is to be stored, gives it its token and seals it. */
export function sealNew(
  context: ThreadContext,
  params: StoreParams,
  object: JsonObject,
  writer: { readonly owner: ItemOwner; readonly tokenKey: Uint8Array },
): Uint8Array[] {
  const number = findNumber(object, params.number);
  if (number === undefined) {
    throw new JobFailure('number_missing');
  }
  if (params.refuseTestCards && isTestCard(number)) {
    throw new JobFailure('test_card');
  }
  return sealStored(context, {
    params,
    owner: writer.owner,
    object,
    chosen: chooseToken(writer.tokenKey, number, params),
    sadExpiresAt: params.sadExpiresAt,
    tail: NO_TAIL,
    card: params.wantsCard ? cardFacts(number) : undefined,
  });
}

export const storeItem: Handler = (context, fields) => {
  const params = paramsOf<StoreParams>(fields);
  return withKey(context, params, fields, (key) =>
    sealNew(context, params, parseStoredObject(field(fields, 3)), { owner: key, tokenKey: key.tokenKey }),
  );
};

/** A given reference must be the item's; a missing one is refused when the item has one. */
export function checkReference(meta: OpenedMeta, given: string | undefined, rule: 'check' | 'lookup'): void {
  if (given === undefined) {
    if (meta.reference !== undefined && rule === 'check') {
      throw new JobFailure('reference_required');
    }
    return;
  }
  if (meta.reference === undefined || !equalBytes(toBytes(meta.reference), toBytes(given))) {
    throw new JobFailure('token_not_found');
  }
}

export interface SealedItem {
  readonly item: Uint8Array;
  readonly meta: OpenedMeta;
  readonly sad: Uint8Array;
}

/** The exact JSON text that was stored, with sensitive authentication data in its place while it is kept. */
export function openText(
  context: ThreadContext,
  ids: KeyParams,
  token: string,
  key: UnlockedKey,
  sealed: SealedItem,
  now: number,
): Uint8Array {
  const { part0, part1 } = openItem({
    env: context.env,
    aid: ids.aid,
    kid: ids.kid,
    token,
    key,
    item: sealed.item,
    meta: sealed.meta,
    ...(sealed.sad.length > 0 ? { sad: sealed.sad, nowMs: now } : { nowMs: now + CLOCK_SKEW_MS }),
  });
  return part1 ? joinSad(part0, part1) : part0;
}

const CARD_METADATA = 'card_metadata';

/**
 * What a reader sees of a stored text: forced masks, then rules, then the fields named; and card facts when they
 * are wanted. Without any of it the stored text goes out as it is.
 */
export function viewOf(
  context: ThreadContext,
  text: Uint8Array,
  view: ViewParams & KeyParams,
  rules: Uint8Array,
): { readonly text: Uint8Array; readonly card?: CardFacts | undefined } {
  const hasRules = view.rules.length > 0;
  if (!view.forcedMask && view.maskFields.length === 0 && !view.wantsCard && !hasRules) {
    return { text };
  }
  let object = parseStoredObject(text);
  const card = view.wantsCard ? cardFacts(findNumber(object)) : undefined;
  if (view.forcedMask) {
    object = maskForced(object);
  }
  if (hasRules) {
    object = applyRules(context, view, rules, object);
  }
  if (view.maskFields.length > 0) {
    object = maskFields(object, view.maskFields);
  }
  if (card?.bin !== undefined) {
    object.delete(CARD_METADATA);
  }
  return { text: encodeJson(object), card };
}

/** An item's metadata, opened under its place. */
export const metaOf = (
  context: ThreadContext,
  ids: KeyParams,
  token: string,
  record: Uint8Array,
): OpenedMeta => openMeta(context.sealer, { env: context.env, aid: ids.aid, kid: ids.kid, token }, record);

export const openOne: Handler = (context, fields) => {
  const params = paramsOf<OpenParams>(fields);
  return withKey(context, params, fields, (key) => {
    const meta = metaOf(context, params, params.token, field(fields, 5));
    checkReference(meta, params.reference, 'check');
    const sealed = { item: field(fields, 4), meta, sad: field(fields, 6) };
    const stored = openText(context, params, params.token, key, sealed, params.now);
    const { text, card } = viewOf(context, stored, params, field(fields, 3));
    const entry = logEntry(context, params, params.token, 'decrypt', field(fields, 7));
    return [text, entry, toJsonBytes(card ?? {})];
  });
};

export const describeItem: Handler = (context, fields) => {
  const params = paramsOf<DescribeItemParams>(fields);
  const meta = metaOf(context, params, params.token, field(fields, 1));
  checkReference(meta, params.reference, params.rule);
  return [referenceMember(context, params.aid, meta.reference, params.token)];
};

export const sealLog: Handler = (context, fields) => {
  const params = paramsOf<SealLogParams>(fields);
  return [logEntry(context, params, params.token, params.action, field(fields, 1))];
};

/**
 * Whether a part of a log, newest first, is not what was written: an entry stands there twice, or does not
 * name what lies before it, because somebody moved or replaced one.
 */
function isBroken(entries: readonly LogEntry[], records: Fields, newest: number): boolean {
  const tags = new Set(records.map((record) => Buffer.from(tagOf(record)).toString('base64')));
  if (tags.size < records.length) {
    return true;
  }
  return entries.some(({ seenLength, seenTag }, i) => {
    const position = newest - i;
    const named = seenLength === 0 ? undefined : records[newest - seenLength];
    return seenLength >= position || (named !== undefined && !equalBytes(seenTag, tagOf(named)));
  });
}

export const readLog: Handler = (context, fields) => {
  const { aid, kid, token, newest } = paramsOf<ReadLogParams>(fields);
  const ids = { env: context.env, aid, kid, token };
  const records = fields.slice(1);
  const entries = records.map((record) => openLogEntry(context.sealer, ids, record));
  if (isBroken(entries, records, newest)) {
    throw new IntegrityError('log');
  }
  const shown = entries.map((entry) => ({
    action: entry.action,
    source: entry.source,
    ip_address: entry.ip,
    user_agent: entry.userAgent,
    timestamp: formatStoredAt(entry.timeMs),
  }));
  return [toJsonBytes(shown)];
};
