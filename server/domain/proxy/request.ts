import {
  PROXY_METHODS,
  type ProxyMethod,
  WEBHOOK_SECRET_EXPECTED,
  WEBHOOK_SECRET_PATTERN,
} from '../../core/third-party.ts';
import { type JsonObject, type JsonValue, jsonByteLength } from '../json/json.ts';
import type { Template } from '../template/parse.ts';
import { isIdentifier } from '../text/identifiers.ts';
import type { BodyFormat } from '../text/media-type.ts';
import {
  countAt,
  flagAt,
  hasControl,
  invalidAt,
  member,
  objectAt,
  optionalAt,
  PROXY_LIMITS,
  rejectOthers,
  type TextOptions,
  templateAt,
  textAt,
} from './fields.ts';
import { type ProxyHeader, readHeaders } from './headers.ts';

/** A request to send, with its templates parsed: plain data for a worker. */
export interface ParsedRequest {
  readonly method: ProxyMethod;
  /** The connection with the base URL of the target; scheme and host are then empty. */
  readonly connection?: string | undefined;
  /** Scheme, host and port, without templates: `https://api.example.com`, `https://[2001:db8::1]:8443`. */
  readonly origin: string;
  /** Path, query and fragment; empty or beginning with `/`, `?` or `#`. */
  readonly target: Template;
  readonly headers: readonly ProxyHeader[];
  /** Format for escaping values in the body. */
  readonly format: BodyFormat;
  readonly body?: Template | undefined;
  readonly clientCertId?: string | undefined;
  /** Data of this call, in addition to the item's. */
  readonly extraData?: JsonObject | undefined;
}

export interface ParsedWebhook {
  readonly url: string;
  readonly secret?: string | undefined;
  readonly maxAttempts: number;
  readonly metadata?: JsonObject | undefined;
}

export interface ParsedProxyOrder {
  readonly request: ParsedRequest;
  readonly synchronous: boolean;
  readonly webhook?: ParsedWebhook | undefined;
}

export interface OrderOptions extends TextOptions {
  /** Unknown members are errors. */
  readonly refuseUnknown?: boolean;
  /** The default of delivery attempts, 1 to 8; 8 if omitted. */
  readonly webhookAttempts?: number;
}

/** The parameters of the routes that take orders. */
const PARAMETERS = {
  place: 'the query',
  names: [
    ...['user', 'token', 'reference', 'attempts', 'rules', 'debug', 'allow_missing'],
    ...['algorithm', 'smart_parse', 'requester_id', 'unique_id', 'ttl', 'overwrite', 'return_card_metadata'],
  ],
};

function rejectUnknown(
  object: JsonObject,
  names: readonly string[],
  field: string,
  { refuseUnknown }: OrderOptions,
): void {
  if (refuseUnknown) {
    rejectOthers(object, names, field, PARAMETERS);
  }
}

/** Scheme and authority of a URL, and the rest. Excludes everything that parsers read in different ways. */
const HTTPS_URL = /^(https:\/\/[^/?#\\\s@{}<>"^`|%]+)([/?#].*)?$/is;

const HTTPS_EXPECTED = 'must be an https URL without user information, whose host has no template tags';

/** Splits an https URL into its origin, normalised by `URL`, and the unchanged rest. */
export function splitUrl(text: string, field: string): [string, string] {
  const [, base = '', rest = ''] = (hasControl(text) ? undefined : HTTPS_URL.exec(text)) ?? [];
  const url = URL.parse(base);
  if (url?.protocol !== 'https:' || url.hostname === '' || url.pathname !== '/') {
    throw invalidAt(field, HTTPS_EXPECTED);
  }
  return [url.origin, rest];
}

/** The method at a place, in upper case. */
export function readMethod(value: JsonValue | undefined, field: string): ProxyMethod {
  const text = textAt(value, field, 16).toUpperCase();
  const method = PROXY_METHODS.find((known) => known === text);
  if (method === undefined) {
    throw invalidAt(field, `must be one of ${PROXY_METHODS.map((each) => `\`${each}\``).join(', ')}`);
  }
  return method;
}

/** The id of a client certificate at a place; its existence is checked at use. */
export function readCertificateId(value: JsonValue, field: string): string {
  if (typeof value !== 'string' || !isIdentifier(value)) {
    throw invalidAt(field, 'must be the id of a certificate');
  }
  return value;
}

function readBody(value: JsonValue | undefined, field: string, options: TextOptions): Template | undefined {
  if (value === undefined || value === '') {
    return undefined;
  }
  return templateAt(textAt(value, field, PROXY_LIMITS.bodyMax), field, options);
}

/** The id of a connection, which has its own certificate; undefined without one. */
function readConnectionId(object: JsonObject, field: string): string | undefined {
  const id = member(object, 'connection');
  if (id !== undefined && (typeof id !== 'string' || !isIdentifier(id))) {
    throw invalidAt(`${field}.connection`, 'must be the id of a connection');
  }
  if (id !== undefined && member(object, 'client_cert_id') !== undefined) {
    throw invalidAt(`${field}.client_cert_id`, 'must be left out, since the connection has its own');
  }
  return id;
}

/** The path of a request through a connection, after its base URL. */
function readPath(text: string, field: string): string {
  if (hasControl(text) || !/^[/?]/.test(text) || text.startsWith('//')) {
    throw invalidAt(field, 'must be a path, since the connection has the rest of the URL');
  }
  return text;
}

const REQUEST_NAMES = ['method', 'url', 'headers', 'body', 'client_cert_id'] as const;

function readRequest(value: JsonValue | undefined, field: string, options: OrderOptions): ParsedRequest {
  const object = objectAt(value, field);
  const names = options.literal ? REQUEST_NAMES : [...REQUEST_NAMES, 'extra_data', 'connection'];
  rejectUnknown(object, names, field, options);
  const method = readMethod(member(object, 'method'), `${field}.method`);
  const urlField = `${field}.url`;
  const connection = options.literal ? undefined : readConnectionId(object, field);
  const url = textAt(member(object, 'url'), urlField, PROXY_LIMITS.urlMax);
  const [origin, rest] = connection === undefined ? splitUrl(url, urlField) : ['', readPath(url, urlField)];
  const target = templateAt(rest, urlField, options);
  const headers = readHeaders(member(object, 'headers'), `${field}.headers`, options);
  const body = readBody(member(object, 'body'), `${field}.body`, options);
  return {
    method,
    connection,
    origin,
    target,
    ...headers,
    body,
    clientCertId: optionalAt(object, field, 'client_cert_id', readCertificateId),
    extraData: options.literal ? undefined : optionalAt(object, field, 'extra_data', objectAt),
  };
}

const WEBHOOK_SECRET = new RegExp(WEBHOOK_SECRET_PATTERN);

function readSecret(value: JsonValue, field: string): string {
  const secret = textAt(value, field, PROXY_LIMITS.webhookSecretMax);
  if (!WEBHOOK_SECRET.test(secret)) {
    throw invalidAt(field, WEBHOOK_SECRET_EXPECTED);
  }
  return secret;
}

const WEBHOOK_NAMES = ['url', 'secret', 'max_attempts', 'metadata'] as const;

function readWebhook(value: JsonValue | undefined, field: string, options: OrderOptions): ParsedWebhook {
  const object = objectAt(value, field);
  rejectUnknown(object, WEBHOOK_NAMES, field, options);
  const url = textAt(member(object, 'url'), `${field}.url`, PROXY_LIMITS.webhookUrlMax);
  const [origin, rest] = splitUrl(url, `${field}.url`);
  const attempts = member(object, 'max_attempts');
  const attemptsMax = PROXY_LIMITS.webhookAttemptsMax;
  const maxAttempts = countAt(attempts, `${field}.max_attempts`, attemptsMax, options.webhookAttempts);
  const metadata = optionalAt(object, field, 'metadata', objectAt);
  if (metadata !== undefined && jsonByteLength(metadata) > PROXY_LIMITS.metadataBytesMax) {
    throw invalidAt(`${field}.metadata`, `must have at most ${PROXY_LIMITS.metadataBytesMax} bytes`);
  }
  const secret = optionalAt(object, field, 'secret', readSecret);
  return { url: origin + rest, maxAttempts, secret, metadata };
}

function readOptionalWebhook(body: JsonObject, options: OrderOptions): ParsedWebhook | undefined {
  return optionalAt(body, 'body', 'webhook', (webhook, field) => readWebhook(webhook, field, options));
}

/**
 * Reads the body of POST /proxy/post and POST /proxy/get. Null counts as omitted; every error is `invalid_request` at
 * its place (`body.request.headers[2]`). The URL is https without user information and tags in scheme, host and port.
 * Methods may be in lower case. Whether the host is allowed is checked when the connection is made. With `literal`,
 * texts are sent unchanged, including `{{`.
 */
export function parseProxyOrder(body: JsonObject, options: OrderOptions = {}): ParsedProxyOrder {
  rejectUnknown(body, ['request', 'synchronous', 'webhook'], 'body', options);
  const request = readRequest(member(body, 'request'), 'body.request', options);
  const synchronous = flagAt(member(body, 'synchronous'), 'body.synchronous');
  return { request, synchronous, webhook: readOptionalWebhook(body, options) };
}

/** Reads the body of POST /capture: an optional webhook. */
export function parseCaptureOrder(body: JsonObject, options: OrderOptions = {}): ParsedWebhook | undefined {
  rejectUnknown(body, ['webhook'], 'body', options);
  return readOptionalWebhook(body, options);
}

/** Reads the body of POST /proxy/network_token: the webhook object, bare or as `{ webhook }`. */
export function parseNetworkTokenOrder(body: JsonObject, options: OrderOptions = {}): ParsedWebhook {
  const webhook = member(body, 'webhook');
  if (webhook === undefined) {
    return readWebhook(body, 'body', options);
  }
  rejectUnknown(body, ['webhook'], 'body', options);
  return readWebhook(webhook, 'body.webhook', options);
}
