/** Turns the numbers that a request has sent back into their placeholders, in a reply that repeats them. */
import { type HeaderEntries, isEncoded } from '../../core/headers.ts';
import { onlyDigits } from '../card/digits.ts';
import { JsonNumber, type JsonValue } from '../json/json.ts';
import { createGuessCheck, digitsPattern, type Echoes, isTooLong, maskEchoes } from '../mask/echo.ts';
import { HIDDEN } from '../mask/echo-secrets.ts';
import { hideCredentials } from './credentials.ts';
import { type Placeholder, placeholderText } from './placeholder.ts';

/** A number that was sent, and what stands for it. */
export interface SentNumber {
  readonly digits: string;
  readonly shown: string;
}

/** What is masked in the reply to one request. */
export interface RelayMasks {
  readonly sent: readonly SentNumber[];
  /** What no caller must see of the connection. */
  readonly credentials?: readonly string[] | undefined;
  /** What else a caller must not see who may use the items and not see them. */
  readonly echoes?: Echoes | undefined;
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

/** Longer replies are masked in a thread whatever they hold. */
const SCANNED_BYTES_MAX = 16_384;
/** How many bytes behind its first one an encoded mark may have: `&nbsp;`. */
const MARK_BYTES = 5;
/** What each byte is to a search for numbers; all others are 0. */
const [DIGIT, MARK, LETTER] = [1, 2, 3];
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/\d/.test(character)) {
    return DIGIT;
  }
  return /[%&\\]/.test(character) ? MARK : /[a-z]/i.test(character) ? LETTER : 0;
});

/** Whether so many digits stand in bytes without a letter between them, but for those of encoded marks. */
function hasDigits(bytes: Uint8Array, wanted: number): boolean {
  let digits = 0;
  let markEnd = 0;
  for (let at = 0; at < bytes.length; at++) {
    const kind = KINDS[bytes[at] ?? 0];
    if (kind === DIGIT) {
      digits += 1;
      if (digits === wanted) {
        return true;
      }
    } else if (kind === MARK) {
      markEnd = at + MARK_BYTES;
    } else if (kind === LETTER && at > markEnd) {
      digits = 0;
    }
  }
  return false;
}

/** What is looked for at a glance in a reply. */
export interface Hidden {
  /** What no reply may show of the connection. */
  readonly credentials: readonly string[];
  /** The digits of the shortest number that was sent; 0 where more is masked than can be seen at a glance. */
  readonly digitsMin: number;
}

/**
 * Whether masking would leave a reply as it is, as far as that can be told at a glance: it is short, has no credential, and
 * nowhere as many digits as the shortest number that was sent.
 */
export function staysAsItIs(
  headers: HeaderEntries,
  body: Uint8Array,
  { credentials, digitsMin }: Hidden,
): boolean {
  if (digitsMin === 0 || body.length > SCANNED_BYTES_MAX || body.includes(0) || isEncoded(headers)) {
    return false;
  }
  // A letter between them, so that no number begins in one and ends in the next.
  const values = headers.map(([, value]) => value).join('x');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  return (
    !hasDigits(bytes, digitsMin) &&
    !hasDigits(Buffer.from(values, 'latin1'), digitsMin) &&
    !credentials.some(
      (text) => values.includes(text) || bytes.includes(text) || bytes.includes(text, 0, 'latin1'),
    )
  );
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether a place of a JSON text is within a string, for places in order. */
function createStringScan(text: string): (place: number) => boolean {
  let at = 0;
  let inString = false;
  return (place) => {
    for (; at < place; at++) {
      const unit = text.charCodeAt(at);
      if (inString && unit === BACKSLASH) {
        at += 1;
      } else if (unit === QUOTE) {
        inString = !inString;
      }
    }
    return inString;
  };
}

function replaceNumber(text: string, { digits, shown }: SentNumber, isJson: boolean): string {
  const isInString = isJson ? createStringScan(text) : () => true;
  return text.replace(digitsPattern(digits), (_found, ...rest) =>
    isInString(Number(rest.find((part) => typeof part === 'number'))) ? shown : `"${shown}"`,
  );
}

/** A text of a reply, with all that must not be seen masked. */
export function maskRelayText(
  given: string,
  { sent, credentials = [], echoes }: RelayMasks,
  isJson: boolean,
): string {
  if (isTooLong(given, echoes, sent.length)) {
    return HIDDEN;
  }
  const text = hideCredentials(given, credentials);
  const mayBeGuesses = createGuessCheck(text);
  // Of guesses, a placeholder would show the right one.
  const shown = echoes === undefined ? sent : sent.filter(({ digits }) => !mayBeGuesses(digits));
  const replaced = shown.reduce((masked, number) => replaceNumber(masked, number, isJson), text);
  return echoes === undefined ? replaced : maskEchoes(replaced, echoes);
}

/** A header of a reply, masked as one text: its name may be that behind which a code was sent, or a value itself. */
export function maskRelayHeader(name: string, value: string, masks: RelayMasks): readonly [string, string] {
  const { echoes } = masks;
  if (echoes === undefined) {
    return [name, maskRelayText(value, masks, false)];
  }
  const prefix = `${name}: `;
  const line = maskRelayText(prefix + value, masks, false);
  return [maskEchoes(name, echoes), line.startsWith(prefix) ? line.slice(prefix.length) : HIDDEN];
}
