/** Takes valid JSON apart without reading what is in its values, so that large bodies can be worked on piece by piece. */
import { VaultError } from '../../core/errors.ts';
import { parseJson } from './json.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const SPACE = 0x20;
const COLON = 0x3a;

function skipSpace(text: Uint8Array, from: number): number {
  let at = from;
  while (at < text.length && (text[at] ?? 0) <= SPACE) {
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
  let depth = 0;
  while (at < text.length) {
    const byte = text[at];
    if (byte === QUOTE) {
      at = stringEnd(text, at);
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth++;
      at++;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) {
        return at;
      }
      depth--;
      at++;
    } else if (depth === 0 && (byte === COMMA || (byte ?? 0) <= SPACE)) {
      return at;
    } else {
      at++;
    }
    if (depth === 0 && (byte === QUOTE || byte === CLOSE_BRACE || byte === CLOSE_BRACKET)) {
      return at;
    }
  }
  return at;
}

/**
 * The texts of the members of an object by their names, as views; undefined for another value. `text` must be valid JSON.
 * A name that comes twice: `invalid_json`.
 */
export function splitObject(text: Uint8Array): Map<string, Uint8Array> | undefined {
  let at = skipSpace(text, 0);
  if (text[at] !== OPEN_BRACE) {
    return undefined;
  }
  const members = new Map<string, Uint8Array>();
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] !== CLOSE_BRACE) {
    const nameEnd = stringEnd(text, at);
    const name = parseJson(text.subarray(at, nameEnd));
    at = skipSpace(text, nameEnd);
    at = skipSpace(text, text[at] === COLON ? at + 1 : at);
    const end = valueEnd(text, at);
    if (typeof name !== 'string' || members.has(name)) {
      throw new VaultError('invalid_json');
    }
    members.set(name, text.subarray(at, end));
    at = skipSpace(text, end);
    at = text[at] === COMMA ? skipSpace(text, at + 1) : at;
  }
  return members;
}

/** The texts of the items of a list, as views; undefined for another value, and for more items. `text` must be valid JSON. */
export function splitList(text: Uint8Array, itemsMax: number): Uint8Array[] | undefined {
  let at = skipSpace(text, 0);
  if (text[at] !== OPEN_BRACKET) {
    return undefined;
  }
  const items: Uint8Array[] = [];
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] !== CLOSE_BRACKET) {
    if (items.length === itemsMax) {
      return undefined;
    }
    const end = valueEnd(text, at);
    items.push(text.subarray(at, end));
    at = skipSpace(text, end);
    at = text[at] === COMMA ? skipSpace(text, at + 1) : at;
  }
  return items;
}
