import { VaultError } from '../../../server/core/errors.ts';
import { onlyDigits } from '../../../server/domain/card/digits.ts';
import { findNumber, mergeFirstLevel } from '../../../server/domain/card/number.ts';
import { joinSad, type SplitObject, splitSad } from '../../../server/domain/card/sad.ts';
import { isTestCard } from '../../../server/domain/card/test-cards.ts';
import {
  formatToken,
  isClashProne,
  isMadeFrom,
  keptAlgorithm,
  parseAlgorithm,
} from '../../../server/domain/card/token-format.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import {
  type JsonObject,
  type JsonValue,
  parseJson,
  parseStoredObject,
} from '../../../server/domain/json/json.ts';
import { type ItemMetadata, readMetadata } from '../../../server/domain/mask/metadata.ts';
import { type CardSummary, cardSummary } from '../../../server/domain/reply/stored-card.ts';
import { DURATION_EXPECTED, endOf } from '../../../server/domain/text/time.ts';
import type { ItemOwner } from '../../crypto/item/envelope.ts';
import {
  isOlder,
  isPatched,
  openItem,
  openPatched,
  type SealedItem,
  sealItem,
} from '../../crypto/item/item.ts';
import {
  encodeReference,
  fingerprintOf,
  identityTag,
  lastFourDigest,
  metadataDigest,
  tokenDigest,
} from '../../crypto/item/lookup.ts';
import { type OpenedMeta, openMeta, versionOf } from '../../crypto/item/meta.ts';
import type { UnlockedKey } from '../../crypto/key/unlocked.ts';
import { sealLogEntry } from '../../crypto/log/entry.ts';
import type { LogOutcome } from '../../crypto/log/outcome.ts';
import { concat, EMPTY, equalBytes, IntegrityError, utf8, wipe } from '../../crypto/primitives/bytes.ts';
import { formatUuid, randomBytes, UUID_BYTES } from '../../crypto/primitives/random.ts';
import { sha256 } from '../../crypto/primitives/symmetric.ts';
import { parseOwn, type ThreadContext } from '../context.ts';
import type { KeyName } from '../key/jobs.ts';
import type {
  ActorParams,
  ItemFacts,
  ResealParams,
  Seen,
  SentFacts,
  StoredParts,
  StoreParams,
  UpdateParams,
} from './jobs.ts';
import { cardFacts } from './view.ts';

/** Redis expires sensitive authentication data by its own clock, which may be this much ahead of ours. */
const CLOCK_SKEW_MS = 5_000;

/** The predecessor that the first entry of a log names. */
const NO_TAIL = new Uint8Array(16);
/** Bytes before an entry that is given to the store. */
const NAMED_BYTES = 4 + NO_TAIL.length;

/** Opens an item's metadata under its place. Throws an `IntegrityError` for damage and any other item's. */
export function metaOf(
  { sealer, env }: ThreadContext,
  { aid, kid }: KeyName,
  token: string,
  record: Uint8Array,
): OpenedMeta {
  return openMeta(sealer, { env, aid, kid, token }, record);
}

/** Returns true if an item has expired. */
export function isOver({ expiresAtMs }: OpenedMeta, now: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= now;
}

/** Rejects an expired item, as one that does not exist. */
export function checkLive(meta: OpenedMeta, now: number): void {
  if (isOver(meta, now)) {
    throw new VaultError('token_not_found');
  }
}

/** Opens metadata as `metaOf`; `token_not_found` for an item that does not exist, whose record is empty. */
export function foundMeta(
  context: ThreadContext,
  key: KeyName,
  token: string,
  record: Uint8Array,
): OpenedMeta {
  if (record.length === 0) {
    throw new VaultError('token_not_found');
  }
  return metaOf(context, key, token, record);
}

/** Rejects a reference that is not the item's, and a missing one if the item has one. */
export function checkReference(meta: OpenedMeta, given: string | undefined, rule: 'check' | 'lookup'): void {
  if (given === undefined) {
    if (meta.reference !== undefined && rule === 'check') {
      throw new VaultError('reference_required');
    }
    return;
  }
  if (meta.reference === undefined || !equalBytes(utf8(meta.reference), utf8(given))) {
    throw new VaultError('token_not_found');
  }
}

/** Rejects another version of an item's data than its caller names. */
export function checkVersion(meta: OpenedMeta, wanted: string | null | undefined): void {
  if (wanted != null && versionOf(meta).toHex() !== wanted) {
    throw new VaultError('version_mismatch');
  }
}

/** Returns the reference's member of the index: encoded reference, token, and the token's length in two bytes. */
export function referenceMember(
  context: ThreadContext,
  aid: string,
  reference: string | undefined,
  token: string,
): Uint8Array {
  if (reference === undefined) {
    return EMPTY;
  }
  const end = utf8(token);
  return concat([
    encodeReference(context.rootKey('ref-index', aid), reference, true),
    end,
    Uint8Array.of(end.length >> 8, end.length),
  ]);
}

/** Returns the entries of an item in the metadata index: a digest for each member, and one for its last four digits. */
export function metadataDigests(
  context: ThreadContext,
  aid: string,
  metadata: ItemMetadata | undefined,
  lastFour: string | undefined,
): Uint8Array {
  if (metadata === undefined && lastFour === undefined) {
    return EMPTY;
  }
  const subkey = context.rootKey('metadata-index', aid);
  const members = Object.entries(metadata ?? {}).map(([name, text]) => metadataDigest(subkey, name, text));
  return concat(lastFour === undefined ? members : [...members, lastFourDigest(subkey, lastFour)]);
}

/** Returns the entries of an item in the metadata index, by its opened metadata. */
export function indexDigests(context: ThreadContext, aid: string, meta: OpenedMeta): Uint8Array {
  return metadataDigests(context, aid, metadataOf(meta), summaryOf(meta)?.last_four);
}

/** Returns the metadata that an item was stored with. */
export function metadataOf({ metadata }: OpenedMeta): ItemMetadata | undefined {
  return metadata === undefined ? undefined : parseOwn(utf8(metadata));
}

/** Returns the summary of the card that an item was stored with. */
export function summaryOf({ summary }: OpenedMeta): CardSummary | undefined {
  return summary === undefined ? undefined : parseOwn(utf8(summary));
}

/** Makes the error of an invalid parameter. */
export function invalidAt(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

/**
 * Parses the facts that were sent: undefined if not sent, `null` if removed. `invalid_request` and `metadata_sensitive` at
 * `query.ttl` and `query.metadata`.
 */
function readFacts({ ttl, metadata: text, now }: SentFacts & ActorParams): {
  readonly expiresAt?: number | null | undefined;
  readonly metadata?: ItemMetadata | null | undefined;
} {
  const expiresAt = ttl === undefined ? undefined : endOf(ttl, now);
  if (ttl !== undefined && expiresAt === undefined) {
    throw invalidAt('query.ttl', DURATION_EXPECTED);
  }
  if (text === undefined) {
    return { expiresAt };
  }
  const field = 'query.metadata';
  let value: JsonValue;
  try {
    value = parseJson(utf8(text));
  } catch {
    throw invalidAt(field, 'must be the JSON text of an object');
  }
  return { expiresAt, metadata: readMetadata(value, field) ?? null };
}

/** Returns an item's sensitive authentication data as it was read, and the time that decides its expiry. */
export function sadAt(sad: Uint8Array, now: number): { readonly sad?: Uint8Array; readonly nowMs: number } {
  return sad.length > 0 ? { sad, nowMs: now } : { nowMs: now + CLOCK_SKEW_MS };
}

function joined({ part0, part1 }: SplitObject): Uint8Array {
  return part1 ? joinSad(part0, part1) : part0;
}

/** Parses the object of a layer, whose bytes are wiped. */
function takeObject(layer: SplitObject): JsonObject {
  const text = joined(layer);
  try {
    return parseStoredObject(text);
  } finally {
    wipe(text, layer.part0, layer.part1);
  }
}

/**
 * Returns the exact JSON text that was stored, with sensitive authentication data in its place while it is kept. The text
 * of an item with patches is encoded again. `sad` may be empty.
 */
export function openText(
  { env }: ThreadContext,
  { aid, kid }: KeyName,
  token: string,
  key: UnlockedKey,
  { item, meta, sad }: { readonly item: Uint8Array; readonly meta: OpenedMeta; readonly sad: Uint8Array },
  now: number,
): Uint8Array {
  const request = { env, aid, kid, token, key, item, meta, ...sadAt(sad, now) };
  if (!isPatched(item)) {
    return joined(openItem(request));
  }
  return encodeJson(openPatched(request).map(takeObject).reduce(mergeFirstLevel));
}

/** Returns true if an item has a summary where its key has none, or none where its key has them. */
export function differsInSummary({ summary }: OpenedMeta, wantsSummary: boolean): boolean {
  return (summary !== undefined) !== wantsSummary;
}

/** An item that was sealed again, with its entries of the metadata index. */
type ResealedItem = SealedItem & { readonly digests: Uint8Array };

/**
 * Seals an item under the newest generation of its key, with the data that it has, and with a summary if its key has them;
 * undefined if it is like that. Patches are merged.
 */
export function resealStored(
  context: ThreadContext,
  { aid, kid, now, wantsSummary }: ResealParams,
  token: string,
  key: UnlockedKey,
  gen: number,
  { item, meta, sad }: { readonly item: Uint8Array; readonly meta: OpenedMeta; readonly sad: Uint8Array },
): ResealedItem | undefined {
  if (!isOlder(item, gen) && !differsInSummary(meta, wantsSummary)) {
    return undefined;
  }
  const { env, sealer } = context;
  const request = { env, aid, kid, token, key, item, meta, ...sadAt(sad, now) };
  const { part0, part1 } = isPatched(item)
    ? splitSad(openPatched(request).map(takeObject).reduce(mergeFirstLevel))
    : openItem(request);
  const { reference, expiresAtMs, metadata } = meta;
  try {
    // A summary that is there may have a number that is not in the data.
    const card = wantsSummary ? (summaryOf(meta) ?? cardSummary(parseStoredObject(part0))) : undefined;
    const sealed = sealItem({
      ...{ env, aid, kid, token, reference, expiresAtMs, metadata, owner: key, part0, sealer },
      summary: card && JSON.stringify(card),
      part1: part1 && { bytes: part1, expiresAtMs: meta.sad?.expiresAtMs ?? 0 },
      version: versionOf(meta),
    });
    return { ...sealed, digests: metadataDigests(context, aid, metadataOf(meta), card?.last_four) };
  } finally {
    wipe(part0, part1);
  }
}

/**
 * Seals an entry of an item's action log. `tail`: the last 16 bytes of the newest entry that was seen. The entry is preceded
 * by the number and tail that it names, for the store to compare: `entries seen 4, little-endian | tail 16`.
 */
export function logEntry(
  { env, sealer }: ThreadContext,
  params: KeyName & ActorParams & Seen,
  token: string,
  action: 'encrypt' | 'decrypt',
  tail: Uint8Array,
  outcome: LogOutcome = 'ok',
): Uint8Array {
  const { aid, kid, seen, source, ip, userAgent, requestId } = params;
  const seenTag = seen === 0 ? NO_TAIL : tail;
  if (seenTag.length !== NO_TAIL.length) {
    throw new IntegrityError('log');
  }
  const entry = sealLogEntry(
    sealer,
    { env, aid, kid, token },
    {
      seenLength: seen,
      seenTag,
      timeMs: params.now,
      action,
      source,
      outcome,
      ip,
      userAgent,
      endpoint: params.endpointId ?? '',
      credential: params.credentialId ?? '',
      credentialName: params.credentialName ?? '',
      requestId,
    },
  );
  const out = new Uint8Array(NAMED_BYTES + entry.length);
  out[0] = seen;
  out[1] = seen >>> 8;
  out[2] = seen >>> 16;
  out[3] = seen >>> 24;
  out.set(seenTag, 4);
  out.set(entry, NAMED_BYTES);
  return out;
}

/** The owner that an item is sealed to, and the key of its token; an empty `tokenKey` makes random tokens only. */
export type SealingKey = ItemOwner & { readonly tokenKey: Uint8Array };

/** Skipped candidates in a row that cannot happen randomly (each is skipped with less than 3% probability). */
const CANDIDATES_MAX = 64;

/** A token, with the number of the candidate that it was, and its identity tag (may be empty). */
interface ChosenToken {
  readonly token: string;
  readonly candidate: number;
  readonly identity: Uint8Array;
}

/** Returns a random token, or the same one for the same seed. */
function uuidOf(seed: string | undefined): string {
  return formatUuid(
    seed === undefined ? randomBytes(UUID_BYTES) : sha256(utf8(`token ${seed}`)).subarray(0, UUID_BYTES),
  );
}

/** Chooses the token of a number. A token that another vault made is kept, such that no token of this vault takes its place. */
function chooseToken(tokenKey: Uint8Array, number: string, params: StoreParams): ChosenToken {
  const { token: kept, reference, seed } = params;
  const algorithm = kept === undefined ? parseAlgorithm(params.algorithm) : keptAlgorithm(kept, number);
  if (algorithm === undefined) {
    throw kept === undefined
      ? invalidAt('query.algorithm', 'must be a format of tokens')
      : invalidAt('query.token', 'must have the form of a token that a vault makes of this number');
  }
  const identityOf = () =>
    isClashProne(algorithm, number) ? identityTag(tokenKey, number, reference) : EMPTY;
  if (kept !== undefined) {
    return { token: kept, candidate: 0, identity: identityOf() };
  }
  if (algorithm.kind === 'uuid') {
    return { token: uuidOf(seed), candidate: 0, identity: EMPTY };
  }
  // Without a token key the tokens could be guessed.
  if (tokenKey.length === 0) {
    throw new IntegrityError('key');
  }
  for (let candidate = params.candidate; candidate < params.candidate + CANDIDATES_MAX; candidate++) {
    const token = formatToken(algorithm, number, tokenDigest(tokenKey, number, reference, candidate));
    if (token !== undefined) {
      return { token, candidate, identity: identityOf() };
    }
  }
  throw new VaultError('internal');
}

/**
 * Tells whether a token was made of a number, as it is or of its digits alone. No number fits a random token, or one that
 * another vault has made.
 */
export function isTokenOf(
  tokenKey: Uint8Array,
  token: string,
  number: string,
  reference: string | undefined,
): boolean {
  for (const text of new Set([number, onlyDigits(number)])) {
    for (let candidate = 0; candidate < CANDIDATES_MAX; candidate++) {
      if (isMadeFrom(token, text, tokenDigest(tokenKey, text, reference, candidate))) {
        return true;
      }
    }
  }
  return false;
}

interface SealRequest {
  readonly params: KeyName & ActorParams & Seen & { readonly reference?: string | undefined };
  readonly facts: ItemFacts;
  readonly summary: CardSummary | undefined;
  readonly owner: ItemOwner;
  readonly object: JsonObject;
  readonly chosen: ChosenToken;
  readonly sadExpiresAt: number;
  readonly tail: Uint8Array;
  /** The version of the data, if this write does not change it. */
  readonly version?: Uint8Array | undefined;
}

/** Seals an item with its log entry. */
export function sealStored(context: ThreadContext, request: SealRequest): StoredParts {
  const { params, facts, summary, owner, object, sadExpiresAt } = request;
  const { part0, part1 } = splitSad(object);
  const { aid, kid, reference } = params;
  const { token, candidate, identity } = request.chosen;
  const { gen, item, meta, sad, version } = sealItem({
    env: context.env,
    aid,
    kid,
    token,
    reference,
    expiresAtMs: facts.expiresAt,
    metadata: facts.metadata && JSON.stringify(facts.metadata),
    summary: summary && JSON.stringify(summary),
    owner,
    part0,
    part1: part1 && { bytes: part1, expiresAtMs: sadExpiresAt },
    sealer: context.sealer,
    version: request.version,
  });
  return {
    kind: 'stored',
    facts: {
      token,
      candidate,
      gen,
      reference,
      card: facts.card,
      expiresAt: facts.expiresAt,
      metadata: facts.metadata,
      fingerprint: facts.fingerprint,
      sadExpiresAt: part1 ? sadExpiresAt : 0,
      version: version.toHex(),
    },
    item,
    meta,
    sad: sad ?? EMPTY,
    refMember: referenceMember(context, aid, reference, token),
    logEntry: logEntry(context, params, token, 'encrypt', request.tail),
    identity,
    digests: metadataDigests(context, aid, facts.metadata, summary?.last_four),
  };
}

/** Returns the fingerprint of a number as text. */
function fingerprintText(tokenKey: Uint8Array, number: string): string {
  return Buffer.from(fingerprintOf(tokenKey, number)).toString('hex');
}

/** Checks a new item, chooses its token and seals it. */
export function sealNew(
  context: ThreadContext,
  params: StoreParams,
  object: JsonObject,
  writer: SealingKey,
): StoredParts {
  const number = findNumber(object, params.number);
  if (number === undefined) {
    throw new VaultError('number_missing');
  }
  if (params.rejectTestCards && isTestCard(number)) {
    throw new VaultError('test_card');
  }
  const { expiresAt = params.expiresAt, metadata } = readFacts(params);
  const { tokenKey } = writer;
  return sealStored(context, {
    params,
    facts: {
      expiresAt: expiresAt ?? undefined,
      metadata: metadata ?? undefined,
      fingerprint: params.wantsFingerprint ? fingerprintText(tokenKey, number) : undefined,
      card: params.wantsCard ? cardFacts(number) : undefined,
    },
    summary: params.wantsSummary ? cardSummary(object, params.number) : undefined,
    owner: writer,
    object,
    chosen: chooseToken(tokenKey, number, params),
    sadExpiresAt: params.sadExpiresAt,
    tail: NO_TAIL,
  });
}

/** Returns the facts of an updated item, those that were sent, else its former ones, and its summary, if it has one. */
export function updatedFacts(
  params: UpdateParams,
  meta: OpenedMeta,
  object: JsonObject,
  { tokenKey }: SealingKey,
) {
  const { expiresAt, metadata } = readFacts(params);
  const number = params.wantsFingerprint ? findNumber(object) : undefined;
  const facts = {
    fingerprint: number === undefined ? undefined : fingerprintText(tokenKey, number),
    expiresAt: (expiresAt === undefined ? meta.expiresAtMs : expiresAt) ?? undefined,
    metadata: (metadata === undefined ? metadataOf(meta) : metadata) ?? undefined,
  };
  if (!params.wantsSummary) {
    return { facts, summary: undefined };
  }
  // The former summary alone has a number that was not sent in the data.
  return { facts, summary: { ...summaryOf(meta), ...cardSummary(object) } };
}
