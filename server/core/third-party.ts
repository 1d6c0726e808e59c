/** Patterns, names and limits of requests to third parties, which schemas publish and threads check. */
const BASE64 = '[A-Za-z0-9+/]';
/** Base64 with padding of at least 24 bytes, the shortest secret of Standard Webhooks. */
const ENCODED = `whsec_(?:${BASE64}{4}){8,}(?:${BASE64}{2}==|${BASE64}{3}=)?`;
/** One character beyond control characters and the space, without the flag `u`, which schemas do not set. */
const VISIBLE = '(?:[!-~\\u0080-\\ud7ff\\ue000-\\uffff]|[\\ud800-\\udbff][\\udc00-\\udfff])';

const HEADER_TEXT = `${VISIBLE}(?: *${VISIBLE})*`;

/** Unicode text that a header can carry, that is, without control characters and without spaces at its ends. */
export const SENT_SECRET_PATTERN = `^${HEADER_TEXT}$`;

/**
 * The pattern of the secret of a webhook in schemas: text that a header can carry, which means the same key to every library
 * of Standard Webhooks. Its `whsk_` and `whpk_` are keys of signatures that the vault does not make.
 */
export const WEBHOOK_SECRET_PATTERN = `^(?:${ENCODED}|(?!whsec_|whsk_|whpk_)${HEADER_TEXT})$`;

/** The same as the rest of a sentence. */
export const WEBHOOK_SECRET_EXPECTED =
  'must be `whsec_` and Base64 with padding of at least 24 bytes, or a text of 1 to 1024 characters that a header can carry and that does not begin with `whsec_`, `whsk_` or `whpk_`';

/** The same for the published document, without syntax that only JavaScript knows: neither Base64 nor surrogates. */
export const HEADER_TEXT_PATTERN = '^[^\\x00-\\x20\\x7f](?:[^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f])?$';

/** The keyed digests that rules compute and connections sign with. */
export const HMAC_NAMES = ['hmac-sha-1', 'hmac-sha-256', 'hmac-sha-384', 'hmac-sha-512'] as const;

/** The limits of a connection, in UTF-16 units unless the name says otherwise. */
export const CONNECTION_LIMITS = {
  baseUrlMax: 2048,
  headersMax: 64,
  /** Names and values together: the limit of one request. */
  headersBytesMax: 32_768,
  pathsMax: 64,
  pathMax: 512,
  signKeyMax: 1024,
  signPayloadMax: 2048,
  timeoutMsMin: 1_000,
  timeoutMsMax: 20_000,
  rulesMax: 64,
  replyMax: 64,
  replyPathMax: 255,
} as const;

/** The methods that a proxy call can send. */
export const PROXY_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
/** One of these methods. */
export type ProxyMethod = (typeof PROXY_METHODS)[number];
