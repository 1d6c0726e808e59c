/** Whether a reply can be passed on as it is, as far as that can be told at a glance, without a thread. */
import { isEncoded } from '../../core/headers.ts';
import { mayHaveSadName } from '../card/sensitive-names.ts';
import { PARTIAL_CONTENT, type Reply, type Showing } from './sight.ts';

/** Longer replies are masked in a thread whatever they hold. */
const SCANNED_BYTES_MAX = 16_384;
/** Shorter runs are masked only where they are a stored number. */
const CARD_DIGITS_MIN = 12;
/** A character in an encoded form, as far as it has letters: `&nbsp;`, `&#x` with 16 digits, `%2D`, `\u002d`. */
const ENCODED = /[%&\\][#\w]{1,20}/g;
/** Escapes in which a name could be written in another way, and names of charsets that are no ASCII. */
const UNREADABLE = /\\[ux\\]|%[0-9a-f]{2}|&[#a-z]|utf-?16|ucs-?2|unicode/i;

/** Whether so many digits stand in a text without a letter between them, but for those of encoded characters. */
function hasDigits(text: string, wanted: number): boolean {
  const plain = text.replace(ENCODED, (mark) => mark.replace(/[a-z]/gi, ''));
  return new RegExp(`(?:\\d[^a-z\\d]*){${wanted}}`, 'i').test(plain);
}

/** Whether a number may stand in a text that is masked, or shown as a placeholder. */
function mayHaveNumber(text: string, { sight, numbers, sent }: Showing): boolean {
  const lengths =
    sight === 'masked'
      ? [CARD_DIGITS_MIN, ...numbers.map(({ length }) => length)]
      : sent.map(({ digits }) => digits.length);
  return lengths.length > 0 && hasDigits(text, Math.min(...lengths));
}

/** Whether one of these values stands in a text of Latin-1, or could be written there with escapes. */
function mayHaveSecret(text: string, secrets: readonly string[]): boolean {
  return (
    secrets.length > 0 &&
    (/[%&+\\]/.test(text) ||
      secrets.some(
        (secret) => text.includes(secret) || text.includes(Buffer.from(secret).toString('latin1')),
      ))
  );
}

/**
 * Whether a reply would be shown as it is, so far as a glance tells: it is whole and short, has no secret and no character by
 * which one could be escaped, nowhere as many digits as the shortest number that is looked for, and, where codes are masked, no
 * part of the name of one.
 */
export function staysAsItIs({ status, headers, body }: Reply, showing: Showing): boolean {
  const { sight, secrets } = showing;
  const isReadable =
    status !== PARTIAL_CONTENT &&
    body.length <= SCANNED_BYTES_MAX &&
    !body.includes(0) &&
    !isEncoded(headers);
  if (sight === 'named' || !isReadable) {
    return false;
  }
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const content = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
  // A letter between them, so that no number begins in one and ends in the next.
  const text = [...lines, content].join('x');
  return (
    !mayHaveNumber(text, showing) &&
    !mayHaveSecret(text, secrets) &&
    !(sight === 'masked' && (UNREADABLE.test(text) || [...lines, content].some(mayHaveSadName)))
  );
}
