import type { JsonValue } from '../json/json.ts';
import type { Template } from '../template/template.ts';
import { type BodyFormat, bodyFormat } from '../text/media-type.ts';
import { invalidAt, isHeaderText, PROXY_LIMITS, type TextOptions, templateAt } from './fields.ts';

/** A header to send; its value is filled from the stored object. */
export interface ProxyHeader {
  readonly name: string;
  readonly value: Template;
}

/** The headers of a request, and the format that their Content-Type gives its body. */
export interface ProxyHeaders {
  readonly headers: readonly ProxyHeader[];
  readonly format: BodyFormat;
}

/** A field name of HTTP (RFC 9110, section 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * What belongs to the connection or to the message's framing, and what the service sets itself, also what makes a
 * webhook call: a request to a target must never pass for one.
 */
const RESERVED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
  'x-vault-request-id',
  'x-vault-webhook-secret',
]);

/** Whether a header makes a repeated request safe (`Idempotency-Key`). */
export function isIdempotencyKey(name: string): boolean {
  return name.toLowerCase() === 'idempotency-key';
}

function isReserved(name: string): boolean {
  return RESERVED.has(name) || name.startsWith('proxy-');
}

function readEntry(entry: JsonValue, field: string): [string, string] {
  if (!(entry instanceof Map) || entry.size !== 1) {
    throw invalidAt(field, 'must be an object with one member, the name of a header and its value');
  }
  const [[name, value] = []] = entry;
  if (name === undefined || !NAME.test(name) || name.length > PROXY_LIMITS.headerNameMax) {
    throw invalidAt(field, `must have a header name of 1 to ${PROXY_LIMITS.headerNameMax} characters`);
  }
  if (isReserved(name.toLowerCase())) {
    throw invalidAt(field, 'must not be a header of the connection, of framing or of the vault');
  }
  if (typeof value !== 'string' || value.length > PROXY_LIMITS.headerValueMax || !isHeaderText(value)) {
    const text = `a text of at most ${PROXY_LIMITS.headerValueMax} characters of ISO 8859-1`;
    throw invalidAt(field, `must have ${text} without control characters`);
  }
  return [name, value];
}

/**
 * Reads `request.headers`: a list of at most 64 objects with one member each, its name a header's name, its value
 * a template. Rejected, at the place of the entry: anything else, control characters, characters beyond
 * ISO 8859-1, headers of the connection and of framing (`Host`, `Content-Length`, `Transfer-Encoding`, `Proxy-*`
 * and their like), and what the service sets: `X-Vault-Request-Id` and the headers of webhook calls. A name may come again, `Content-Type` may
 * not, and that one contains no tags: how the body is escaped must not depend on stored data.
 */
export function readHeaders(
  value: JsonValue | undefined,
  field: string,
  options: TextOptions = {},
): ProxyHeaders {
  if (value !== undefined && (!Array.isArray(value) || value.length > PROXY_LIMITS.headersMax)) {
    throw invalidAt(field, `must be a list of at most ${PROXY_LIMITS.headersMax} headers`);
  }
  const headers: ProxyHeader[] = [];
  let contentType: string | undefined;
  for (const [at, entry] of (value ?? []).entries()) {
    const place = `${field}[${at}]`;
    const [name, text] = readEntry(entry, place);
    if (name.toLowerCase() === 'content-type') {
      if (contentType !== undefined || (!options.literal && text.includes('{{'))) {
        throw invalidAt(place, 'must be the only Content-Type, and must have no template tags');
      }
      contentType = text;
    }
    headers.push({ name, value: templateAt(text, place, options) });
  }
  return { headers, format: bodyFormat(contentType) ?? 'json' };
}
