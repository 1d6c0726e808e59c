/** Requests of every kind at a steady pace, and how long each took. */

import { type Credentials, call, makeKey, OWNER, type Vault } from '../bench/servers.ts';
import { pick } from '../durability/chance.ts';
import { bindParts } from '../helpers/bind.ts';

const USER = 'soak';
const CARD = { card_holder: 'Ada Lovelace', expiry_month: '12', expiry_year: '2030', cvv: '123' };
/** Items that stay, so that Redis does not grow with the load: older ones are deleted. */
const ITEMS_MAX = 5_000;
const LANES = 24;
const OLDEST = 100;

type Kind = 'store' | 'capture' | 'open' | 'update' | 'list';
const SHARES: readonly (readonly [weight: number, kind: Kind])[] = [
  [8, 'capture'],
  [3, 'store'],
  [6, 'open'],
  [1, 'update'],
  [2, 'list'],
];

/** What one minute of the mix came to. */
export interface Minute {
  readonly latenciesMs: readonly number[];
  readonly failed: number;
}

interface Item {
  readonly token: string;
  readonly reference: string;
}

interface Parts {
  readonly vault: Vault;
  /** The capture endpoint. */
  readonly url: string;
  readonly secret: string;
  readonly items: Item[];
  sequence: number;
}

/** Makes a key and an endpoint for the mix. */
export async function prepareMix(vault: Vault) {
  await makeKey(vault, OWNER, USER);
  const made = await call(vault, OWNER, `/v1/capture?user=${USER}&ttl=0`, {});
  const { url, secret } = (await made.json()) as { readonly url: string; readonly secret: string };
  const parts: Parts = { vault, url, secret, items: [], sequence: 0 };
  return bindParts(parts, { run, saturate });
}

/** Runs for a while at a number of requests a second. Lanes take the next moment each; a late one goes on at once. */
async function run(parts: Parts, seconds: number, perSecond: number): Promise<Minute> {
  const latenciesMs: number[] = [];
  const begun = performance.now();
  let [next, failed] = [0, 0];
  const lane = async (): Promise<void> => {
    while (performance.now() - begun < seconds * 1_000) {
      const dueMs = begun + (next++ / perSecond) * 1_000;
      await Bun.sleep(Math.max(0, dueMs - performance.now()));
      failed += (await timed(latenciesMs, sendOne(parts, pick(Math.random(), SHARES)))) ? 0 : 1;
      failed += (await timed([], deleteOldest(parts))) ? 0 : 1;
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return { latenciesMs, failed };
}

/** Runs for a while as fast as it goes; gives the requests a second. */
async function saturate(parts: Parts, seconds: number): Promise<number> {
  return (await run(parts, seconds, 1e9)).latenciesMs.length / seconds;
}

async function timed(latenciesMs: number[], request: Promise<Response | undefined>): Promise<boolean> {
  const begun = performance.now();
  const response = await request.catch(() => null);
  await response?.arrayBuffer();
  latenciesMs.push(performance.now() - begun);
  return response === undefined || response?.ok === true;
}

function send(
  { vault }: Parts,
  method: string,
  target: string,
  headers: object,
  body?: object,
): Promise<Response> {
  return fetch(`http://127.0.0.1:${vault.port}${target}`, {
    method,
    headers: headers as Credentials,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function sendOne(parts: Parts, kind: Kind): Promise<Response> {
  const { items, sequence } = parts;
  // The oldest are being deleted at this moment.
  const item = items[OLDEST + Math.floor(Math.random() * (items.length - OLDEST))];
  if (kind === 'store' || kind === 'capture' || item === undefined) {
    return add(parts, kind === 'store');
  }
  const query = queryOf(item);
  if (kind === 'open') {
    return send(parts, 'GET', `/v1/vault?${query}`, OWNER);
  }
  return kind === 'update'
    ? send(parts, 'POST', `/v1/vault/update?${query}`, OWNER, { seen: sequence })
    : send(parts, 'GET', `/v1/vault?user=${USER}&limit=100`, OWNER);
}

function queryOf({ token, reference }: Item): string {
  return `user=${USER}&token=${token}&reference=${reference}`;
}

/** Stores an item as its owner, or captures it. */
async function add(parts: Parts, asOwner: boolean): Promise<Response> {
  const { url, secret, items } = parts;
  parts.sequence += 1;
  const reference = `order-${parts.sequence}`;
  const body = { ...CARD, card_number: `411111${String(parts.sequence).padStart(10, '0')}` };
  const target = asOwner ? `/v1/vault?user=${USER}&` : `${url}?`;
  const headers = asOwner ? OWNER : { 'X-Vault-Capture-Secret': secret };
  const response = await send(parts, 'POST', `${target}reference=${reference}`, headers, body);
  if (response.ok) {
    const { token } = (await response.clone().json()) as { readonly token: string };
    items.push({ token, reference });
  }
  return response;
}

async function deleteOldest(parts: Parts): Promise<Response | undefined> {
  const item = parts.items.length > ITEMS_MAX ? parts.items.shift() : undefined;
  return item && send(parts, 'DELETE', `/v1/vault?${queryOf(item)}`, OWNER);
}
