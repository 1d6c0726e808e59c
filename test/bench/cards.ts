/** The cards that are stored, and the plans of requests about them. */
import type { Load } from './load.ts';
import { LINE, type Plan, SEQUENCE, sequenceText } from './plan.ts';
import { type Credentials, call, makeKey, OWNER, type Server, type Vault } from './servers.ts';

/** A vault key, and who may use it. */
export interface Holding {
  readonly user: string;
  readonly credentials: Credentials;
}

/** Cards without and with a verification code, keys that grow, and a card that is sent. */
export const PLAIN: Holding = { user: 'plain', credentials: OWNER };
export const CODED: Holding = { user: 'coded', credentials: OWNER };
export const CAPTURING: Holding = { user: 'capturing', credentials: OWNER };
export const GROWING: Holding = { user: 'growing', credentials: OWNER };
export const GROWN: Holding = { user: 'grown', credentials: OWNER };
export const PROXIED: Holding = { user: 'proxied', credentials: OWNER };

/** Cards that are stored side by side where addresses are wanted. */
const AT_ONCE = 16;

// Ten digits count up; no check digit, which the vault does not ask for.
export const CARD = {
  card_number: `411111${SEQUENCE}`,
  card_holder: 'Ada Lovelace',
  expiry_month: '12',
  expiry_year: '2030',
};

/** Stores a card with one reference; each request another one. `prefix` comes before the path. */
export function storePlan({ user, credentials }: Holding, withCode = false, prefix = ''): Plan {
  return {
    method: 'POST',
    target: `${prefix}/v1/vault/?user=${user}&reference=order-${SEQUENCE}`,
    headers: credentials,
    body: JSON.stringify(withCode ? { ...CARD, cvv: '123' } : CARD),
  };
}

/** Makes a capture endpoint for a key, and the plan of posting cards to it, each request another card. */
export async function capturePlan(vault: Vault, { user, credentials }: Holding): Promise<Plan> {
  const made = await call(vault, credentials, `/v1/capture?user=${user}`, {});
  const { url, secret } = (await made.json()) as { readonly url: string; readonly secret: string };
  return {
    method: 'POST',
    target: url,
    headers: { 'X-Vault-Capture-Secret': secret },
    body: JSON.stringify(CARD),
  };
}

/** Decrypts random cards out of `addresses` (see `addressesOf`). `prefix` comes before the path. */
export function decryptPlan({ user, credentials }: Holding, addresses: readonly string[], prefix = ''): Plan {
  return {
    method: 'GET',
    target: `${prefix}/v1/vault/?user=${user}&${LINE}`,
    headers: credentials,
    lines: addresses,
  };
}

/** Asks for something that is no card. */
export function getPlan({ credentials }: Holding, target: string): Plan {
  return {
    method: 'GET',
    target,
    headers: credentials,
  };
}

/** Lists a page of a thousand. */
export function listPlan({ user, credentials }: Holding): Plan {
  return {
    method: 'GET',
    target: `/v1/vault/?user=${user}&limit=1000`,
    headers: credentials,
  };
}

type Tree = Readonly<Record<string, readonly { readonly token: string; readonly reference: string }[]>>;

/** Token and reference of every card under a key, as they stand in a query. */
export async function addressesOf(vault: Vault, { user, credentials }: Holding): Promise<string[]> {
  const tree = (await (await call(vault, credentials, `/v1/vault/?user=${user}&limit=-1`)).json()) as Tree;
  return (tree[user] ?? []).map(({ token, reference }) => `token=${token}&reference=${reference}`);
}

/** Stores cards on a server that lists none, and gives their addresses like `addressesOf`. */
export async function storeAddresses(server: Server, count: number): Promise<string[]> {
  const addresses: string[] = [];
  const storeEvery = async (from: number, step: number): Promise<void> => {
    for (let n = from; n < count; n += step) {
      const reference = `order-${sequenceText(n)}`;
      const card = { ...CARD, card_number: CARD.card_number.replace(SEQUENCE, sequenceText(n)) };
      const response = await call(server, PLAIN.credentials, `/v1/vault/?reference=${reference}`, card);
      const { token } = (await response.json()) as { readonly token: string };
      addresses.push(`token=${token}&reference=${reference}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => storeEvery(at, AT_ONCE)));
  return addresses;
}

/** Tokens and references of cards out of the pages of a listing, one page in so many, until there are enough. */
export async function addressesAt(
  vault: Vault,
  { user, credentials }: Holding,
  cards: number,
  wanted: number,
): Promise<string[]> {
  const addresses: string[] = [];
  const page = 1_000;
  const each = Math.max(1, Math.floor((wanted * page) / cards));
  let next = '';
  do {
    const target = `/v1/vault/?user=${user}&limit=${page}${next === '' ? '' : `&next_token=${next}`}`;
    const response = await call(vault, credentials, target);
    const tree = (await response.json()) as Tree;
    const some = (tree[user] ?? []).slice(0, each);
    addresses.push(...some.map(({ token, reference }) => `token=${token}&reference=${reference}`));
    next = response.headers.get('x-vault-next-token') ?? '';
  } while (next !== '');
  return addresses;
}

export async function usedMemory(vault: Vault): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await vault.redis.info('memory'))?.[1]);
}

/** Makes a key and stores cards under it; tells what one of them costs in Redis' memory, in bytes. */
export async function seed(
  vault: Vault,
  load: Load,
  holding: Holding,
  cards: number,
  withCode = false,
): Promise<number> {
  await makeKey(vault, holding.credentials, holding.user);
  const before = await usedMemory(vault);
  await load.times(vault.port, storePlan(holding, withCode), cards);
  return ((await usedMemory(vault)) - before) / cards;
}
