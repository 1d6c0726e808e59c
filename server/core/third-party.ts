/** Patterns, names and limits of requests to third parties, which schemas publish and threads check. */
const BASE64 = '[A-Za-z0-9+/]';
const ENCODED = `whsec_(?=.)(?:${BASE64}{4})*(?:${BASE64}{2}==|${BASE64}{3}=)?`;
/** One character beyond control characters and the space, without the flag `u`, which schemas do not set. */
const VISIBLE = '(?:[!-~\\u0080-\\ud7ff\\ue000-\\uffff]|[\\ud800-\\udbff][\\udc00-\\udfff])';

/**
 * The pattern of the secret of a webhook in schemas: Unicode text that a header can carry, that is,
 * without control characters and without spaces at its ends. After `whsec_` it is Base64 with padding, so that
 * it means the same key to every library of Standard Webhooks.
 */
export const WEBHOOK_SECRET_PATTERN = `^(?:${ENCODED}|(?!whsec_)${VISIBLE}(?: *${VISIBLE})*)$`;

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
