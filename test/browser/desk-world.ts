/** The vault of a shop with a support desk: customers with cards, people who read them, links, and webhooks that failed. */
import { redisKeys } from '../../server/redis/records/keys.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { useEndpoint } from '../helpers/endpoints.ts';
import { localProxy } from '../helpers/proxy.ts';
import { startThirdParty } from '../helpers/third-party.ts';
import { openConsoleWorld } from './console-world.ts';
import type { FormsWorld } from './forms-world.ts';

/** The key of cards, with summaries. */
export const CARDS = 'cards';
/** A customer with a card under each of two keys. */
export const CUSTOMER = 'customer-1007';
/** A person whose credential was deleted. */
export const LEFT = 'Maria Lopez';

const NUMBERS = ['4111111111111111', '5555555555554444', '378282246310005', '6011111111111117'] as const;
const CUSTOMERS = 40;
const FAILED = 3;

export interface DeskWorld extends FormsWorld {
  /** The token of the customer under `CARDS`. */
  readonly token: string;
  /** The id of the link that showed the customer's card. */
  readonly link: string;
}

/** Stores the customers, under two keys. */
async function storeCustomers({ sdk }: FormsWorld['owner']): Promise<string> {
  const items = Array.from({ length: CUSTOMERS }, (_, at) => ({
    reference: `customer-${1_000 + at}`,
    data: {
      card_number: NUMBERS[at % NUMBERS.length] ?? '',
      expiry: at === 3 ? '05/2024' : '12/2031',
      card_holder: 'Ada Lovelace',
    },
    ...(at % 5 === 0 && { metadata: { plan: 'gold' } }),
  }));
  let token = '';
  for (const [user, some] of [
    [CARDS, items],
    ['subscriptions', items.slice(5, 10)],
  ] as const) {
    await sdk.keys.create({ user, passphrase: PASSPHRASE, summary: true });
    const stored = sdk.vault.storeMany({ user, items: [...some], passphrase: PASSPHRASE });
    for await (const outcome of stored) {
      token = token === '' && 'token' in outcome && outcome.reference === CUSTOMER ? outcome.token : token;
    }
  }
  return token;
}

/** Reads the customer's card as a person who leaves then, and through a link. */
async function readCustomer({ owner: { sdk }, url, vault }: FormsWorld, token: string): Promise<string> {
  const item = { user: CARDS, token, reference: CUSTOMER };
  const scopes = ['vault:list', 'vault:read', 'vault:log'] as const;
  const left = await sdk.credentials.create({ name: LEFT, scopes: [...scopes] });
  const headers = {
    authorization: `Bearer ${left.secret}`,
    'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
  };
  for (let time = 0; time < 3; time += 1) {
    await fetch(`${url}/v1/vault?${new URLSearchParams(item)}`, { headers });
  }
  await sdk.credentials.delete({ id: left.id });
  const { unique_id, secret } = await sdk.retrieve.create({ ...item, passphrase: PASSPHRASE });
  const { reference } = item;
  await useEndpoint(vault, 'GET', `/v1/retrieve/${unique_id}`, { secret, query: { token, reference } });
  return unique_id;
}

/** Webhooks of captures, of which most fail. */
async function callWebhooks({ owner: { sdk }, vault, url }: FormsWorld): Promise<() => void> {
  const party = await startThirdParty();
  party.script('/orders', 200);
  party.script('/billing', 500);
  for (const path of ['/orders', ...Array.from({ length: FAILED }, () => '/billing')]) {
    const webhook = { url: party.url(path), max_attempts: 1 };
    const endpoint = await sdk.capture.create({ user: CARDS, passphrase: PASSPHRASE, webhook });
    const place = new URL(endpoint.url, url).pathname;
    await useEndpoint(vault, 'POST', place, {
      ...{ secret: endpoint.secret, body: { number: '4242424242424242', expiry: '12/31' } },
    });
  }
  while ((await sdk.jobs.list({ status: 'failed' })).data.length < FAILED) {
    await Bun.sleep(50);
  }
  return party.stop;
}

export async function openDeskWorld(): Promise<DeskWorld> {
  const world = await openConsoleWorld({ host: 'localhost', proxy: await localProxy() });
  const { owner } = world;
  const { sdk } = owner;
  const token = await storeCustomers(owner);
  const link = await readCustomer(world, token);
  const stop = await callWebhooks(world);
  await sdk.credentials.create({ name: 'checkout', scopes: ['capture:write'], expires_in: 'P9D' });
  await sdk.credentials.create({ name: 'charges', scopes: ['proxy:send', 'job:read'], keys: [CARDS] });
  await sdk.capture.create({ user: CARDS, passphrase: PASSPHRASE, ttl: 'P20D', unique_id: 'partner' });
  await sdk.forms.create({ form_id: 'donation', locale: 'de' });
  await sdk.rules.create({
    id: 'short-year',
    operations: [
      { name: 'substr', input_field: 'expiry_year', output_field: 'year', arguments: { start: -2 } },
    ],
  });
  await sdk.connections.create({
    ...{ id: 'pay', base_url: 'https://api.pay.example/v1', paths: ['/charges'], methods: ['POST'] },
    headers: [{ Authorization: 'Bearer sk_test_example' }],
  });
  await sdk.connections.create({
    ...{ id: 'shop', base_url: 'https://shop.example', paths: ['/orders'], methods: ['POST'], inbound: true },
  });
  await sdk.inbound.create({
    ...{ id: 'marketplace', user: CARDS, passphrase: PASSPHRASE, connection: 'shop', strict: 'mask' },
    ...{ rate: '20/m', ips: ['192.0.2.0/24'] },
    extract: [
      { number: 'guests[*].card.number', code: 'guests[*].card.cvc', reference: 'guests[*].id' },
      { number: 'payer.card.number' },
    ],
  });
  for (const [name, role, keys] of [
    ['Ada Lovelace', 'owner', undefined],
    ['Grace Hopper', 'support', [CARDS]],
  ] as const) {
    await owner.send('POST', '/person', { body: { name, role, keys } });
  }
  // Of types that do not happen here: deliveries would be among the jobs.
  await sdk.events.create({ url: 'https://shop.example/events', types: ['account.*', 'certificate.*'] });
  const { id } = await sdk.events.create({ url: 'https://erp.example/vault', types: ['account.locked'] });
  const state = redisKeys.eventState(owner.aid);
  await world.vault.raw.hset(state, `p:${id}`, Date.now(), `w:${id}`, 'full', `l:${id}`, 5_120);
  await sdk.certificates.createCsr({ cn: 'shop.example' });
  return {
    ...world,
    ...{ token, link },
    close: async () => {
      stop();
      await world.close();
    },
  };
}
