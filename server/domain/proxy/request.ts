import { WEBHOOK_SECRET_PATTERN } from '../../http/schema/webhook.ts';
import { type JsonObject, type JsonValue, jsonByteLength } from '../json/json.ts';
import type { Template } from '../template/template.ts';
import { isIdentifier } from '../text/identifiers.ts';
import type { BodyFormat } from '../text/media-type.ts';
import {
  countAt,
  flagAt,
  hasControl,
  invalidAt,
  member,
  objectAt,
  PROXY_LIMITS,
  type TextOptions,
  templateAt,
  textAt,
  type WebhookOptions,
} from './fields.ts';
import { type ProxyHeader, readHeaders } from './headers.ts';

/** The methods that a proxy call can send. */
export const PROXY_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** One of these methods. */
export type ProxyMethod = (typeof PROXY_METHODS)[number];

/** A request to send, with its templates parsed; plain data that can be handed to a worker. */
export interface ParsedRequest {
  readonly method: ProxyMethod;
  /** Scheme, host and port, which no template reaches: `https://api.example.com`, `https://[2001:db8::1]:8443`. */
  readonly origin: string;
  /** Path, query and fragment; empty or beginning with `/`, `?` or `#`. */
  readonly target: Template;
  readonly headers: readonly ProxyHeader[];
  /** How values are escaped in the body. */
  readonly format: BodyFormat;
  readonly body?: Template;
  readonly clientCertId?: string;
}

/** Where results are reported to. */
export interface ParsedWebhook {
  readonly url: string;
  readonly secret?: string;
  readonly maxAttempts: number;
  readonly metadata?: JsonObject;
}

/** What the body of POST /proxy/post and /proxy/get asks for. */
export interface ParsedProxyOrder {
  readonly request: ParsedRequest;
  readonly synchronous: boolean;
  readonly webhook?: ParsedWebhook;
}

/** Scheme and authority of a URL, and all that follows. Nothing that parsers read in different ways. */
const HTTPS_URL = /^(https:\/\/[^/?#\\\s@{}<>"^`|%]+)([/?#].*)?$/is;

function originOf(text: string, field: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalidAt(field);
  }
  if (url.protocol !== 'https:' || url.hostname === '' || url.pathname !== '/') {
    throw invalidAt(field);
  }
  return url.origin;
}

/** Cuts an https URL into its origin, in the form that `URL` gives it, and the rest as it is written. */
function splitUrl(text: string, field: string): [string, string] {
  const parts = hasControl(text) ? null : HTTPS_URL.exec(text);
  if (parts === null) {
    throw invalidAt(field);
  }
  return [originOf(parts[1] ?? '', field), parts[2] ?? ''];
}

function isMethod(text: string): text is ProxyMethod {
  return PROXY_METHODS.some((method) => method === text);
}

function readMethod(value: JsonValue | undefined, field: string): ProxyMethod {
  const method = textAt(value, field, 16).toUpperCase();
  if (!isMethod(method)) {
    throw invalidAt(field);
  }
  return method;
}

function readBody(value: JsonValue | undefined, field: string, options: TextOptions): Template | undefined {
  if (value === undefined || value === '') {
    return undefined;
  }
  const text = textAt(value, field, PROXY_LIMITS.bodyMax);
  return templateAt(text, field, options);
}

function readRequest(value: JsonValue | undefined, field: string, options: TextOptions): ParsedRequest {
  const object = objectAt(value, field);
  const method = readMethod(member(object, 'method'), `${field}.method`);
  const urlField = `${field}.url`;
  const [origin, rest] = splitUrl(textAt(member(object, 'url'), urlField, PROXY_LIMITS.urlMax), urlField);
  const target = templateAt(rest, urlField, options);
  const headers = readHeaders(member(object, 'headers'), `${field}.headers`, options);
  const body = readBody(member(object, 'body'), `${field}.body`, options);
  const clientCertId = member(object, 'client_cert_id');
  if (clientCertId !== undefined && (typeof clientCertId !== 'string' || !isIdentifier(clientCertId))) {
    throw invalidAt(`${field}.client_cert_id`);
  }
  return {
    method,
    origin,
    target,
    ...headers,
    ...(body === undefined ? {} : { body }),
    ...(clientCertId === undefined ? {} : { clientCertId }),
  };
}

const WEBHOOK_SECRET = new RegExp(WEBHOOK_SECRET_PATTERN);

function readSecret(value: JsonValue, field: string): string {
  const secret = textAt(value, field, PROXY_LIMITS.webhookSecretMax);
  if (!WEBHOOK_SECRET.test(secret)) {
    throw invalidAt(field);
  }
  return secret;
}

function readWebhook(
  value: JsonValue | undefined,
  field: string,
  { webhookAttempts }: WebhookOptions,
): ParsedWebhook {
  const object = objectAt(value, field);
  const url = textAt(member(object, 'url'), `${field}.url`, PROXY_LIMITS.webhookUrlMax);
  const [origin, rest] = splitUrl(url, `${field}.url`);
  const secret = member(object, 'secret');
  const attemptsField = `${field}.max_attempts`;
  const { webhookAttemptsMax } = PROXY_LIMITS;
  const maxAttempts = countAt(
    member(object, 'max_attempts'),
    attemptsField,
    webhookAttemptsMax,
    webhookAttempts,
  );
  const given = member(object, 'metadata');
  const metadata = given === undefined ? undefined : objectAt(given, `${field}.metadata`);
  if (metadata !== undefined && jsonByteLength(metadata) > PROXY_LIMITS.metadataBytesMax) {
    throw invalidAt(`${field}.metadata`);
  }
  return {
    url: origin + rest,
    maxAttempts,
    ...(secret === undefined ? {} : { secret: readSecret(secret, `${field}.secret`) }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/**
 * Reads the body of POST /proxy/post and POST /proxy/get. Members that it does not know are ignored, null counts
 * as omitted, and every fault is `invalid_request` at its place (`body.request.headers[2]`). The URL is https
 * without user information; its scheme, host and port contain no tags. Methods may be written in small letters.
 * Whether the host may be reached is checked where the connection is made. With `literal` nothing is a tag: the
 * texts are sent as they are, `{{` included.
 */
export function parseProxyOrder(
  body: JsonObject,
  options: TextOptions & WebhookOptions = {},
): ParsedProxyOrder {
  const request = readRequest(member(body, 'request'), 'body.request', options);
  const synchronous = flagAt(member(body, 'synchronous'), 'body.synchronous');
  const webhook = member(body, 'webhook');
  return {
    request,
    synchronous,
    ...(webhook === undefined ? {} : { webhook: readWebhook(webhook, 'body.webhook', options) }),
  };
}

/** Reads the body of POST /proxy/network_token: the webhook object, bare or as `{ webhook }`. */
export function parseNetworkTokenOrder(body: JsonObject, options: WebhookOptions = {}): ParsedWebhook {
  const webhook = member(body, 'webhook');
  return webhook === undefined
    ? readWebhook(body, 'body', options)
    : readWebhook(webhook, 'body.webhook', options);
}
