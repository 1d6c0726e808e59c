/** Placeholders of stored values in a request: `{{vault:TOKEN:FIELD}}` or `{{vault:TOKEN:FIELD:REFERENCE}}`. */
import { invalidAt } from '../proxy/fields.ts';

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

/** The ends of a placeholder as they are written, and percent-encoded. */
const OPENING = { plain: '{{vault:', encoded: /(?:\{|%7[Bb]){2}vault(?::|%3[Aa])/g };
const CLOSING = { plain: '}}', encoded: /(?:\}|%7[Dd]){2}/g };
const ASCII = /^[\x21-\x7e]*$/;
const LENGTH_MAX = 2_048;
const COUNT_MAX = 1_000;
/** The most items that one request is filled from. */
const TOKENS_MAX = 20;

function decode(text: string, field: string): string {
  if (!text.includes('%')) {
    return text;
  }
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed(field);
  }
}

function malformed(field: string) {
  return invalidAt(field, 'must have placeholders of the form `{{vault:TOKEN:FIELD}}`, percent-encoded');
}

function readParts(inner: string, field: string): Placeholder {
  const parts = inner.split(':');
  const [token = '', name = '', reference] = parts.map((part) => decode(part, field));
  if (!ASCII.test(inner) || parts.length > 3 || token === '' || name === '' || reference === '') {
    throw malformed(field);
  }
  return { token, field: name, reference };
}

/** The place of one end of a placeholder. */
interface Mark {
  readonly start: number;
  readonly text: string;
}

function findMark(
  { plain, encoded }: typeof OPENING,
  writing: Writing,
  text: string,
  from: number,
): Mark | undefined {
  if (writing === 'plain') {
    const start = text.indexOf(plain, from);
    return start < 0 ? undefined : { start, text: plain };
  }
  encoded.lastIndex = from;
  const found = encoded.exec(text);
  return found === null ? undefined : { start: found.index, text: found[0] };
}

/** Whether a text may have placeholders. Most have none, and this is the cheapest way to tell. */
export function mayHavePlaceholders(text: string): boolean {
  return text.includes('vault');
}

/**
 * All placeholders of a text, in order. Rejects at `field` one that is malformed, which must not go out as it is, and more
 * than 1,000. Works in linear time.
 */
export function findPlaceholders(text: string, field: string, given: Writing): readonly Found[] {
  const found: Found[] = [];
  if (!mayHavePlaceholders(text)) {
    return found;
  }
  const writing = text.includes('%') ? given : 'plain';
  for (
    let open = findMark(OPENING, writing, text, 0);
    open !== undefined;
    open = findMark(OPENING, writing, text, found.at(-1)?.end ?? 0)
  ) {
    const { start } = open;
    const from = start + open.text.length;
    const within = text.slice(from, from + LENGTH_MAX);
    const close = findMark(CLOSING, writing, within, 0);
    if (close === undefined || found.length === COUNT_MAX) {
      throw malformed(field);
    }
    const inner = within.slice(0, close.start);
    const isEncoded = writing === 'encoded' && !(open.text.startsWith('{{') && close.text === '}}');
    const end = from + close.start + close.text.length;
    found.push({ ...readParts(isEncoded ? decode(inner, field) : inner, field), start, end });
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
