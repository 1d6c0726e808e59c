/** Whether a reply can be passed on as it is, as far as that can be told at a glance, without a thread. */
import { type HeaderEntries, isEncoded } from '../../core/headers.ts';

/** Longer replies are masked in a thread whatever they hold. */
const SCANNED_BYTES_MAX = 16_384;
/** How many bytes behind its first one an encoded mark may have: `&nbsp;`, or `&#x` with 16 digits. */
const MARK_BYTES = 20;
/** What each byte is to a search for numbers; all others are 0. */
const [DIGIT, MARK, LETTER] = [1, 2, 3];
const PLUS = 0x2b;
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
   * The digits of the shortest number that was sent; undefined where none is looked for, 0 where more is hidden than can be seen
   * at a glance.
   */
  readonly digitsMin?: number | undefined;
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

/**
 * Whether a reply that shows all but secrets and sent numbers would stay as it is: it is short, has no secret and no character
 * by which one could be escaped, and nowhere as many digits as the shortest number that was sent.
 */
export function staysAsItIs(
  headers: HeaderEntries,
  body: Uint8Array,
  { secrets, digitsMin }: Glance,
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
    !maySecretsBeIn(secrets, bytes, values)
  );
}
