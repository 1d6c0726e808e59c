/** Origins that an endpoint is limited to, and the reference in a body. */
import { VaultError } from '../core/errors.ts';
import { cardBrand } from './card/brand.ts';
import { cardRuns } from './card/runs.ts';
import { JsonNumber, type JsonValue } from './json/json.ts';
import { plainText } from './mask/metadata.ts';

const ORIGIN = /^https?:\/\/[^/?#@\s]+$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
/** The origin of a page without one, such as a sandboxed frame. */
const OPAQUE = 'null';

export const ORIGIN_EXPECTED =
  'must be origins such as `https://shop.example`, without a path; `http` only on this machine, or `null`';

export const POINT_EXPECTED = 'must be an uncompressed point of P-256, in base64url without padding';

/** Writes an origin as browsers send it; undefined for a text that is none, and for `http` on another machine. */
export function normalOrigin(text: string): string | undefined {
  if (text === OPAQUE) {
    return text;
  }
  const url = ORIGIN.test(text) ? URL.parse(text) : null;
  return url !== null && (url.protocol === 'https:' || LOOPBACK.test(url.hostname)) ? url.origin : undefined;
}

const REFERENCE_MAX = 255;
const NUMBER_MIN = 13;
const REFERENCE_EXPECTED =
  'must have a text or an integer of at most 255 characters at the path of the reference';

/** True for a text with a number that passes Luhn and lies in the range of a network. */
function holdsCardNumber(text: string): boolean {
  return [text, plainText(text)]
    .flatMap(cardRuns)
    .some(({ digits }) => digits.length >= NUMBER_MIN && cardBrand(digits) !== undefined);
}

/**
 * The reference that the value at the path of an endpoint is; undefined for an empty, missing or null one. Throws
 * `invalid_request` for any other value than a text or an integer of at most 255 characters, and `reference_sensitive` for
 * one with a card number.
 */
export function readReference(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null || value === '') {
    return undefined;
  }
  const text = value instanceof JsonNumber && /^-?\d+$/.test(value.text) ? value.text : value;
  if (typeof text !== 'string' || [...text].length > REFERENCE_MAX || !text.isWellFormed()) {
    throw new VaultError('invalid_request', { field: 'body', expected: REFERENCE_EXPECTED });
  }
  if (holdsCardNumber(text)) {
    throw new VaultError('reference_sensitive', { field: 'body' });
  }
  return text;
}
