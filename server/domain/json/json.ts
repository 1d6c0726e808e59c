import { VaultError } from '../../core/errors.ts';

/**
 * A JSON number as its literal (`1.10`, `-0`, `1e400`, forty digits), so that stored data is returned exactly. Its
 * creator must have checked the text (`isNumberLiteral`), which is written to JSON unchanged.
 */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A stored JSON value. Never a plain JavaScript object or number; see {@link JsonObject} and {@link JsonNumber}. */
export type JsonValue = string | boolean | null | JsonNumber | JsonValue[] | JsonObject;

/** A JSON object: members in the order of the text. A member named `__proto__` is ordinary data. */
export type JsonObject = Map<string, JsonValue>;

/** Limit for the items of a list; a longer one is `invalid_request` at `field`. */
export interface ListLimit {
  readonly max: number;
  readonly field: string;
  readonly expected: string;
}

/** Limits for parsing untrusted text. */
export interface JsonLimits {
  /** Values in all; more are `invalid_request` at `body`. */
  readonly valuesMax?: number;
  /** Of lists that are members of the outermost object, by their names. */
  readonly lists?: Readonly<Record<string, ListLimit>>;
}

interface Cursor {
  readonly text: string;
  at: number;
  valuesLeft: number;
  readonly limits: JsonLimits;
}

/** The maximum number of nested levels; the outermost one is level 1. */
const DEPTH_MAX = 64;
const VALUES_MAX = 0x3fff_ffff;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function fail(): never {
  throw new VaultError('invalid_json');
}

/** Skips JSON white space; returns the next character code, NaN at the end. */
function skipSpace(cursor: Cursor): number {
  const { text } = cursor;
  let at = cursor.at;
  let unit = text.charCodeAt(at);
  while (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) {
    unit = text.charCodeAt(++at);
  }
  cursor.at = at;
  return unit;
}

/** Reads a string literal from its first backslash; the parser of the runtime decodes the escapes. */
function readEscaped(cursor: Cursor, start: number, firstBackslash: number): string {
  const { text } = cursor;
  let at = firstBackslash;
  for (let unit = BACKSLASH; unit !== QUOTE; unit = text.charCodeAt(at)) {
    if (Number.isNaN(unit)) {
      fail();
    }
    at += unit === BACKSLASH ? 2 : 1;
  }
  cursor.at = at + 1;
  try {
    return JSON.parse(text.slice(start - 1, at + 1));
  } catch {
    return fail();
  }
}

function readString(cursor: Cursor): string {
  const { text } = cursor;
  const start = cursor.at + 1;
  for (let at = start; ; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      cursor.at = at + 1;
      return text.slice(start, at);
    }
    if (unit === BACKSLASH) {
      return readEscaped(cursor, start, at);
    }
    if (!(unit >= 0x20)) {
      fail();
    }
  }
}

function skipDigits(text: string, from: number): number {
  let at = from;
  for (let unit = text.charCodeAt(at); unit >= DIGIT_0 && unit <= DIGIT_9; unit = text.charCodeAt(at)) {
    at++;
  }
  return at;
}

/** The end of the number literal that starts at `start`, or -1 if there is none (RFC 8259, section 6). */
function numberEnd(text: string, start: number): number {
  const whole = text.charCodeAt(start) === MINUS ? start + 1 : start;
  let at = text.charCodeAt(whole) === DIGIT_0 ? whole + 1 : skipDigits(text, whole);
  if (at === whole) {
    return -1;
  }
  if (text.charCodeAt(at) === POINT) {
    const fraction = at + 1;
    at = skipDigits(text, fraction);
    if (at === fraction) {
      return -1;
    }
  }
  if ((text.charCodeAt(at) | 0x20) === 0x65) {
    const sign = text.charCodeAt(at + 1);
    const exponent = sign === MINUS || sign === 0x2b ? at + 2 : at + 1;
    at = skipDigits(text, exponent);
    if (at === exponent) {
      return -1;
    }
  }
  return at;
}

function readNumber(cursor: Cursor): JsonNumber {
  const end = numberEnd(cursor.text, cursor.at);
  if (end < 0) {
    fail();
  }
  const literal = cursor.text.slice(cursor.at, end);
  cursor.at = end;
  return new JsonNumber(literal);
}

function readWord<T>(cursor: Cursor, word: string, value: T): T {
  if (!cursor.text.startsWith(word, cursor.at)) {
    fail();
  }
  cursor.at += word.length;
  return value;
}

/** The limit of a list that is this member of the outermost object. */
function listLimitOf({ limits: { lists } }: Cursor, levelsLeft: number, name: string) {
  return lists !== undefined && levelsLeft === DEPTH_MAX && Object.hasOwn(lists, name)
    ? lists[name]
    : undefined;
}

/** Reads an object; duplicate names are invalid. */
function readObject(cursor: Cursor, levelsLeft: number): JsonObject {
  if (levelsLeft <= 0) {
    throw new VaultError('json_too_deep');
  }
  const object: JsonObject = new Map();
  cursor.at++;
  let unit = skipSpace(cursor);
  if (unit === CLOSE_BRACE) {
    cursor.at++;
    return object;
  }
  for (let members = 1; ; members++) {
    if (unit !== QUOTE) {
      fail();
    }
    const name = readString(cursor);
    if (skipSpace(cursor) !== COLON) {
      fail();
    }
    cursor.at++;
    object.set(name, readValue(cursor, levelsLeft - 1, listLimitOf(cursor, levelsLeft, name)));
    if (object.size !== members) {
      fail();
    }
    unit = skipSpace(cursor);
    cursor.at++;
    if (unit === CLOSE_BRACE) {
      return object;
    }
    if (unit !== COMMA) {
      fail();
    }
    unit = skipSpace(cursor);
  }
}

function readArray(cursor: Cursor, levelsLeft: number, limit: ListLimit | undefined): JsonValue[] {
  if (levelsLeft <= 0) {
    throw new VaultError('json_too_deep');
  }
  const items: JsonValue[] = [];
  cursor.at++;
  if (skipSpace(cursor) === CLOSE_BRACKET) {
    cursor.at++;
    return items;
  }
  for (;;) {
    if (items.length === limit?.max) {
      throw new VaultError('invalid_request', { field: limit.field, expected: limit.expected });
    }
    items.push(readValue(cursor, levelsLeft - 1));
    const unit = skipSpace(cursor);
    cursor.at++;
    if (unit === CLOSE_BRACKET) {
      return items;
    }
    if (unit !== COMMA) {
      fail();
    }
  }
}

function readValue(cursor: Cursor, levelsLeft: number, limit?: ListLimit): JsonValue {
  if (--cursor.valuesLeft < 0) {
    const expected = `must have at most ${cursor.limits.valuesMax} values`;
    throw new VaultError('invalid_request', { field: 'body', expected });
  }
  switch (skipSpace(cursor)) {
    case QUOTE:
      return readString(cursor);
    case OPEN_BRACE:
      return readObject(cursor, levelsLeft);
    case OPEN_BRACKET:
      return readArray(cursor, levelsLeft, limit);
    case 0x74:
      return readWord(cursor, 'true', true);
    case 0x66:
      return readWord(cursor, 'false', false);
    case 0x6e:
      return readWord(cursor, 'null', null);
    default:
      return readNumber(cursor);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return fail();
  }
}

/** Tells whether the whole text is a JSON number literal (RFC 8259, section 6), suitable for a {@link JsonNumber}. */
export function isNumberLiteral(text: string): boolean {
  return numberEnd(text, 0) === text.length;
}

/**
 * Parses one JSON text (RFC 8259) from UTF-8 bytes without loss: numbers keep their literal, members their order,
 * escaped lone surrogates are kept. Throws `invalid_json` for malformed UTF-8, a byte order mark, duplicate member names
 * and text after the value, `json_too_deep` before it descends below 64 levels, and `invalid_request` at the first value
 * or item beyond a limit. The errors contain no input.
 */
export function parseJson(bytes: Uint8Array, limits: JsonLimits = {}): JsonValue {
  const cursor: Cursor = { text: decode(bytes), at: 0, valuesLeft: limits.valuesMax ?? VALUES_MAX, limits };
  const value = readValue(cursor, DEPTH_MAX);
  if (!Number.isNaN(skipSpace(cursor))) {
    fail();
  }
  return value;
}

/** Like {@link parseJson}, for data to be stored: a value other than an object is `invalid_request` at `body`. */
export function parseStoredObject(bytes: Uint8Array): JsonObject {
  const value = parseJson(bytes);
  if (!(value instanceof Map)) {
    throw new VaultError('invalid_request', { field: 'body', expected: 'must be a JSON object' });
  }
  return value;
}

/** The JSON string literal of a text. Control characters and lone surrogates are escaped, so it is well-formed. */
export function quoteJson(text: string): string {
  return JSON.stringify(text);
}

/**
 * The compact JSON text of a value: members in order, numbers as their literals. It is well-formed Unicode, and {@link
 * parseJson} returns the same value.
 */
export function stringifyJson(value: JsonValue): string {
  if (typeof value === 'string') {
    return quoteJson(value);
  }
  if (value instanceof JsonNumber) {
    return value.text;
  }
  if (value instanceof Map) {
    let text = '';
    for (const [name, member] of value) {
      text += `${text === '' ? '{' : ','}${quoteJson(name)}:${stringifyJson(member)}`;
    }
    return text === '' ? '{}' : `${text}}`;
  }
  if (Array.isArray(value)) {
    let text = '';
    for (const item of value) {
      text += (text === '' ? '[' : ',') + stringifyJson(item);
    }
    return text === '' ? '[]' : `${text}]`;
  }
  return value === null ? 'null' : value ? 'true' : 'false';
}

/** An object of the members that are not undefined. */
export function definedMembers(members: Iterable<readonly [string, JsonValue | undefined]>): JsonObject {
  const object: JsonObject = new Map();
  for (const [name, value] of members) {
    if (value !== undefined) {
      object.set(name, value);
    }
  }
  return object;
}

/** The size of {@link stringifyJson} in UTF-8 bytes, which the size limit of an object applies to. */
export function jsonByteLength(value: JsonValue): number {
  return Buffer.byteLength(stringifyJson(value), 'utf8');
}

/**
 * A JSON value as a JavaScript value, for bodies that are not stored: numbers lose their literal; objects have no
 * prototype, so `__proto__` is an ordinary name.
 */
export function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) {
    return Number(value.text);
  }
  if (Array.isArray(value)) {
    return value.map(toPlain);
  }
  if (!(value instanceof Map)) {
    return value;
  }
  const plain: Record<string, unknown> = Object.create(null);
  for (const [name, member] of value) {
    plain[name] = toPlain(member);
  }
  return plain;
}

/** Skips white space in the bytes of valid JSON, and the separator that is expected there. */
function skipBytes(text: Uint8Array, from: number, separator?: number): number {
  let at = from;
  while (at < text.length && ((text[at] ?? 0) <= 0x20 || text[at] === separator)) {
    at++;
  }
  return at;
}

/** The end of the string whose first quote is at `from`. */
function stringEnd(text: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== QUOTE) {
    at += text[at] === BACKSLASH ? 2 : 1;
  }
  return at + 1;
}

/** The end of the value that begins at `from`. */
function valueEnd(text: Uint8Array, from: number): number {
  let at = from;
  for (let depth = 0; at < text.length; ) {
    const byte = text[at] ?? 0;
    const isClose = byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
    if (depth === 0 && (isClose || byte === COMMA || byte <= 0x20)) {
      return at;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth++;
    } else if (isClose) {
      depth--;
    }
    at = byte === QUOTE ? stringEnd(text, at) : at + 1;
  }
  return at;
}

/**
 * The texts of the members of an object by their names, as views; undefined for another value. `text` must be valid
 * JSON. A duplicate name: `invalid_json`.
 */
export function splitObject(text: Uint8Array): Map<string, Uint8Array> | undefined {
  let at = skipBytes(text, 0);
  if (text[at] !== OPEN_BRACE) {
    return undefined;
  }
  const members = new Map<string, Uint8Array>();
  at = skipBytes(text, at + 1);
  while (at < text.length && text[at] !== CLOSE_BRACE) {
    const nameEnd = stringEnd(text, at);
    const name = parseJson(text.subarray(at, nameEnd));
    const start = skipBytes(text, nameEnd, COLON);
    const end = valueEnd(text, start);
    if (typeof name !== 'string' || members.has(name)) {
      fail();
    }
    members.set(name, text.subarray(start, end));
    at = skipBytes(text, end, COMMA);
  }
  return members;
}

/** The texts of the items of a list, as views; undefined for another value or more items. `text` must be valid JSON. */
export function splitList(text: Uint8Array, itemsMax: number): Uint8Array[] | undefined {
  let at = skipBytes(text, 0);
  if (text[at] !== OPEN_BRACKET) {
    return undefined;
  }
  const items: Uint8Array[] = [];
  at = skipBytes(text, at + 1);
  while (at < text.length && text[at] !== CLOSE_BRACKET) {
    if (items.length === itemsMax) {
      return undefined;
    }
    const end = valueEnd(text, at);
    items.push(text.subarray(at, end));
    at = skipBytes(text, end, COMMA);
  }
  return items;
}
