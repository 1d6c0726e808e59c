/** A third party's address and credentials: how they are read, kept and shown. */

import { VaultError } from '../../core/errors.ts';
import { CONNECTION_LIMITS, PROXY_METHODS, type ProxyMethod } from '../../core/third-party.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { parseNamedPath } from '../json/named.ts';
import { hasDotSegment, invalidAt, member, rejectOthers, textAt } from '../proxy/fields.ts';
import { type HeaderLine, readHeaderLines } from '../proxy/headers.ts';
import { readCertificateId, readMethod, splitUrl } from '../proxy/request.ts';
import { isIdentifier } from '../text/identifiers.ts';
import { formatStoredAt } from '../text/time.ts';
import { checkOwnHeader, readSigning, type Signing } from './signing.ts';

/** What a connection is set up with. */
export interface ConnectionSettings {
  /** Origin and path, without a trailing slash. */
  readonly baseUrl: string;
  /** Added to every request, in place of the caller's own of these names; a name may come again. */
  readonly headers: readonly HeaderLine[];
  readonly clientCertId?: string | undefined;
  /** The only ones that may be sent; omitted: any. */
  readonly methods?: readonly ProxyMethod[] | undefined;
  /** What a path after `baseUrl` must begin with; omitted: any path. */
  readonly paths?: readonly string[] | undefined;
  readonly sign?: Signing | undefined;
  readonly timeoutMs?: number | undefined;
  /** Rules that are applied to all that a proxied request sends through it, in their order. */
  readonly rules?: readonly string[] | undefined;
  /** Paths of the members of a JSON reply that callers see who may not see data. */
  readonly reply?: readonly string[] | undefined;
}

/** A connection as it is kept. */
export interface Connection extends ConnectionSettings {
  /** Times in ms since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Public part of a connection. */
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
  created_at: string;
  updated_at: string;
}

/** How the body of a connection is read. */
interface ConnectionOptions {
  /** The id that the path has; undefined where only the body has one. */
  readonly id?: string | undefined;
  /** Whether members that are not known are errors. */
  readonly refuseUnknown: boolean;
  /** Whether the caller may decide what others see. */
  readonly mayReveal: boolean;
  /** The connection that is replaced; undefined at creation. */
  readonly previous?: ConnectionSettings | undefined;
}

const NAMES = [
  'id',
  'base_url',
  'headers',
  'client_cert_id',
  'methods',
  'paths',
  'sign',
  'timeout_ms',
  'rules',
  'reply',
];
/** Segments and slashes (RFC 3986, section 3.3). */
const PATH = /^(?:\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-F]{2})*)+$/i;
/** Slashes that a server may decode after it has decided what a path is for. */
const ENCODED_SLASH = /%(?:2f|5c)/i;
const PATH_EXPECTED =
  'without dot segments, encoded slashes, query, fragment, and characters that a URL must encode';

/** Whether a text is a path that every server takes apart in the same way. */
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

function readOwnHeaders(value: JsonValue | undefined, field: string): readonly HeaderLine[] {
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

/** The different entries of a list that is not empty. */
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

/** What `read` makes of a member, at its place; undefined where it is omitted. */
function optionalAt<T>(
  body: JsonObject,
  name: string,
  read: (value: JsonValue, field: string) => T,
): T | undefined {
  const value = member(body, name);
  return value === undefined ? undefined : read(value, `body.${name}`);
}

/** The settings that decide what callers see: the rules for sent data, and the named members of replies. */
type ShowingSettings = Pick<ConnectionSettings, 'rules' | 'reply'>;

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
    optionalAt(body, name, (value, field) =>
      Array.isArray(value) && value.length === 0 ? undefined : readList(value, field, max, entry),
    );
  return { rules: read('rules', rulesMax, readRuleId), reply: read('reply', replyMax, readReplyPath) };
}

/** The rejection, at its place, of what decides what others see, for a caller who may not. */
export function needsReveal(field: string): VaultError {
  return new VaultError('not_allowed', { field, expected: 'needs `vault:read` and unmasked output' });
}

/** The same of a caller who may not decide it: what there was stays, and may be repeated. */
function keptShowing(body: JsonObject, previous: ShowingSettings = {}): ShowingSettings {
  const { rules, reply } = readShowing(body);
  const kept = { rules: previous.rules, reply: previous.reply };
  for (const [name, given] of Object.entries({ rules, reply })) {
    const own = kept[name as keyof ShowingSettings];
    if (given !== undefined && (given.length !== own?.length || given.some((each, at) => each !== own[at]))) {
      throw needsReveal(`body.${name}`);
    }
  }
  return kept;
}

/**
 * Reads the body of a connection, and the id that it has there or in the path. Members that it does not know are errors
 * with `refuseUnknown`, null counts as omitted, and every fault is `invalid_request` at its place (`body.headers[2]`). Header
 * values are taken as they stand. Whether the host may be reached is checked by whoever can look it up.
 */
export function readConnection(
  body: JsonObject,
  { id, refuseUnknown, mayReveal, previous }: ConnectionOptions,
): { readonly id: string; readonly settings: ConnectionSettings } {
  if (refuseUnknown) {
    rejectOthers(body, NAMES, 'body');
  }
  const { pathsMax } = CONNECTION_LIMITS;
  const named = readId(member(body, 'id'), id);
  const baseUrl = readBaseUrl(member(body, 'base_url'), 'body.base_url');
  const headers = readOwnHeaders(member(body, 'headers'), 'body.headers');
  const settings = {
    baseUrl,
    headers,
    clientCertId: optionalAt(body, 'client_cert_id', readCertificateId),
    methods: optionalAt(body, 'methods', (value, field) =>
      readList(value, field, PROXY_METHODS.length, readMethod),
    ),
    paths: optionalAt(body, 'paths', (value, field) => readList(value, field, pathsMax, readPath)),
    sign: optionalAt(body, 'sign', (value, field) => readSigning(value, field, { headers, refuseUnknown })),
    timeoutMs: optionalAt(body, 'timeout_ms', readTimeout),
    ...(mayReveal ? readShowing(body) : keptShowing(body, previous)),
  };
  return { id: named, settings };
}

/** A connection as callers see it: no value of a header, and no signing key. */
export function showConnection(id: string, connection: Connection): ShownConnection {
  const { baseUrl, headers, clientCertId, methods, paths, sign, timeoutMs, rules, reply } = connection;
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
    created_at: formatStoredAt(connection.createdAt),
    updated_at: formatStoredAt(connection.updatedAt),
  };
}

/** Whether a connection takes a path behind its base URL: one below its prefixes, which are whole segments. */
export function takesPath({ paths = [''] }: Pick<ConnectionSettings, 'paths'>, path: string): boolean {
  const isBelow = (prefix: string): boolean => {
    const next = path[prefix.length];
    return path.startsWith(prefix) && (prefix.endsWith('/') || next === undefined || next === '/');
  };
  return !hasDotSegment(path) && paths.some(isBelow);
}
