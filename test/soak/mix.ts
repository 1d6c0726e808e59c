/** Requests of every kind at a steady pace, and how long each took. */
import { type Credentials, call, makeKey, OWNER, type Vault } from '../bench/servers.ts';
import { pick } from '../durability/chance.ts';

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

export interface Mix {
  /** Runs for a while at a number of requests a second. */
  readonly run: (seconds: number, perSecond: number) => Promise<Minute>;
  /** Runs for a while as fast as it goes; gives the requests a second. */
  readonly saturate: (seconds: number) => Promise<number>;
}

interface Item {
  readonly token: string;
  readonly reference: string;
}

/** Makes a key and an endpoint for the mix. */
export async function prepareMix(vault: Vault): Promise<Mix> {
  await makeKey(vault, OWNER, USER);
  const made = await call(vault, OWNER, `/v1/capture?user=${USER}&ttl=0`, {});
  const { url, secret } = (await made.json()) as { readonly url: string; readonly secret: string };
  const items: Item[] = [];
  let sequence = 0;

  const send = async (method: string, target: string, headers: object, body?: object): Promise<Response> =>
    fetch(`http://127.0.0.1:${vault.port}${target}`, {
      method,
      headers: headers as Credentials,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const add = async (kind: 'store' | 'capture'): Promise<Response> => {
    sequence += 1;
    const reference = `order-${sequence}`;
    const body = { ...CARD, card_number: `411111${String(sequence).padStart(10, '0')}` };
    const response =
      kind === 'store'
        ? await send('POST', `/v1/vault?user=${USER}&reference=${reference}`, OWNER, body)
        : await send('POST', `${url}?reference=${reference}`, { 'X-Vault-Capture-Secret': secret }, body);
    if (response.ok) {
      const { token } = (await response.clone().json()) as { readonly token: string };
      items.push({ token, reference });
    }
    return response;
  };
  const one = async (kind: Kind): Promise<Response> => {
    // The oldest are being deleted at this moment.
    const item = items[OLDEST + Math.floor(Math.random() * (items.length - OLDEST))];
    if (kind === 'store' || kind === 'capture' || item === undefined) {
      return add(kind === 'store' ? 'store' : 'capture');
    }
    const query = `user=${USER}&token=${item.token}&reference=${item.reference}`;
    if (kind === 'open') {
      return send('GET', `/v1/vault?${query}`, OWNER);
    }
    return kind === 'update'
      ? send('POST', `/v1/vault/update?${query}`, OWNER, { seen: sequence })
      : send('GET', `/v1/vault?user=${USER}&limit=100`, OWNER);
  };
  const deleteOldest = async (): Promise<Response | undefined> => {
    const item = items.length > ITEMS_MAX ? items.shift() : undefined;
    const query = `user=${USER}&token=${item?.token}&reference=${item?.reference}`;
    return item && send('DELETE', `/v1/vault?${query}`, OWNER);
  };
  const timed = async (latenciesMs: number[], request: Promise<Response | undefined>): Promise<boolean> => {
    const begun = performance.now();
    const response = await request.catch(() => null);
    await response?.arrayBuffer();
    latenciesMs.push(performance.now() - begun);
    return response === undefined || response?.ok === true;
  };

  /** Lanes that each take the next moment of the pace; one that is late goes on at once. */
  const run = async (seconds: number, perSecond: number): Promise<Minute> => {
    const latenciesMs: number[] = [];
    const begun = performance.now();
    let [next, failed] = [0, 0];
    const lane = async (): Promise<void> => {
      while (performance.now() - begun < seconds * 1_000) {
        const dueMs = begun + (next++ / perSecond) * 1_000;
        await Bun.sleep(Math.max(0, dueMs - performance.now()));
        failed += (await timed(latenciesMs, one(pick(Math.random(), SHARES)))) ? 0 : 1;
        failed += (await timed([], deleteOldest())) ? 0 : 1;
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return { latenciesMs, failed };
  };
  return {
    run,
    saturate: async (seconds) => (await run(seconds, 1e9)).latenciesMs.length / seconds,
  };
}
