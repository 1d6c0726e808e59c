/** What makes a POST a webhook call: its headers, signed as the Standard Webhooks specification says. */
import { createHmac } from 'node:crypto';
import type { Secret } from '../core/secret.ts';
import { WEBHOOK_SECRET_PATTERN } from '../http/schema/webhook.ts';
import type { HeaderList } from './headers.ts';

/** One call of a webhook. */
export interface WebhookCall {
  /** The same on every call of one event: receivers drop repeats by it. Letters, digits, `_` and `-`. */
  readonly id: string;
  /** When this very call is made, in whole seconds since 1970. */
  readonly timestampSeconds: number;
  /** The bytes that are sent. */
  readonly body: Uint8Array;
  /** As `WEBHOOK_SECRET_PATTERN` has it; without one the call is not signed. */
  readonly secret?: Secret<string> | undefined;
}

const ID = /^[\w-]{1,128}$/;
const SECRET = new RegExp(WEBHOOK_SECRET_PATTERN);
const ENCODED = 'whsec_';

/** The only reply that ends the calls of a webhook. Any other, 201, 204 and redirects included, is a failure. */
const DELIVERED_STATUS = 200;

/**
 * The headers of one call, but for those of the connection. With a secret they hold it in clear and a signature
 * under it, `v1,` and Base64 of HMAC-SHA-256 over `id.timestamp.body`; the key is the text in UTF-8, or the Base64
 * after `whsec_`. A value has one character for each byte on the wire, which for a secret beyond ASCII are those of
 * UTF-8: with such a header Node must be given the body as bytes, or it writes both in another encoding.
 *
 * @throws {TypeError} for parts that no call can have; it names none of them.
 */
export const webhookHeaders = ({ id, timestampSeconds, body, secret }: WebhookCall): HeaderList => {
  // A dot in the id would let one signature stand for two different calls.
  if (!ID.test(id) || !Number.isSafeInteger(timestampSeconds) || timestampSeconds < 0) {
    throw new TypeError('A webhook call needs a plain id and a time in whole seconds.');
  }
  const headers: HeaderList = [
    ['Content-Type', 'application/json'],
    ['webhook-id', id],
    ['webhook-timestamp', String(timestampSeconds)],
  ];
  if (secret === undefined) {
    return headers;
  }
  const text = secret.expose();
  if (!SECRET.test(text)) {
    throw new TypeError('The secret of a webhook must be text that a header can carry.');
  }
  const mac = createHmac('sha256', keyOf(text)).update(`${id}.${timestampSeconds}.`).update(body);
  return [
    ...headers,
    ['webhook-signature', `v1,${mac.digest('base64')}`],
    ['X-Vault-Webhook-Secret', Buffer.from(text, 'utf8').toString('latin1')],
  ];
};

const keyOf = (secret: string): Buffer =>
  secret.startsWith(ENCODED)
    ? Buffer.from(secret.slice(ENCODED.length), 'base64')
    : Buffer.from(secret, 'utf8');

/** Whether a reply of this status ends the calls of a webhook. */
export const isDelivered = (status: number): boolean => status === DELIVERED_STATUS;
