import { VaultError } from '../../core/errors.ts';
import type { HeaderEntries } from '../../core/headers.ts';
import { CONNECTION_LIMITS, HMAC_NAMES, PROXY_METHODS, type ProxyMethod } from '../../core/third-party.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { parseNamedPath } from '../json/named.ts';
import {
  flagAt,
  hasDotSegment,
  invalidAt,
  member,
  objectAt,
  optionalAt,
  PROXY_LIMITS,
  rejectOthers,
  textAt,
} from '../proxy/fields.ts';
import { checkHeaderName, readHeaderLines } from '../proxy/headers.ts';
import { readCertificateId, readMethod, splitUrl } from '../proxy/request.ts';
import { isIdentifier } from '../text/identifiers.ts';
import { formatStoredAt } from '../text/time.ts';

export interface ConnectionSettings {
  /** Origin and path, without a trailing slash. */
  readonly baseUrl: string;
  /** Added to every request, replacing the caller's headers of these names; names may repeat. */
  readonly headers: HeaderEntries;
  readonly clientCertId?: string | undefined;
  /** Allowed methods; omitted: any. */
  readonly methods?: readonly ProxyMethod[] | undefined;
  /** Allowed prefixes of a path after `baseUrl`; omitted: any path. */
  readonly paths?: readonly string[] | undefined;
  readonly sign?: Signing | undefined;
  readonly timeoutMs?: number | undefined;
  /** Rules for the data that a proxied request sends, in order. */
  readonly rules?: readonly string[] | undefined;
  /** Paths of the members of a JSON reply that callers without access to data see. */
  readonly reply?: readonly string[] | undefined;
  /** Inbounds may forward requests to it. */
  readonly inbound?: boolean | undefined;
}

export interface Connection extends ConnectionSettings {
  /** Times in ms since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ShownConnection {
  id: string;
  base_url: string;
  headers: string[];
  client_cert_id?: string;
  methods?: ProxyMethod[];
  paths?: string[];
  sign?: Omit<Signing, 'key'>;
  timeout_ms?: number;
  rules?: string[];
  reply?: string[];
  inbound?: true;
  created_at: string;
  updated_at: string;
}

interface ConnectionOptions {
  /** The id in the path; undefined if only the body has one. */
  readonly id?: string | undefined;
  /** Unknown members are errors. */
  readonly refuseUnknown: boolean;
  /** The caller may decide what others see. */
  readonly mayReveal: boolean;
  /** The replaced connection; undefined at creation. */
  readonly previous?: ConnectionSettings | undefined;
}

/** The members of a body. */
export const CONNECTION_MEMBERS = [
  ...['id', 'base_url', 'headers', 'client_cert_id', 'methods'],
  ...['paths', 'sign', 'timeout_ms', 'rules', 'reply', 'inbound'],
];
/** Segments and slashes (RFC 3986, section 3.3). */
const PATH = /^(?:\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-F]{2})*)+$/i;
/** Slashes that a server may decode after routing. */
const ENCODED_SLASH = /%(?:2f|5c)/i;
const PATH_EXPECTED =
  'without dot segments, encoded slashes, query, fragment, and characters that a URL must encode';

/** Tells whether every server parses a path in the same way. */
function isPlainPath(text: string): boolean {
  return PATH.test(text) && !ENCODED_SLASH.test(text) && !hasDotSegment(text);
}

function readId(value: JsonValue | undefined, fromPath: string | undefined): string {
  if (fromPath !== undefined) {
    if (value !== undefined && value !== fromPath) {
      throw invalidAt('body.id', 'must be the id in the path, or be left out');
    }
    return fromPath;
  }
  if (typeof value !== 'string' || !isIdentifier(value) || value === '.' || value === '..') {
    const characters = 'must have 1 to 128 letters, digits or characters of `._@:-`';
    throw invalidAt('body.id', `${characters}, and must not be \`iframe\`, \`.\` or \`..\``);
  }
  return value;
}

function readBaseUrl(value: JsonValue | undefined, field: string): string {
  const [origin, rest] = splitUrl(textAt(value, field, CONNECTION_LIMITS.baseUrlMax), field);
  if (rest !== '' && !isPlainPath(rest)) {
    throw invalidAt(field, `must be an https URL ${PATH_EXPECTED}`);
  }
  return origin + rest.replace(/(?<!\/)\/+$/, '');
}

function readOwnHeaders(value: JsonValue | undefined, field: string): HeaderEntries {
  const headers = readHeaderLines(value, field);
  for (const [at, [name]] of headers.entries()) {
    checkOwnHeader(name, `${field}[${at}]`);
  }
  const bytes = headers.reduce((sum, [name, text]) => sum + name.length + text.length, 0);
  if (bytes > CONNECTION_LIMITS.headersBytesMax) {
    throw invalidAt(field, `must have at most ${CONNECTION_LIMITS.headersBytesMax} characters together`);
  }
  return headers;
}

/** The distinct entries of a list that is not empty. */
function readList<T>(
  value: JsonValue,
  field: string,
  max: number,
  read: (entry: JsonValue, place: string) => T,
): readonly T[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > max) {
    throw invalidAt(field, `must be a list of 1 to ${max} entries`);
  }
  const entries: T[] = [];
  for (const [at, each] of value.entries()) {
    const place = `${field}[${at}]`;
    const entry = read(each, place);
    if (entries.includes(entry)) {
      throw invalidAt(place, 'must not come again');
    }
    entries.push(entry);
  }
  return entries;
}

function readPath(value: JsonValue, field: string): string {
  const path = textAt(value, field, CONNECTION_LIMITS.pathMax);
  if (!isPlainPath(path)) {
    throw invalidAt(field, `must begin with \`/\` and be a path ${PATH_EXPECTED}`);
  }
  return path;
}

function readTimeout(value: JsonValue, field: string): number {
  const { timeoutMsMin, timeoutMsMax } = CONNECTION_LIMITS;
  const timeoutMs = value instanceof JsonNumber && /^\d{4,5}$/.test(value.text) ? Number(value.text) : 0;
  if (timeoutMs < timeoutMsMin || timeoutMs > timeoutMsMax) {
    throw invalidAt(field, `must be an integer of ${timeoutMsMin} to ${timeoutMsMax}`);
  }
  return timeoutMs;
}

/** Settings that decide what others see or send. */
type ShowingSettings = Pick<ConnectionSettings, 'rules' | 'reply' | 'inbound'>;

function readRuleId(value: JsonValue, field: string): string {
  if (typeof value !== 'string' || !isIdentifier(value)) {
    throw invalidAt(field, 'must be the id of a rule');
  }
  return value;
}

function readReplyPath(value: JsonValue, field: string): string {
  const path = textAt(value, field, CONNECTION_LIMITS.replyPathMax);
  if (parseNamedPath(path) === undefined) {
    throw invalidAt(field, 'must be a path such as `id`, `error.code` or `items[*].id`');
  }
  return path;
}

function readShowing(body: JsonObject): ShowingSettings {
  const { rulesMax, replyMax } = CONNECTION_LIMITS;
  const read = <T>(name: string, max: number, entry: (value: JsonValue, place: string) => T) =>
    optionalAt(body, 'body', name, (value, field) =>
      Array.isArray(value) && value.length === 0 ? undefined : readList(value, field, max, entry),
    );
  return {
    rules: read('rules', rulesMax, readRuleId),
    reply: read('reply', replyMax, readReplyPath),
    inbound: optionalAt(body, 'body', 'inbound', flagAt),
  };
}

/** The error for a setting that the caller may not decide. */
export function needsReveal(field: string): VaultError {
  return new VaultError('not_allowed', { field, expected: 'needs `vault:read` and unmasked output' });
}

/** Keeps the settings of a caller who may not decide them; the body may repeat them. */
function keptShowing(body: JsonObject, previous: ShowingSettings = {}): ShowingSettings {
  const { rules, reply, inbound } = readShowing(body);
  const { rules: ownRules, reply: ownReply, inbound: ownInbound } = previous;
  for (const [name, given, own] of [
    ['rules', rules, ownRules],
    ['reply', reply, ownReply],
  ] as const) {
    if (given !== undefined && (given.length !== own?.length || given.some((each, at) => each !== own[at]))) {
      throw needsReveal(`body.${name}`);
    }
  }
  if (inbound !== undefined && inbound !== (ownInbound ?? false)) {
    throw needsReveal('body.inbound');
  }
  return { rules: ownRules, reply: ownReply, inbound: ownInbound };
}

/**
 * Reads the body of a connection, and its id from there or from the path. Null counts as omitted; every error is
 * `invalid_request` at its place (`body.headers[2]`). Header values are literal. Whether the host is allowed is checked
 * later, when it is resolved.
 */
export function readConnection(
  body: JsonObject,
  { id, refuseUnknown, mayReveal, previous }: ConnectionOptions,
): { readonly id: string; readonly settings: ConnectionSettings } {
  if (refuseUnknown) {
    rejectOthers(body, CONNECTION_MEMBERS, 'body');
  }
  const { pathsMax } = CONNECTION_LIMITS;
  const named = readId(member(body, 'id'), id);
  const baseUrl = readBaseUrl(member(body, 'base_url'), 'body.base_url');
  const headers = readOwnHeaders(member(body, 'headers'), 'body.headers');
  const settings = {
    baseUrl,
    headers,
    clientCertId: optionalAt(body, 'body', 'client_cert_id', readCertificateId),
    methods: optionalAt(body, 'body', 'methods', (value, field) =>
      readList(value, field, PROXY_METHODS.length, readMethod),
    ),
    paths: optionalAt(body, 'body', 'paths', (value, field) => readList(value, field, pathsMax, readPath)),
    sign: optionalAt(body, 'body', 'sign', (value, field) =>
      readSigning(value, field, { headers, refuseUnknown }),
    ),
    timeoutMs: optionalAt(body, 'body', 'timeout_ms', readTimeout),
    ...(mayReveal ? readShowing(body) : keptShowing(body, previous)),
  };
  return { id: named, settings };
}

/** The public part of a connection: no header values and no signing key. */
export function showConnection(id: string, connection: Connection): ShownConnection {
  const { baseUrl, headers, clientCertId, methods, paths, sign, timeoutMs, rules, reply, inbound } =
    connection;
  return {
    id,
    base_url: baseUrl,
    headers: headers.map(([name]) => name),
    ...(clientCertId === undefined ? {} : { client_cert_id: clientCertId }),
    ...(methods === undefined ? {} : { methods: [...methods] }),
    ...(paths === undefined ? {} : { paths: [...paths] }),
    ...(sign === undefined
      ? {}
      : { sign: { algorithm: sign.algorithm, header: sign.header, payload: sign.payload } }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(rules === undefined ? {} : { rules: [...rules] }),
    ...(reply === undefined ? {} : { reply: [...reply] }),
    ...(inbound === true ? { inbound } : {}),
    created_at: formatStoredAt(connection.createdAt),
    updated_at: formatStoredAt(connection.updatedAt),
  };
}

/** Tells whether a connection allows a path after its base URL: below one of its prefixes, which are whole segments. */
export function takesPath({ paths = [''] }: Pick<ConnectionSettings, 'paths'>, path: string): boolean {
  const isBelow = (prefix: string): boolean => {
    const next = path[prefix.length];
    return path.startsWith(prefix) && (prefix.endsWith('/') || next === undefined || next === '/');
  };
  return !hasDotSegment(path) && paths.some(isBelow);
}

/** Settings that sign the requests of a connection. */
export interface Signing {
  readonly algorithm: (typeof HMAC_NAMES)[number];
  /** Used as its UTF-8 bytes. */
  readonly key: string;
  readonly header: string;
  /** A text with tags, see `payloadPartsOf`. */
  readonly payload: string;
}

export type PayloadTag = 'method' | 'path' | 'timestamp' | 'body';

/** A literal piece of a payload, or the name of its value. */
export type PayloadPart = { readonly text: string } | { readonly tag: PayloadTag };
const SIGNING_NAMES = ['algorithm', 'key', 'header', 'payload'];
const TAG = /\{\{(method|path|timestamp|body)\}\}/;
const PAYLOAD_EXPECTED =
  'must have `{{body}}` or `{{path}}`, and no tags but `{{method}}`, `{{path}}`, `{{timestamp}}` and `{{body}}`';

export function payloadPartsOf(payload: string): readonly PayloadPart[] {
  // A pattern with one group makes text and tag alternate.
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

/** Rejects header names that a connection may not set, such as the vault's own. */
export function checkOwnHeader(name: string, field: string): void {
  checkHeaderName(name, field);
  if (/^x-vault-/i.test(name)) {
    throw invalidAt(field, 'must not be a header of the vault');
  }
}

/** Reads `sign` of a connection with these headers, which must not include that of the signature. */
export function readSigning(
  value: JsonValue,
  field: string,
  { headers, refuseUnknown }: { readonly headers: HeaderEntries; readonly refuseUnknown: boolean },
): Signing {
  const object = objectAt(value, field);
  if (refuseUnknown) {
    rejectOthers(object, SIGNING_NAMES, field);
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
