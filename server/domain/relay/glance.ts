/** Whether a reply can be passed on as it is, as far as that can be told at a glance, without a thread. */
import { isEncoded } from '../../core/headers.ts';
import { mayHaveSadName } from '../card/sensitive-names.ts';
import { PARTIAL_CONTENT, type Reply, type Sight } from './sight.ts';

/** Longer replies are masked in a thread whatever they hold. */
const SCANNED_BYTES_MAX = 16_384;
/** How many bytes behind its first one an encoded mark may have: `&nbsp;`, or `&#x` with 16 digits. */
const MARK_BYTES = 20;
/** What each byte is to a search for numbers; all others are 0. */
const [DIGIT, MARK, LETTER] = [1, 2, 3];
const PLUS = 0x2b;
/** Shorter runs are masked only where they are a stored number. */
const CARD_DIGITS_MIN = 12;
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/\d/.test(character)) {
    return DIGIT;
  }
  return /[%&\\]/.test(character) ? MARK : /[a-z]/i.test(character) ? LETTER : 0;
});

/** Whether so many digits stand in bytes without a letter between them, but for those of encoded marks. */
function hasDigits(bytes: Uint8Array, wanted: number | undefined): boolean {
  if (wanted === undefined) {
    return false;
  }
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

/** What is looked for in a reply. */
export interface Glance {
  /** The connection's own values. */
  readonly secrets: readonly string[];
  /**
   * The digits of the shortest number that is looked for; undefined where none is, 0 where more is hidden than can be seen at a
   * glance.
   */
  readonly digitsMin?: number | undefined;
  /** Whether codes are hidden too. */
  readonly codes?: boolean | undefined;
}

/** Whether one of these values stands in a reply, or could be written there with escapes. */
function maySecretsBeIn(secrets: readonly string[], bytes: Buffer, values: string): boolean {
  return (
    secrets.length > 0 &&
    (/[%&+\\]/.test(values) ||
      bytes.some((byte) => KINDS[byte] === MARK || byte === PLUS) ||
      secrets.some(
        (text) => values.includes(text) || bytes.includes(text) || bytes.includes(text, 0, 'latin1'),
      ))
  );
}

/** In which a name could be written in another way, and what says that bytes are no ASCII. */
const UNREADABLE = /\\[ux\\]|%[0-9a-f]{2}|&[#a-z]|utf-?16|ucs-?2|unicode/i;

/** Whether the name of a code may stand in a text. */
function mayHaveCodes(text: string): boolean {
  return UNREADABLE.test(text) || mayHaveSadName(text);
}

/**
 * Whether a reply would be shown as it is: it is whole and short, has no secret and no character by which one could be escaped,
 * nowhere as many digits as the shortest number that is looked for, and no part of the name of a code where these are hidden.
 */
export function staysAsItIs(
  { status, headers, body }: Reply,
  { secrets, digitsMin, codes = false }: Glance,
): boolean {
  if (
    digitsMin === 0 ||
    status === PARTIAL_CONTENT ||
    body.length > SCANNED_BYTES_MAX ||
    body.includes(0) ||
    isEncoded(headers)
  ) {
    return false;
  }
  // A letter between them, so that no number begins in one and ends in the next.
  const values = headers.map(([name, value]) => (codes ? `${name}x${value}` : value)).join('x');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  return (
    !hasDigits(bytes, digitsMin) &&
    !hasDigits(Buffer.from(values, 'latin1'), digitsMin) &&
    !maySecretsBeIn(secrets, bytes, values) &&
    !(
      codes &&
      (mayHaveCodes(bytes.toString('latin1')) || headers.some((line) => mayHaveCodes(line.join(':'))))
    )
  );
}

/** What is looked for in the reply to a request without placeholders for its caller. */
export function glanceOf(sight: Sight, numbers: readonly string[], secrets: readonly string[]): Glance {
  switch (sight) {
    case 'all':
      return { secrets };
    case 'masked':
      return {
        secrets,
        digitsMin: Math.min(CARD_DIGITS_MIN, ...numbers.map(({ length }) => length)),
        codes: true,
      };
    case 'named':
      return { secrets, digitsMin: 0 };
  }
}
