/** Placeholders of stored values in a request: `{{vault:TOKEN:FIELD}}` or `{{vault:TOKEN:FIELD:REFERENCE}}`. */
import { onlyDigits } from '../card/digits.ts';
import { JsonNumber, type JsonValue } from '../json/json.ts';
import { invalidAt } from '../proxy/fields.ts';
import type { SentNumber } from './sight.ts';

/** A reference to a stored value. */
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

/** Notation of placeholders: literal, or percent-encoded as in forms and URLs. */
export type Writing = 'plain' | 'encoded';

/** The first word of a placeholder, after its braces. */
const WORD = { plain: /vault:/g, encoded: /vault(?::|%3[Aa])/g };
const PLUS = 0x2b;
const PERCENT = 0x25;
const CLOSING = { plain: /\}\}/, encoded: /(?:\}|%7[Dd]){2}/ };
const ASCII = /^[\x21-\x7e]*$/;
const LENGTH_MAX = 2_048;
const COUNT_MAX = 1_000;
/** The most items of one request. */
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

function isSpace(text: string, at: number, writing: Writing): boolean {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) {
    return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || (unit === PLUS && writing === 'encoded');
  }
  return /\s/.test(text.charAt(at));
}

/** The start of the spaces that end at `end`. */
function spacesBefore(text: string, end: number, writing: Writing): number {
  for (let at = end; ; ) {
    if (isSpace(text, at - 1, writing)) {
      at -= 1;
    } else if (
      writing === 'encoded' &&
      text.charCodeAt(at - 3) === PERCENT &&
      /^%(?:20|0[9AaDd])$/.test(text.slice(at - 3, at))
    ) {
      at -= 3;
    } else {
      return at;
    }
  }
}

/** The start of the two braces that end at `end`; undefined without them. */
function bracesBefore(text: string, end: number, writing: Writing): number | undefined {
  if (text.startsWith('{{', end - 2)) {
    return end - 2;
  }
  if (writing === 'plain' || !/[{Bb]/.test(text.charAt(end - 1))) {
    return undefined;
  }
  const [braces] = /(?:\{|%7[Bb]){2}$/.exec(text.slice(Math.max(0, end - 6), end)) ?? [];
  return braces === undefined ? undefined : end - braces.length;
}

/**
 * All placeholders of a text, in order, in linear time. Malformed ones, which must not be sent, and more than 1,000 are
 * rejected at `field`.
 */
export function findPlaceholders(text: string, field: string, writing: Writing): readonly Found[] {
  const found: Found[] = [];
  // A fast check, since most texts have none.
  if (!text.includes('vault')) {
    return found;
  }
  const word = new RegExp(WORD[writing]);
  for (let open = word.exec(text); open !== null; open = word.exec(text)) {
    const at = word.lastIndex;
    const bare = spacesBefore(text, open.index, writing);
    const start = bracesBefore(text, bare, writing);
    if (start === undefined) {
      continue;
    }
    const close = CLOSING[writing].exec(text.slice(at, at + LENGTH_MAX));
    if (close === null || bare < open.index || found.length === COUNT_MAX) {
      throw malformed(field);
    }
    const inner = text.slice(at, at + close.index);
    const isEncoded = writing === 'encoded' && !(text.startsWith('{{', start) && close[0] === '}}');
    const end = at + close.index + close[0].length;
    found.push({ ...readParts(isEncoded ? decode(inner, field) : inner, field), start, end });
    word.lastIndex = end;
  }
  return found;
}

/** The text of a placeholder, for a reply that repeats its value. */
export function placeholderText({ token, field, reference }: Placeholder): string {
  const parts = [token, field, ...(reference === undefined ? [] : [reference])];
  return `{{vault:${parts.map(encodeURIComponent).join(':')}}}`;
}

/** A text of a request, with its place for error messages. */
export interface RelayText {
  readonly text: string;
  readonly field: string;
  readonly writing: Writing;
}

/** The distinct tokens in the texts of a request. Rejects malformed placeholders and more than 20 tokens. */
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

/** The digits of a sent value; undefined if it is no number, or too short to be found. */
export function sentNumber(placeholder: Placeholder, value: JsonValue): SentNumber | undefined {
  const text = value instanceof JsonNumber ? value.text : value;
  if (typeof text !== 'string' || !/^[\d\s-]+$/.test(text)) {
    return undefined;
  }
  const digits = onlyDigits(text);
  return digits.length < DIGITS_MIN ? undefined : { digits, shown: placeholderText(placeholder) };
}
