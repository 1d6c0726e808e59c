/** The requests of one run, and what the third parties do with them: all of it settled by the seed. */
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { chanceOf, pick } from './chance.ts';
import type { Move } from './party.ts';

/** `keyed` is a POST with an `Idempotency-Key` for the third party, `token` a network token from the simulation. */
export const KINDS = ['post', 'keyed', 'put', 'get', 'token'] as const;
export type Kind = (typeof KINDS)[number];

/** One asynchronous request. */
export interface Order {
  /** Stands in its URLs and its metadata. */
  readonly label: string;
  readonly kind: Kind;
  readonly attempts: number;
  /** Of the webhook. */
  readonly maxAttempts: number;
  readonly secret: string;
  /** With one, the request is made again until it is accepted. */
  readonly idempotencyKey?: string;
  /** When it is made, in ms from the beginning. */
  readonly atMs: number;
}

/** Where the third parties of a run are. */
export interface Places {
  readonly target: (path: string) => string;
  readonly receiver: (path: string) => string;
}

/** Attempts of a network token request; the route has no parameter for them. */
const TOKEN_ATTEMPTS = 8;

/** Whether a request may be repeated when its outcome is unknown. */
export function isRepeatable({ kind }: Pick<Order, 'kind'>): boolean {
  return kind !== 'post';
}

/** The requests of a run, made over `sendMs`. */
export function planOrders(seed: number, count: number, sendMs: number): Order[] {
  return Array.from({ length: count }, (_, n) => {
    const label = `order-${n + 1}`;
    const drawn = (what: string): number => chanceOf(seed, `${what} of ${label}`);
    const kind = pick<Kind>(drawn('kind'), [
      [40, 'post'],
      [15, 'keyed'],
      [15, 'put'],
      [20, 'get'],
      [10, 'token'],
    ]);
    return {
      label,
      kind,
      attempts: kind === 'token' ? TOKEN_ATTEMPTS : 1 + Math.floor(drawn('attempts') * 4),
      maxAttempts: 2 + Math.floor(drawn('calls') * 4),
      secret: `webhook secret of ${label}`,
      ...(drawn('repeats') < 0.5 ? { idempotencyKey: `key of ${label}` } : {}),
      atMs: drawn('time') * sendMs,
    };
  });
}

function json(body: unknown): Pick<Move, 'headers' | 'body'> {
  return {
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify(body),
  };
}

function slowly(chance: number): number {
  return 1_000 + Math.round(chance * 2_000);
}

/** Reaction of the target to the n-th request for a path. */
export function targetMove(seed: number, path: string, n: number): Move {
  const afterMs = slowly(chanceOf(seed, `pause ${path} ${n}`));
  const good = { kind: 'reply', status: 200, ...json({ number: '5555555555554444', path, n }) } as const;
  const busy = { kind: 'reply', status: 503, body: `busy ${n}` } as const;
  return pick<Move>(chanceOf(seed, `move ${path} ${n}`), [
    [22, good],
    [12, { ...good, afterMs }],
    [15, busy],
    [6, { ...busy, afterMs }],
    [12, { kind: 'reply', status: 429, headers: [['Retry-After', '1']], body: `slow down ${n}` }],
    [14, { kind: 'reset' }],
    [8, { kind: 'reset', afterMs }],
    [8, { ...good, kind: 'cut' }],
    [3, { kind: 'hold' }],
  ]);
}

/** Whether the target cuts its n-th connection before anything was said. */
export function isRefused(seed: number, n: number): boolean {
  return chanceOf(seed, `connection ${n}`) < 0.15;
}

/** Reaction of the webhook receiver to the n-th call for a path. */
export function receiverMove(seed: number, path: string, n: number): Move {
  const afterMs = slowly(chanceOf(seed, `pause ${path} ${n}`));
  return pick<Move>(chanceOf(seed, `move ${path} ${n}`), [
    [50, { kind: 'reply', status: 200 }],
    [15, { kind: 'reply', status: 200, afterMs }],
    [15, { kind: 'reply', status: 500 }],
    [8, { kind: 'reply', status: 204 }],
    [8, { kind: 'reset' }],
    [4, { kind: 'cut', status: 200, body: 'x' }],
  ]);
}

const BODIES = { body: '{"pan":"{{card_number}}","cvc":"{{cvv}}"}' } as const;

function requestOf({ kind, label }: Order, { target }: Places): object {
  const url = target(`/target/${label}`);
  switch (kind) {
    case 'get':
      return { method: 'GET', url };
    case 'put':
      return { method: 'PUT', url, ...BODIES };
    case 'keyed':
      return { method: 'POST', url, headers: [{ 'Idempotency-Key': label }], ...BODIES };
    default:
      return { method: 'POST', url, ...BODIES };
  }
}

/** Makes the request of an order once. */
export function place(client: AccountClient, token: string, order: Order, places: Places): Promise<Answer> {
  const { kind, label, attempts, secret, maxAttempts, idempotencyKey } = order;
  const url = places.receiver(`/hook/${label}`);
  const webhook = { url, secret, max_attempts: maxAttempts, metadata: { label } };
  const sending = {
    passphrase: PASSPHRASE,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
  const item = { user: 'u', token };
  switch (kind) {
    case 'token':
      return client.send('POST', '/proxy/network_token', {
        ...sending,
        query: { ...item, requester_id: 'sim' },
        body: webhook,
      });
    case 'get':
      return client.send('POST', '/proxy/get', {
        ...sending,
        query: { user: 'u', attempts, algorithm: 'uuid' },
        body: { request: requestOf(order, places), webhook },
      });
    default:
      return client.send('POST', '/proxy/post', {
        ...sending,
        query: { ...item, attempts },
        body: { request: requestOf(order, places), webhook },
      });
  }
}
