import { isDigit, onlyDigits } from './digits.ts';
import { luhnCheckDigit, passesLuhn } from './luhn.ts';

/** Derivation of a token from a number; see {@link parseAlgorithm}. */
export type TokenAlgorithm =
  | { readonly kind: 'full' }
  | { readonly kind: 'uuid' }
  | { readonly kind: 'luhn' }
  | { readonly kind: 'partial'; readonly digits: number; readonly side: 'start' | 'end' }
  | { readonly kind: 'middle'; readonly start: number; readonly end: number };

/** Algorithms with a keyed hash; a `uuid` is random instead. */
export type HashedAlgorithm = Exclude<TokenAlgorithm, { readonly kind: 'uuid' }>;

/** The digits of a number to replace, counted among its digits; `to` is exclusive. */
interface Span {
  readonly from: number;
  readonly to: number;
}

const PARTIAL = /^partial_([89]|1[0-6])_(start|end)$/;
const MIDDLE = /^partial_middle_(0|[1-9]\d?)_(0|[1-9]\d?)$/;

/** Fewer replaced digits would make the token too easy to guess. */
const MIDDLE_DIGITS_MIN = 5;
/** A keyed hash has 64 hex digits, and no card or account number is longer. */
const SHAPED_LENGTH_MAX = 64;

/** The digits of a `luhn` token between its first and its last one. */
const LUHN_FREE_DIGITS = 14;

/**
 * Parses the `algorithm` parameter: `full`, `uuid`, `luhn`, `partial_{n}_{start|end}` with n from 8 to 16, and
 * `partial_middle_{s}_{e}` with s and e from 0 to 99, without leading zeros. Undefined for any other text.
 */
export function parseAlgorithm(text: string): TokenAlgorithm | undefined {
  if (text === 'full' || text === 'uuid' || text === 'luhn') {
    return { kind: text };
  }
  const [, digits, side] = PARTIAL.exec(text) ?? [];
  if (side === 'start' || side === 'end') {
    return { kind: 'partial', digits: Number(digits), side };
  }
  const [, start, end] = MIDDLE.exec(text) ?? [];
  return end === undefined ? undefined : { kind: 'middle', start: Number(start), end: Number(end) };
}

/** Tells whether tokens of the algorithm of this name keep digits of the number. */
export function keepsDigits(name: string): boolean {
  return name.startsWith('partial_');
}

/**
 * The count of digits in a number; 0 if a token cannot have its shape: over 64 characters, or with characters other than
 * printable ASCII, which are hard to use in a URL.
 */
function shapedDigits(number: string): number {
  const isShaped = number.length <= SHAPED_LENGTH_MAX && /^[\x20-\x7e]*$/.test(number);
  return isShaped ? onlyDigits(number).length : 0;
}

/** The digits that a shaped token replaces; undefined if the algorithm falls back to `full`. */
function replacedSpan(algorithm: HashedAlgorithm, number: string): Span | undefined {
  if (algorithm.kind === 'partial') {
    const count = shapedDigits(number);
    if (count < algorithm.digits) {
      return undefined;
    }
    return algorithm.side === 'start'
      ? { from: 0, to: algorithm.digits }
      : { from: count - algorithm.digits, to: count };
  }
  if (algorithm.kind === 'middle') {
    const to = shapedDigits(number) - algorithm.end;
    return to - algorithm.start < MIDDLE_DIGITS_MIN ? undefined : { from: algorithm.start, to };
  }
  return undefined;
}

/** The number with hex characters in place of the digits of the span; undefined if none of them is a letter. */
function shapedToken(number: string, { from, to }: Span, hex: string): string | undefined {
  let token = '';
  let digit = 0;
  for (let at = 0; at < number.length; at++) {
    const isReplaced = isDigit(number.charCodeAt(at)) && digit++ >= from && digit <= to;
    token += isReplaced ? hex.charAt(digit - 1 - from) : number.charAt(at);
  }
  return /[a-f]/.test(hex.slice(0, to - from)) ? token : undefined;
}

/** Sixteen digits that start with 9 and pass Luhn. The bias of the reduction is below 2^-200. */
function luhnToken(hex: string): string {
  const free = BigInt(`0x${hex}`) % 10n ** BigInt(LUHN_FREE_DIGITS);
  const payload = `9${String(free).padStart(LUHN_FREE_DIGITS, '0')}`;
  return payload + luhnCheckDigit(payload);
}

/**
 * The token of a number for one candidate digest (32 bytes of a keyed hash). Undefined if the candidate must be skipped:
 * a shaped token without a letter could be mistaken for a card number. Shaped tokens keep the length and the other
 * characters of the number. `full` is 64 lowercase hex digits, and replaces a shape for which the number is too short.
 */
export function formatToken(
  algorithm: HashedAlgorithm,
  number: string,
  digest: Uint8Array,
): string | undefined {
  if (digest.length !== 32) {
    throw new RangeError('A candidate digest has 32 bytes.');
  }
  const hex = digest.toHex();
  if (algorithm.kind === 'luhn') {
    return luhnToken(hex);
  }
  const span = replacedSpan(algorithm, number);
  return span === undefined ? hex : shapedToken(number, span, hex);
}

/** Tells whether a token is made of a number and one candidate digest, by any algorithm. */
export function isMadeFrom(token: string, number: string, digest: Uint8Array): boolean {
  const hex = digest.toHex();
  return token === hex || (LUHN.test(token) && token === luhnToken(hex)) || isShapedFrom(token, number, hex);
}

/** Tells whether a token is its number with digits of the hash in place of some of its own. */
function isShapedFrom(token: string, number: string, hex: string): boolean {
  if (token.length !== number.length || shapedDigits(number) === 0) {
    return false;
  }
  let [had, has] = ['', ''];
  for (let at = 0; at < number.length; at++) {
    if (isDigit(number.charCodeAt(at))) {
      had += number.charAt(at);
      has += token.charAt(at);
    } else if (token.charAt(at) !== number.charAt(at)) {
      return false;
    }
  }
  let first = 0;
  while (first < had.length && had[first] === has[first]) {
    first++;
  }
  let last = had.length - 1;
  while (last > first && had[last] === has[last]) {
    last--;
  }
  // A replaced digit can be the same as before.
  for (let from = 0; from <= first && first < had.length; from++) {
    const to = Math.max(last + 1, from + MIDDLE_DIGITS_MIN);
    const part = has.slice(from, to);
    if (to <= had.length && part === hex.slice(0, to - from) && /[a-f]/.test(part)) {
      return true;
    }
  }
  return false;
}

/** Tells whether two numbers can have the same token, so that the store must search for a free candidate. */
export function isClashProne(algorithm: TokenAlgorithm, number: string): boolean {
  if (algorithm.kind === 'uuid') {
    return false;
  }
  return algorithm.kind === 'luhn' || replacedSpan(algorithm, number) !== undefined;
}

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
const FULL = /^[\da-f]{64}$/;
const LUHN = /^9\d{15}$/;

/**
 * An algorithm by which a vault, with any key, can have made the token of this number; undefined if none can. An
 * imported token therefore never shows more of a number than a generated one.
 */
export function keptAlgorithm(token: string, number: string): TokenAlgorithm | undefined {
  if (UUID.test(token)) {
    return { kind: 'uuid' };
  }
  if (FULL.test(token)) {
    return { kind: 'full' };
  }
  return LUHN.test(token) && passesLuhn(token) && token !== number
    ? { kind: 'luhn' }
    : shapeOf(token, number);
}

/** The shape of a token that has hex characters in place of some digits of the number. */
function shapeOf(token: string, number: string): TokenAlgorithm | undefined {
  const count = shapedDigits(number);
  let digit = 0;
  let [first, last, hasLetter] = [count, -1, false];
  for (let at = 0; at < number.length; at++) {
    const [had, has] = [number.charAt(at), token.charAt(at)];
    const wasDigit = isDigit(number.charCodeAt(at));
    if (had !== has) {
      if (!wasDigit || !/^[\da-f]$/.test(has)) {
        return undefined;
      }
      first = Math.min(first, digit);
      last = digit;
      hasLetter ||= has >= 'a';
    }
    digit += wasDigit ? 1 : 0;
  }
  if (token.length !== number.length || !hasLetter || count < MIDDLE_DIGITS_MIN) {
    return undefined;
  }
  // A replaced digit can be the same as before, so the span may be longer than what differs.
  const to = Math.max(last + 1, Math.min(count, first + MIDDLE_DIGITS_MIN));
  return { kind: 'middle', start: Math.min(first, to - MIDDLE_DIGITS_MIN), end: count - to };
}
