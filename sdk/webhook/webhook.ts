/** Verification of webhooks for their receivers: a call is authentic and recent, and its body is parsed. */
import { VaultError } from '../transport/errors.ts';
import type { FailureWebhook, GetWebhook, NetworkTokenWebhook, PostWebhook } from '../transport/types.ts';

/**
 * Why a call was rejected. All codes except `body_malformed`, whose body is signed, mean that the call is not
 * authentic.
 */
export type WebhookErrorCode =
  /** `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing. */
  | 'header_missing'
  /** One of the headers came more than once, or the time is not a number of seconds. */
  | 'header_malformed'
  /** The call is older or newer than `toleranceSeconds`: a replay, or a wrong clock. */
  | 'timestamp_out_of_tolerance'
  /** No signature matches: the secret is another one, or the call was changed in transit. */
  | 'signature_mismatch'
  /** The secret in `X-Vault-Webhook-Secret` is another one. */
  | 'secret_mismatch'
  /** The body is signed, but no JSON object. */
  | 'body_malformed';

const MESSAGES: Readonly<Record<WebhookErrorCode, string>> = {
  header_missing: 'lacks a header of a signed webhook',
  header_malformed: 'has a header of a webhook that makes no sense',
  timestamp_out_of_tolerance: 'is too old or too new',
  signature_mismatch: 'has no signature that fits',
  secret_mismatch: 'carries another secret',
  body_malformed: 'has a body that is no JSON object',
};

/** A webhook call was rejected. Reply with 400. Distinguish cases by `code`, never by the message. */
export class VaultWebhookError extends VaultError {
  /** The name of the class. */
  override readonly name = 'VaultWebhookError';
  /** Why it was rejected. */
  readonly code: WebhookErrorCode;

  constructor(code: WebhookErrorCode) {
    super(`The webhook call ${MESSAGES[code]}.`);
    this.code = code;
  }
}

/**
 * The content of a webhook. Distinguish the kinds by their members: `'error' in event`, `'network_token' in event`,
 * `'token_info' in event`. The metadata of the request is added to them, except members with
 * the name of another one.
 */
export type WebhookPayload = PostWebhook | GetWebhook | NetworkTokenWebhook | FailureWebhook;

/** `Headers`, Node's `IncomingHttpHeaders`, or a plain object with names in any case. */
export type WebhookHeaders =
  | {
      /** As `Headers` has it. */
      readonly get: (name: string) => string | null | undefined;
    }
  | { readonly [name: string]: string | readonly string[] | undefined };

/** Options of a check. */
export interface VerifyOptions {
  /** The largest difference between the call's time and now, either way; 300. */
  readonly toleranceSeconds?: number | undefined;
  /** The time to compare with, as `Date.now()` returns it. */
  readonly now?: number | undefined;
}

const TOLERANCE_SECONDS = 300;
const SECONDS = /^\d{1,15}$/;
/** The signature scheme of Standard Webhooks with a shared secret. */
const VERSION = 'v1,';

async function verify<Metadata extends object = object, Payload = WebhookPayload>(
  headers: WebhookHeaders,
  body: string | Uint8Array | ArrayBuffer,
  secret: string,
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() }: VerifyOptions = {},
): Promise<Payload & Readonly<Metadata>> {
  if (!(toleranceSeconds >= 0 && toleranceSeconds < Number.POSITIVE_INFINITY)) {
    throw new VaultError('toleranceSeconds must be a number of seconds.');
  }
  const key = await hmacKeyOf(secret);
  const bytes = bytesOf(body);
  const id = neededHeader(headers, 'webhook-id');
  const time = neededHeader(headers, 'webhook-timestamp');
  const signatures = neededHeader(headers, 'webhook-signature');
  if (!SECONDS.test(time)) {
    throw new VaultWebhookError('header_malformed');
  }
  // In this form a `now` that is not a number is rejected as well.
  if (!(Math.abs(Math.floor(now / 1000) - Number(time)) <= toleranceSeconds)) {
    throw new VaultWebhookError('timestamp_out_of_tolerance');
  }
  const signature = await sign(key, `${id}.${time}.`, bytes);
  if (!listed(signatures, signature)) {
    throw new VaultWebhookError('signature_mismatch');
  }
  const shown = onlyHeader(headers, 'x-vault-webhook-secret');
  if (shown !== undefined && !(await isSecret(shown, secret))) {
    throw new VaultWebhookError('secret_mismatch');
  }
  return parsed(bytes) as Payload & Readonly<Metadata>;
}

function bytesOf(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof body === 'string') {
    return new TextEncoder().encode(body);
  }
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  }
  if (Object.prototype.toString.call(body) !== '[object ArrayBuffer]') {
    throw new VaultError('body must be the text or the bytes as received, before any parser.');
  }
  return new Uint8Array(body);
}

function onlyHeader(headers: WebhookHeaders, name: string): string | undefined {
  const values = headerValues(headers, name);
  if (values.length > 1) {
    throw new VaultWebhookError('header_malformed');
  }
  return values[0];
}

function neededHeader(headers: WebhookHeaders, name: string): string {
  const value = onlyHeader(headers, name);
  if (value === undefined || value === '') {
    throw new VaultWebhookError('header_missing');
  }
  return value;
}

/** Compares every signature, so that the time does not reveal which one was close. */
function listed(signatures: string, expected: Uint8Array): boolean {
  const wanted = new TextEncoder().encode(VERSION + base64(expected));
  const found = signatures.split(' ').map((entry) => sameBytes(new TextEncoder().encode(entry), wanted));
  return found.includes(true);
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

/** Most servers represent the bytes of a header as single characters, some decode them as UTF-8. */
async function isSecret(shown: string, secret: string): Promise<boolean> {
  const text = new TextEncoder().encode(secret);
  const singly = Array.from(text, (byte) => String.fromCharCode(byte)).join('');
  const [given, ...forms] = await Promise.all([shown, secret, singly].map((form) => digestOfText(form)));
  return given !== undefined && forms.map((form) => sameBytes(given, form)).includes(true);
}

function parsed(bytes: Uint8Array): object {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new VaultWebhookError('body_malformed');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new VaultWebhookError('body_malformed');
  }
  return value;
}

/** Every value of a header; `name` is in lower case. */
function headerValues(headers: WebhookHeaders, name: string): readonly string[] {
  if (hasGet(headers)) {
    const value = headers.get(name);
    return typeof value === 'string' ? [value] : [];
  }
  return Object.entries(headers)
    .filter(([own]) => own.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
}

function hasGet(
  headers: WebhookHeaders,
): headers is { readonly get: (name: string) => string | null | undefined } {
  return typeof headers.get === 'function';
}

const ENCODED = 'whsec_';
/** Keys of asymmetric signatures, which the vault does not make. */
const ASYMMETRIC = /^wh[sp]k_/;
/** Of at least 24 bytes, the shortest secret of Standard Webhooks. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4}){8,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The key of a secret. Throws a VaultError for a text that cannot be a secret. */
async function hmacKeyOf(secret: string): Promise<CryptoKey> {
  const { subtle } = crypto;
  if (subtle === undefined) {
    throw new VaultError('This page has no WebCrypto: webhooks are checked on servers, or under https.');
  }
  return subtle.importKey('raw', keyBytesOf(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

/** HMAC-SHA-256 (RFC 2104) over a prefix and the body after it. */
async function sign(key: CryptoKey, prefix: string, body: Uint8Array): Promise<Uint8Array> {
  const before = new TextEncoder().encode(prefix);
  const content = new Uint8Array(before.length + body.length);
  content.set(before);
  content.set(body, before.length);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, content));
}

function keyBytesOf(secret: string): Uint8Array<ArrayBuffer> {
  // Otherwise a missing setting would result in a key that everyone knows.
  if (typeof secret !== 'string' || secret === '') {
    throw new VaultError('secret must be the secret of the webhook.');
  }
  if (ASYMMETRIC.test(secret)) {
    throw new VaultError('secret must not begin with whsk_ or whpk_: the vault signs with a shared secret.');
  }
  if (!secret.startsWith(ENCODED)) {
    return new TextEncoder().encode(secret);
  }
  const encoded = secret.slice(ENCODED.length);
  if (!BASE64.test(encoded)) {
    throw new VaultError('secret must be Base64 of at least 24 bytes after whsec_.');
  }
  return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
}

/** The SHA-256 of a text. Comparing digests does not reveal how much of two texts is equal. */
async function digestOfText(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

/** Compares in a time that only depends on the lengths. */
function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let different = a.length ^ b.length;
  for (let at = 0; at < b.length; at += 1) {
    different |= (a[at] ?? 0) ^ (b[at] ?? 0);
  }
  return different === 0;
}

/**
 * The checks of a receiver of webhooks.
 * @see /guide/webhooks
 */
export interface Webhooks {
  /**
   * Verifies that a webhook call was made by the vault under your secret, unchanged and recent, and returns its content. `headers` are all those of the call, as fetch or Node have them; `body` is the
   * text or the bytes exactly as received, before any parser; `secret` is the `webhook.secret` of the proxy request or the
   * capture endpoint, or the `secret` of the event subscription.
   * One event may be called several times: repeats have the same `webhook-id`. `Metadata` is the type of the metadata
   * that your requests give; `Payload` is {@link CaptureWebhook} for the webhook of a capture endpoint, and {@link EventWebhook} for an event.
   * @see /guide/webhooks
   * @throws {@link VaultWebhookError}, whose `code` says why
   * @example
   * const receive = async (request: Request): Promise<Response> => {
   *   const body = await request.text();
   *   const event = await webhooks.verify<{ order: string }>(request.headers, body, secret);
   *   console.log(event.order, 'error' in event ? event.code : 'done');
   *   return new Response();
   * };
   */
  readonly verify: <Metadata extends object = object, Payload = WebhookPayload>(
    headers: WebhookHeaders,
    body: string | Uint8Array | ArrayBuffer,
    secret: string,
    options?: VerifyOptions,
  ) => Promise<Payload & Readonly<Metadata>>;
}

/** Verifies webhooks in their receiver. */
export const webhooks: Webhooks = { verify };
