import { createHmac } from 'node:crypto';
import type { HeaderEntries } from '../core/headers.ts';
import type { Secret } from '../core/secret.ts';
import { SENT_SECRET_PATTERN } from '../core/third-party.ts';

/** The message of one webhook attempt (Standard Webhooks). */
export interface WebhookMessage {
  /** The same in every attempt of one event, so that receivers can ignore duplicates. Letters, digits, `_` and `-`. */
  readonly id: string;
  /** The time of this attempt, in whole seconds since 1970. */
  readonly timestampSeconds: number;
  readonly body: Uint8Array;
  /** Can stand in a header; without a secret the webhook is not signed. */
  readonly secret?: Secret<string> | undefined;
}

const ID = /^[\w-]{1,128}$/;
const SECRET = new RegExp(SENT_SECRET_PATTERN);
const ENCODED = 'whsec_';

/** The only status that means delivered. All others are failures, including 201, 204 and redirects. */
const DELIVERED_STATUS = 200;

/**
 * The headers of one attempt, without those of the connection. With a secret they contain it in plain text, and a signature:
 * `v1,` and Base64 of HMAC-SHA-256 over `id.timestamp.body`. The key is the secret in UTF-8, or the Base64 after `whsec_`. A
 * header value has one character per byte on the wire, so a secret beyond ASCII is in UTF-8. Earlier versions accepted shorter
 * Base64, and `whsk_` and `whpk_` as text: what waits under such secrets is signed as before. Throws a TypeError for an invalid
 * id, time or secret, which its message does not contain.
 */
export function webhookHeaders({ id, timestampSeconds, body, secret }: WebhookMessage): HeaderEntries {
  // With a dot in the id, one signature could be valid for two different messages.
  if (!ID.test(id) || !Number.isSafeInteger(timestampSeconds) || timestampSeconds < 0) {
    throw new TypeError('A webhook needs a plain id and a time in whole seconds.');
  }
  const headers: HeaderEntries = [
    ['Content-Type', 'application/json'],
    ['webhook-id', id],
    ['webhook-timestamp', String(timestampSeconds)],
  ];
  if (secret === undefined) {
    return headers;
  }
  const text = secret.expose();
  if (!SECRET.test(text)) {
    throw new TypeError('The secret of a webhook must be valid in a header.');
  }
  const mac = createHmac('sha256', keyOf(text)).update(`${id}.${timestampSeconds}.`).update(body);
  return [
    ...headers,
    ['webhook-signature', `v1,${mac.digest('base64')}`],
    ['X-Vault-Webhook-Secret', Buffer.from(text, 'utf8').toString('latin1')],
  ];
}

function keyOf(secret: string): Buffer {
  return secret.startsWith(ENCODED)
    ? Buffer.from(secret.slice(ENCODED.length), 'base64')
    : Buffer.from(secret, 'utf8');
}

export function isDelivered(status: number): boolean {
  return status === DELIVERED_STATUS;
}
