/** How requests of a connection are signed. */
import { CONNECTION_LIMITS, HMAC_NAMES } from '../../core/third-party.ts';
import type { JsonValue } from '../json/json.ts';
import { invalidAt, member, objectAt, PROXY_LIMITS, rejectOthers, textAt } from '../proxy/fields.ts';
import { checkHeaderName, type HeaderLine } from '../proxy/headers.ts';

/** What signs the requests of a connection. */
export interface Signing {
  readonly algorithm: (typeof HMAC_NAMES)[number];
  /** Used as its UTF-8 bytes. */
  readonly key: string;
  /** The header that carries the signature. */
  readonly header: string;
  /** A text with tags, see `payloadPartsOf`. */
  readonly payload: string;
}

/** What a payload can name. */
export type PayloadTag = 'method' | 'path' | 'timestamp' | 'body';

/** A piece of a payload's own text, or the name of what is put in its place. */
export type PayloadPart = { readonly text: string } | { readonly tag: PayloadTag };

const NAMES = ['algorithm', 'key', 'header', 'payload'];
const TAG = /\{\{(method|path|timestamp|body)\}\}/;
const PAYLOAD_EXPECTED =
  'must have `{{body}}` or `{{path}}`, and no tags but `{{method}}`, `{{path}}`, `{{timestamp}}` and `{{body}}`';

/** The pieces of a payload in their order. */
export function payloadPartsOf(payload: string): readonly PayloadPart[] {
  // A pattern with one group splits a text into text and tag by turns.
  return payload
    .split(TAG)
    .map((piece, at) => (at % 2 === 0 ? { text: piece } : { tag: piece as PayloadTag }));
}

function readPayload(value: JsonValue | undefined, field: string): string {
  const payload = textAt(value, field, CONNECTION_LIMITS.signPayloadMax);
  const parts = payloadPartsOf(payload);
  const isBound = parts.some((part) => 'tag' in part && (part.tag === 'body' || part.tag === 'path'));
  if (!isBound || parts.some((part) => 'text' in part && part.text.includes('{{'))) {
    throw invalidAt(field, PAYLOAD_EXPECTED);
  }
  return payload;
}

/** Rejects what is no name of a header that a connection may set: none of the vault's own, which it sets and reads itself. */
export function checkOwnHeader(name: string, field: string): void {
  checkHeaderName(name, field);
  if (/^x-vault-/i.test(name)) {
    throw invalidAt(field, 'must not be a header of the vault');
  }
}

/**
 * Reads `sign` of a connection with these headers, none of which may be that of the signature. Every fault is
 * `invalid_request` at its place.
 */
export function readSigning(
  value: JsonValue,
  field: string,
  { headers, refuseUnknown }: { readonly headers: readonly HeaderLine[]; readonly refuseUnknown: boolean },
): Signing {
  const object = objectAt(value, field);
  if (refuseUnknown) {
    rejectOthers(object, NAMES, field);
  }
  const algorithm = HMAC_NAMES.find((name) => name === member(object, 'algorithm'));
  if (algorithm === undefined) {
    const names = HMAC_NAMES.map((name) => `\`${name}\``).join(', ');
    throw invalidAt(`${field}.algorithm`, `must be one of ${names}`);
  }
  const key = textAt(member(object, 'key'), `${field}.key`, CONNECTION_LIMITS.signKeyMax);
  const headerField = `${field}.header`;
  const header = textAt(member(object, 'header'), headerField, PROXY_LIMITS.headerNameMax);
  checkOwnHeader(header, headerField);
  if (headers.some(([name]) => name.toLowerCase() === header.toLowerCase())) {
    throw invalidAt(headerField, 'must not be one of `headers`');
  }
  return { algorithm, key, header, payload: readPayload(member(object, 'payload'), `${field}.payload`) };
}
