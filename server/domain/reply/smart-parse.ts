import { VaultError } from '../../core/errors.ts';
import { onlyDigits } from '../card/digits.ts';
import { cardRuns } from '../card/runs.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { firstNamed, type NamedPath } from '../json/named.ts';
import { type Charset, decodeText } from '../text/charset.ts';
import { type BodyFormat, bodyFormat, mediaType } from '../text/media-type.ts';
import { type CardOfMany, type FoundCard, findCard } from './cards.ts';
import { formLeaves } from './form.ts';
import { textLeaves } from './free-text.ts';
import { jsonLeaves, replyJson } from './json.ts';
import type { Leaf, Value } from './leaves.ts';
import { looksLikeMultipart, multipartLeaves } from './multipart.ts';
import { Original } from './original.ts';
import { looksLikeTable, tableLeaves } from './table.ts';
import { xmlAt, xmlLeaves } from './xml.ts';

const LOOKS_LIKE_FORM = /^[^\s&=<>{}]+=\S*\s*$/;
/** Documents for people: their text stands between elements that have no names of values. */
const LOOKS_LIKE_HTML = /^(?:<!doctype\s+html|<html)[\s>]/i;
const TABLE = /^(?:text|application)\/(?:x-)?(?:csv|tsv|tab-separated-values)$/;

/** The card that was found in a text. */
export interface SmartParsed {
  /** The format of the template `original_data`. */
  readonly format: BodyFormat;
  /** The object to store: `card_number`, what else was found, and `original_data`. */
  readonly object: JsonObject;
  /** The first value at the given path of the text. */
  readonly named?: JsonValue | undefined;
}

/** The format of a text by its look. */
export function sniff(text: string): BodyFormat {
  const start = text.replace('\ufeff', '').trimStart();
  const first = start.charAt(0);
  if (first === '{' || first === '[') {
    return 'json';
  }
  if (first === '<') {
    return LOOKS_LIKE_HTML.test(start.slice(0, 100)) ? 'text' : 'xml';
  }
  return LOOKS_LIKE_FORM.test(text) ? 'form' : 'text';
}

/** The values of a card besides its number, by the names under which they are stored. */
export function valuesAround({
  cvv,
  month,
  year,
  holder,
}: Omit<CardOfMany, 'numbers'>): readonly (readonly [string, Value | undefined])[] {
  return [
    ['cvv', cvv],
    ['expiry_month', month],
    ['expiry_year', year],
    ['card_holder', holder],
  ];
}

/** The object to store for a card: its values by name, and the original. */
function storedObject(text: string, card: FoundCard): JsonObject {
  const values: readonly (readonly [string, Value | undefined])[] = [
    ['card_number', card.number],
    ...valuesAround(card),
  ];
  const object: JsonObject = new Map();
  const original = new Original(text);
  for (const [name, found] of values) {
    if (found !== undefined) {
      object.set(name, found.value);
      original.tagValue(name, found);
    }
  }
  if (card.joinedHolder !== undefined) {
    object.set('card_holder', card.joinedHolder);
  }
  for (const other of card.otherNumbers) {
    if (other.value === card.number.value) {
      original.tagValue('card_number', other);
    } else {
      original.keepPlace('card_number', other.start, other.end);
    }
  }
  for (const { start, end } of card.otherCodes) {
    original.keepPlace('cvv', start, end);
  }
  original.hideText('card_number', card.number.value);
  const digits = onlyDigits(card.number.value);
  if (digits !== card.number.value) {
    original.hideText('card_number', digits, true);
  }
  original.keepFree('card_number', cardRuns(text));
  object.set('original_data', original.finish());
  if (original.parts.length > 0) {
    object.set('original_parts', original.parts);
  }
  return object;
}

/** The leaves of a text, and the format of a template made of it. */
interface Read {
  readonly format: BodyFormat;
  readonly leaves: readonly Leaf[];
  /** They are the values of a free text. */
  readonly isFree?: true;
}

type Reader = (text: string, charset: Charset) => readonly Leaf[] | undefined;

const READERS: Readonly<Record<Exclude<BodyFormat, 'text'>, Reader>> = {
  json: (text) => jsonLeaves(text),
  xml: (text) => xmlLeaves(text),
  form: (text, charset) => (text.includes('=') ? formLeaves(text, charset) : undefined),
};

/** The error of a text that is not of its format. */
export function unreadable(format: BodyFormat): VaultError {
  return format === 'json'
    ? new VaultError('invalid_json')
    : new VaultError('invalid_request', { field: 'body', expected: 'must be well-formed XML' });
}

/** Reads a text by its Content-Type, or by its look if that names no format with names or does not fit. */
function readLeaves(text: string, contentType: string | undefined, charset: Charset): Read {
  const type = mediaType(contentType);
  if (type === 'multipart/form-data' || looksLikeMultipart(text)) {
    return { format: 'text', leaves: multipartLeaves(text, contentType) };
  }
  const isTable = TABLE.test(type);
  const looks = isTable ? 'text' : sniff(text);
  const declared = bodyFormat(contentType);
  for (const format of new Set([looks, declared ?? looks])) {
    const leaves = format === 'text' ? undefined : READERS[format](text, charset);
    if (leaves !== undefined) {
      return { format, leaves };
    }
  }
  if (declared === looks && (looks === 'json' || looks === 'xml')) {
    throw unreadable(looks);
  }
  return isTable || looksLikeTable(text)
    ? { format: 'text', leaves: tableLeaves(text) }
    : { format: 'text', leaves: textLeaves(text), isFree: true };
}

/** The values of a form or table by the whole name of their field; several values of one name are a list. */
function fieldsOf(leaves: readonly Leaf[]): JsonObject {
  const fields: JsonObject = new Map();
  for (const { field, value } of leaves) {
    if (field !== undefined) {
      const before = fields.get(field);
      fields.set(field, before === undefined ? value : [before, value].flat());
    }
  }
  return fields;
}

/** The first value at a path of a text, by the format that it was read as; free text has none. */
function valueAt({ format, leaves }: Read, text: string, path: NamedPath): JsonValue | undefined {
  switch (format) {
    case 'json': {
      const value = replyJson(text);
      return value === undefined ? undefined : firstNamed(value, path);
    }
    case 'xml':
      return xmlAt(text, path);
    default:
      return firstNamed(fieldsOf(leaves), path);
  }
}

/**
 * Finds a card's number, code, expiry and holder in a text: in JSON and JSON lines, XML, forms and tables by names at
 * any depth, in other text by labels, and without either by Luhn and the ranges of networks. JSON and XML within a value
 * are read as well. Values keep their notation (`12`, `27`, spaces in numbers). In `original_data` they are mustache
 * tags; filled from the object as a body of `format`, it gives the text except for the escaping of the found values.
 * What these tags cannot reproduce is in `original_parts`, a list of objects: numbers and codes of other cards, and
 * braces that would be read as tags.
 *
 * With a `path`, the first value there is told as well, read by the same format.
 *
 * Undefined without a number. Throws `invalid_json`, `json_too_deep` or `invalid_request` for a text that cannot be read
 * as what it is, so that no code in it stays readable, and `track_data_refused`.
 */
export function smartParse(
  text: string,
  contentType?: string,
  charset: Charset = 'utf-8',
  path?: NamedPath,
): SmartParsed | undefined {
  if (!text.isWellFormed()) {
    return undefined;
  }
  const read = readLeaves(text, contentType, charset);
  const card = findCard(read.leaves, text, read.isFree === true ? 'text' : 'outer');
  return (
    card && {
      format: read.format,
      object: storedObject(text, card),
      ...(path === undefined ? {} : { named: valueAt(read, text, path) }),
    }
  );
}

/** Finds the card in a body as {@link smartParse} does. Throws as that and {@link decodeText} do. */
export function smartParseBody(
  body: Uint8Array,
  contentType: string | undefined,
  path?: NamedPath,
): SmartParsed | undefined {
  const { text, charset } = decodeText(body, contentType);
  return smartParse(text, contentType, charset, path);
}
