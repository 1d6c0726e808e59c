/** Webhooks: calls as the vault makes them, receivers, and what a signature must be, worked out without its code. */
import { createHmac } from 'node:crypto';
import { Secret } from '../../server/core/secret.ts';
import { webhookBody } from '../../server/domain/proxy/webhook-body.ts';
import { webhookHeaders } from '../../server/outbound/webhook.ts';
import type { Act, Received, ThirdParty } from './third-party.ts';

const KEY = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** Secrets that are none of Standard Webhooks: no Base64 with padding, too short, or a key of an asymmetric signature. */
export const UNUSABLE_SECRETS = [
  ...[
    'whsec_',
    'whsec_x',
    'whsec_%',
    'whsec_A-_A',
    'whsec_AAAA',
    'whsec_a plain text',
    `whsec_${KEY.slice(4)}`,
  ],
  ...[`whsec_${KEY.slice(2)}==`, `whsec_${KEY}A`, `whsec_${KEY}AA`, `whsec_${KEY}AA=`, `whsec_${KEY}=`],
  ...[
    `whsec_${KEY.replace('q', '-')}`,
    `whsec_AA==${KEY}`,
    `whsec_${KEY} `,
    `whsk_${KEY}`,
    `whpk_${KEY}`,
    'whpk_',
  ],
] as const;

/** One webhook call as its receiver sees it. */
export interface WebhookEvent {
  /** `webhook-id`. */
  readonly id: string | undefined;
  /** The body as JavaScript sees it. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly received: Received;
}

/** A place that webhooks are sent to. */
export interface Receiver {
  /** The `webhook` member of a proxy request. */
  readonly webhook: { readonly url: string; readonly secret: string };
  /** All calls so far. */
  readonly events: () => readonly WebhookEvent[];
  /** The next call that this has not given yet, as soon as it is there. */
  readonly next: () => Promise<WebhookEvent>;
}

function eventOf(received: Received): WebhookEvent {
  return {
    id: received.header('webhook-id'),
    json: JSON.parse(received.text),
    received,
  };
}

/** The signature that Standard Webhooks asks for: `v1,` and Base64 of HMAC-SHA-256 over id, time and body. */
export function signatureOf(secret: string, id: string, timestamp: string, body: Uint8Array): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}

/** The signature that a call must have for its own id, time and body. */
export function expectedSignature(secret: string, { header, body }: Received): string {
  return signatureOf(secret, header('webhook-id') ?? '', header('webhook-timestamp') ?? '', body);
}

let receivers = 0;

/** Has a third party receive webhooks at a path of their own; it answers 200 unless `acts` say otherwise. */
export function createReceiver(party: ThirdParty, ...acts: Act[]): Receiver {
  receivers += 1;
  const path = `/webhook-${receivers}`;
  let given = 0;
  party.script(path, ...(acts.length === 0 ? [200] : acts));
  return {
    webhook: { url: party.url(path), secret: `secret of webhook ${receivers}` },
    events: () => party.calls(path).map(eventOf),
    next: async () => {
      given += 1;
      return eventOf(await party.call(path, given));
    },
  };
}

/** The call that tells of a declined request of order 4711, signed now, as the vault makes it. */
export function webhookCall(secret: string): {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
} {
  const parts = { kind: 'post', headers: [['X-A', 'b']], statusCode: 402, body: 'declined' } as const;
  const body = webhookBody(parts, new Map([['order', '4711']]));
  const timestampSeconds = Math.floor(Date.now() / 1000);
  const headers = webhookHeaders({ id: 'evt_1', timestampSeconds, body, secret: new Secret(secret) });
  return { headers: Object.fromEntries(headers), body: new TextDecoder().decode(body) };
}
