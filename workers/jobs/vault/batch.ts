/** Handlers of the jobs on batches, documented in `jobs.ts`. */
import { VaultError } from '../../../server/core/errors.ts';
import { isFloating, NUMBER_NAMES, numberText } from '../../../server/domain/card/number.ts';
import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  parseJson,
  parseStoredObject,
  splitList,
  splitObject,
} from '../../../server/domain/json/json.ts';
import { isIdentifier } from '../../../server/domain/text/identifiers.ts';
import { DURATION_MS_MAX, parseFilterTime } from '../../../server/domain/text/time.ts';
import { unknownName } from '../../../server/domain/text/unknown-name.ts';
import { EMPTY } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadContext, type ThreadHandlers } from '../context.ts';
import { toFailure } from '../failure.ts';
import { openWarmKey, WARM_MISS } from '../key/open.ts';
import {
  type BATCH_JOBS,
  type BatchFacts,
  type BatchHead,
  type ItemFailure,
  STORED_STRINGS,
  type StoredParts,
  type StoreItemsParams,
  type StoreParams,
} from './jobs.ts';
import { createPacking, endString, packed, writeBytes } from './page.ts';
import { invalidAt, type SealingKey, sealNew } from './records.ts';

const KEY_NAMES = ['key', 'user'];
const HEAD_NAMES = [...KEY_NAMES, 'items', 'return_fingerprint', 'return_card_metadata'];
const ITEM_NAMES = ['data', 'number', 'reference', 'algorithm', 'ttl', 'metadata'];
/** Members of a line of an export; `stored_at` and `card` are ignored, since the vault makes them again. */
const LINE_NAMES = [...ITEM_NAMES, 'token', 'stored_at', 'expires_at', 'card'];
const REFERENCE_MAX = 255;
/** Bytes of an item besides its content. */
const STRINGS_BYTES = 768;

type Members = ReadonlyMap<string, Uint8Array>;

function refuseUnknown(place: string, members: Members, known: readonly string[]): void {
  for (const name of members.keys()) {
    if (!known.includes(name)) {
      throw unknownName(place, name, known);
    }
  }
}

/** The name of the key, and its place. Both names are accepted if they are equal, as in other bodies. */
function keyOf(members: Members): Pick<BatchHead, 'user' | 'field'> {
  const sent = KEY_NAMES.flatMap((name) => {
    const text = members.get(name);
    return text === undefined ? [] : [{ field: `body.${name}`, value: parseJson(text) }];
  });
  const [first = { field: 'body.user', value: null }, second = first] = sent;
  const { field, value: user } = first;
  if (typeof user !== 'string' || !isIdentifier(user)) {
    throw invalidAt(field, 'must be the identifier of a key');
  }
  if (second.value !== user) {
    throw new VaultError('conflicting_parameters', { field });
  }
  return { user, field };
}

function flagOf(members: Members, name: string): boolean | undefined {
  const text = members.get(name);
  const value = text === undefined ? null : parseJson(text);
  if (value !== null && typeof value !== 'boolean') {
    throw invalidAt(`body.${name}`, 'must be `true` or `false`');
  }
  return value ?? undefined;
}

/** Parses a text of an item; a missing one and null are the same. */
function textOf(members: Members, name: string): string | undefined {
  const text = members.get(name);
  const value = text === undefined ? null : parseJson(text);
  if (value !== null && typeof value !== 'string') {
    throw invalidAt(`query.${name}`, 'must be a text');
  }
  return value ?? undefined;
}

function referenceOf(members: Members): string | undefined {
  const reference = textOf(members, 'reference');
  if (
    reference !== undefined &&
    (reference === '' || reference.length > REFERENCE_MAX || !reference.isWellFormed())
  ) {
    throw invalidAt('query.reference', 'must have 1 to 255 characters');
  }
  return reference;
}

/** The number of an item, with the same conditions as one in its data; null counts as omitted. */
function numberOf(value: JsonValue): string | undefined {
  if (value !== null && typeof value !== 'string' && !(value instanceof JsonNumber)) {
    throw invalidAt('query.number', 'must be a text or an integer');
  }
  return numberText(value);
}

/** Parses the expiry of an item of an export. */
function expiryOf(members: Members, now: number): number | undefined {
  const text = textOf(members, 'expires_at');
  const at = text === undefined ? undefined : parseFilterTime(text);
  if (text !== undefined && (at === undefined || at <= now || at > now + DURATION_MS_MAX)) {
    throw invalidAt('query.expires_at', 'must be a time in the future, at most ten years ahead');
  }
  return at;
}

/** Rejects a number in floating notation. */
function refuseFloating(value: JsonValue | undefined, place: string): void {
  const text = value instanceof JsonNumber ? value.text : value;
  if (typeof text === 'string' && isFloating(text)) {
    throw invalidAt(
      place,
      'must have all its digits, without a point or an exponent: it may have been rounded',
    );
  }
}

/** Parses the data of an item. Numbers in floating notation are errors of an imported item. */
function dataOf(text: Uint8Array, isImported: boolean): JsonObject {
  const data = parseStoredObject(text);
  for (const name of isImported ? NUMBER_NAMES : []) {
    refuseFloating(data.get(name), `body.${name}`);
  }
  return data;
}

/** Returns the error of an item of a batch, from that of a single item. Throws an unexpected one. */
function failureOf(error: unknown, item: number): ItemFailure {
  const { code, field, expected } = toFailure(error);
  if (code === 'internal') {
    throw error;
  }
  const place = field?.replace(
    /^(?:query|body|)/,
    (part) => `body.items[${item}]${part === 'body' ? '.data' : ''}`,
  );
  return { failed: code, field: place, expected };
}

/** The parameters of all items, one after the other: a copy for each would take a tenth of a batch's time. */
type OwnParams = { -readonly [Name in keyof StoreParams]: StoreParams[Name] };

function sealOne(
  context: ThreadContext,
  params: StoreItemsParams,
  text: Uint8Array,
  index: number,
  key: SealingKey,
  own: OwnParams,
): StoredParts & { readonly facts: BatchFacts } {
  const { imported } = params;
  if (imported) {
    // A batch was read as a whole; a line is read here for the first time.
    parseJson(text);
  }
  const members = splitObject(text);
  if (members === undefined) {
    throw invalidAt('query', 'must be an object');
  }
  const data = members.get('data');
  if (data === undefined) {
    throw invalidAt('query.data', 'is missing');
  }
  if (params.refuseUnknown) {
    refuseUnknown('query', members, imported ? LINE_NAMES : ITEM_NAMES);
  }
  if (data.length > params.bytesMax) {
    throw new VaultError('body_too_large');
  }
  const [numberMember, metadata] = [members.get('number'), members.get('metadata')];
  const number = numberMember && parseJson(numberMember);
  if (imported) {
    refuseFloating(number, 'query.number');
  }
  own.token = imported?.keepsTokens ? textOf(members, 'token') : undefined;
  own.expiresAt = imported && expiryOf(members, params.now);
  own.number = number === undefined ? undefined : numberOf(number);
  own.reference = referenceOf(members);
  own.algorithm = textOf(members, 'algorithm') ?? params.algorithm;
  own.ttl = textOf(members, 'ttl');
  own.metadata = metadata && Buffer.from(metadata).toString('utf8');
  own.seed = params.seeds?.[index];
  const sealed = sealNew(context, own, dataOf(data, imported !== undefined), key);
  return own.token === undefined ? sealed : { ...sealed, facts: { ...sealed.facts, isKept: true } };
}

export const BATCH_HANDLERS: ThreadHandlers<typeof BATCH_JOBS> = {
  splitBatch(_, { params, body }) {
    try {
      parseOwn(body);
    } catch {
      throw new VaultError('invalid_json');
    }
    const members = splitObject(body);
    if (members === undefined) {
      throw invalidAt('body', 'must be a JSON object');
    }
    if (params.refuseUnknown) {
      refuseUnknown('body', members, HEAD_NAMES);
    }
    const key = keyOf(members);
    const items = splitList(members.get('items') ?? EMPTY, params.itemsMax);
    if (items === undefined || items.length === 0) {
      throw invalidAt('body.items', `must be a list of 1 to ${params.itemsMax} items`);
    }
    const card = flagOf(members, 'return_card_metadata');
    const head = { ...key, return_fingerprint: flagOf(members, 'return_fingerprint') ?? false };
    return { head: card === undefined ? head : { ...head, return_card_metadata: card }, items };
  },

  storeItems(context, { params, blob, passphrase, items }) {
    const key = openWarmKey(context, params, blob, passphrase);
    if (!key) {
      return WARM_MISS;
    }
    const bytes = items.reduce((sum, { length }) => sum + length, 0);
    const parts = createPacking(STORED_STRINGS * items.length, 2 * bytes + STRINGS_BYTES * items.length);
    const own: OwnParams = { ...params, seen: 0 };
    const facts = items.map((text, i): BatchFacts | ItemFailure => {
      try {
        const sealed = sealOne(context, params, text, i, key, own);
        const { item, meta, sad, refMember, logEntry, identity, digests } = sealed;
        for (const string of [item, meta, sad, refMember, logEntry, identity, digests]) {
          writeBytes(parts, string);
          endString(parts);
        }
        return sealed.facts;
      } catch (error) {
        for (let n = 0; n < STORED_STRINGS; n++) {
          endString(parts);
        }
        return failureOf(error, params.places[i] ?? i);
      }
    });
    return { kind: 'stored', facts, parts: packed(parts) };
  },
};
