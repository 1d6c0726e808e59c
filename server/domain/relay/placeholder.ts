/** Placeholders of stored values in a request: `{{vault:TOKEN:FIELD}}` or `{{vault:TOKEN:FIELD:REFERENCE}}`. */
import { onlyDigits } from '../card/digits.ts';
import { JsonNumber, type JsonValue } from '../json/json.ts';
import { invalidAt } from '../proxy/fields.ts';
import type { SentNumber } from '../relay/sight.ts';

/** The value that a placeholder stands for. */
export interface Placeholder {
  readonly token: string;
  /** A member of the item, or a path into it. */
  readonly field: string;
  readonly reference?: string | undefined;
}

/** A placeholder with its place in a text. */
interface Found extends Placeholder {
  readonly start: number;
  readonly end: number;
}

/** How placeholders are written in a text: as they are, or percent-encoded as forms and URLs encode their values. */
export type Writing = 'plain' | 'encoded';

/** How one begins, also with spaces in between, which are a mistake. */
const OPENING = {
  plain: /\{\{(\s*)vault:/g,
  encoded: /(?:\{|%7[Bb]){2}((?:\s|\+|%20|%0[9AaDd])*)vault(?::|%3[Aa])/g,
};
const CLOSING = { plain: /\}\}/, encoded: /(?:\}|%7[Dd]){2}/ };
const ASCII = /^[\x21-\x7e]*$/;
const LENGTH_MAX = 2_048;
const COUNT_MAX = 1_000;
/** The most items that one request is filled from. */
const TOKENS_MAX = 20;

function decode(text: string, field: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed(field);
  }
}

function malformed(field: string) {
  return invalidAt(
    field,
    'must have placeholders of the form `{{vault:TOKEN:FIELD}}`, without spaces and with each part percent-encoded',
  );
}

function readParts(inner: string, field: string): Placeholder {
  const parts = inner.split(':');
  const [token = '', name = '', reference] = parts.map((part) => decode(part, field));
  if (!ASCII.test(inner) || parts.length > 3 || token === '' || name === '' || reference === '') {
    throw malformed(field);
  }
  return { token, field: name, reference };
}

/**
 * All placeholders of a text, in order. Rejects at `field` one that is malformed, which must not go out as it is, and more
 * than 1,000. Works in linear time.
 */
export function findPlaceholders(text: string, field: string, writing: Writing): readonly Found[] {
  const found: Found[] = [];
  // Most texts have none, and this costs less than an expression of their own.
  if (!text.includes('vault')) {
    return found;
  }
  const opening = new RegExp(OPENING[writing]);
  for (let open = opening.exec(text); open !== null; open = opening.exec(text)) {
    const at = opening.lastIndex;
    const close = CLOSING[writing].exec(text.slice(at, at + LENGTH_MAX));
    if (close === null || open[1] !== '' || found.length === COUNT_MAX) {
      throw malformed(field);
    }
    const inner = text.slice(at, at + close.index);
    const isEncoded = writing === 'encoded' && !(open[0].startsWith('{{') && close[0] === '}}');
    const end = at + close.index + close[0].length;
    found.push({ ...readParts(isEncoded ? decode(inner, field) : inner, field), start: open.index, end });
    opening.lastIndex = end;
  }
  return found;
}

/** A placeholder as it is written, for a reply that repeats its value. */
export function placeholderText({ token, field, reference }: Placeholder): string {
  const parts = [token, field, ...(reference === undefined ? [] : [reference])];
  return `{{vault:${parts.map(encodeURIComponent).join(':')}}}`;
}

/** A text of a request, with its place in error messages. */
export interface RelayText {
  readonly text: string;
  readonly field: string;
  readonly writing: Writing;
}

/** The tokens that the texts of a request name, each once. Rejects malformed placeholders and more than 20 tokens. */
export function tokensOf(texts: readonly RelayText[]): readonly string[] {
  const tokens = new Set<string>();
  for (const { text, field, writing } of texts) {
    for (const { token } of findPlaceholders(text, field, writing)) {
      if (tokens.add(token).size > TOKENS_MAX) {
        throw invalidAt(
          field,
          `must have placeholders of at most ${TOKENS_MAX} tokens, with the rest of the request`,
        );
      }
    }
  }
  return [...tokens];
}

/** Shorter numbers may be anything else in a reply. */
const DIGITS_MIN = 8;

/** The number that a value is; undefined for a value that is none, or too short to be found. */
export function sentNumber(placeholder: Placeholder, value: JsonValue): SentNumber | undefined {
  const text = value instanceof JsonNumber ? value.text : value;
  if (typeof text !== 'string' || !/^[\d\s-]+$/.test(text)) {
    return undefined;
  }
  const digits = onlyDigits(text);
  return digits.length < DIGITS_MIN ? undefined : { digits, shown: placeholderText(placeholder) };
}
