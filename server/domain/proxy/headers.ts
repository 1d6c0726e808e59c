import { HEADER_NAME, type HeaderEntries } from '../../core/headers.ts';
import type { JsonValue } from '../json/json.ts';
import type { Template } from '../template/parse.ts';
import { type BodyFormat, bodyFormat } from '../text/media-type.ts';
import { invalidAt, isHeaderText, PROXY_LIMITS, type TextOptions, templateAt } from './fields.ts';

/** A header to send, with a template for its value. */
export interface ProxyHeader {
  readonly name: string;
  readonly value: Template;
}

/** The headers of a request, and the body format of their Content-Type. */
export interface ProxyHeaders {
  readonly headers: readonly ProxyHeader[];
  readonly format: BodyFormat;
}

/**
 * Headers of the connection and of framing, and those of the vault, also for webhooks: a request to a target must never
 * pass for a webhook call.
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

export function isIdempotencyKey(name: string): boolean {
  return name.toLowerCase() === 'idempotency-key';
}

/** Rejects invalid and reserved header names. */
export function checkHeaderName(name: string, field: string): void {
  if (!HEADER_NAME.test(name) || name.length > PROXY_LIMITS.headerNameMax) {
    throw invalidAt(field, `must have a header name of 1 to ${PROXY_LIMITS.headerNameMax} characters`);
  }
  if (RESERVED.has(name.toLowerCase()) || /^proxy-/i.test(name)) {
    throw invalidAt(field, 'must not be a header of the connection, of framing or of the vault');
  }
}

function readEntry(entry: JsonValue, field: string): HeaderEntries[number] {
  if (!(entry instanceof Map) || entry.size !== 1) {
    throw invalidAt(field, 'must be an object with one member, the name of a header and its value');
  }
  const [[name = '', value] = []] = entry;
  checkHeaderName(name, field);
  if (typeof value !== 'string' || value.length > PROXY_LIMITS.headerValueMax || !isHeaderText(value)) {
    const text = `a text of at most ${PROXY_LIMITS.headerValueMax} characters of ISO 8859-1`;
    throw invalidAt(field, `must have ${text} without control characters`);
  }
  return [name, value];
}

function isContentType([name]: HeaderEntries[number]): boolean {
  return name.toLowerCase() === 'content-type';
}

/**
 * Reads a list of at most 64 objects with one member each, a header. Control characters, characters beyond ISO 8859-1
 * and reserved headers are rejected at their place. A name may repeat, except `Content-Type`.
 */
export function readHeaderLines(value: JsonValue | undefined, field: string): HeaderEntries {
  if (value !== undefined && (!Array.isArray(value) || value.length > PROXY_LIMITS.headersMax)) {
    throw invalidAt(field, `must be a list of at most ${PROXY_LIMITS.headersMax} headers`);
  }
  const lines: HeaderEntries[number][] = [];
  for (const [at, entry] of (value ?? []).entries()) {
    const line = readEntry(entry, `${field}[${at}]`);
    if (isContentType(line) && lines.some(isContentType)) {
      throw invalidAt(`${field}[${at}]`, 'must be the only Content-Type');
    }
    lines.push(line);
  }
  return lines;
}

/**
 * Reads `request.headers` as `readHeaderLines` does, with templates as values. `Content-Type` has no tags: the escaping
 * of the body must not depend on stored data.
 */
export function readHeaders(
  value: JsonValue | undefined,
  field: string,
  options: TextOptions = {},
): ProxyHeaders {
  const lines = readHeaderLines(value, field);
  const headers = lines.map((line, at) => {
    const [name, text] = line;
    if (isContentType(line) && !options.literal && text.includes('{{')) {
      throw invalidAt(`${field}[${at}]`, 'must have no template tags in a Content-Type');
    }
    return { name, value: templateAt(text, `${field}[${at}]`, options) };
  });
  return { headers, format: bodyFormat(lines.find(isContentType)?.[1]) ?? 'json' };
}
