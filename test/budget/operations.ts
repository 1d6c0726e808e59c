/** The operations whose cost is counted, each as a request that is ready to be sent. */
import type { AccountClient } from '../helpers/clients.ts';
import { basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { makeCredential } from '../helpers/credentials.ts';
import { capture, createCapture, createRetrieve } from '../helpers/endpoints.ts';
import { placeholder } from '../helpers/relay.ts';
import type { TestVault } from '../helpers/vault.ts';

/** Items of a page. */
export const PAGE_ITEMS = 100;

const CARD = {
  card_number: '4111111111111111',
  card_holder: 'Ada Lovelace',
  expiry_month: '12',
  expiry_year: '2030',
};

/** The counted operations. */
export const OPERATIONS = [
  'store',
  'store_by_credential',
  'decrypt',
  'capture',
  'retrieve',
  'relay',
  'decrypt_all',
  'list',
] as const;

export type Operation = (typeof OPERATIONS)[number];

/** Makes the requests of an operation, each time another one. */
export type Requests = Readonly<Record<Operation, () => Request>>;

function cardOf(n: number): string {
  return JSON.stringify({ ...CARD, card_number: `411111${String(n).padStart(10, '0')}` });
}

/** Makes keys, cards, endpoints and a connection to `target`, and the requests about them. */
export async function prepare(
  { handle }: TestVault,
  account: AccountClient,
  target: string,
): Promise<Requests> {
  const headers = {
    authorization: basicAuth(account.name, account.password),
    'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
    'user-agent': 'tests/1.0',
  };
  let made = 0;
  const newCard = (): string => {
    made += 1;
    return cardOf(made);
  };
  const request = (target: string, own: Record<string, string>, body?: string): Request =>
    new Request(`http://localhost${target}`, {
      headers:
        body === undefined
          ? own
          : { ...own, 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(body)}` },
      ...(body === undefined ? {} : { method: 'POST', body }),
    });
  await account.key('single');
  await account.key('page');
  const reference = 'order-1';
  const token = await account.store('single', { ...CARD }, { reference });
  const capturing = await createCapture(account, 'single');
  const retrieving = await createRetrieve(account, 'single');
  await capture(handle, capturing, { body: CARD });
  await account.send('POST', '/connection', { body: { id: 'target', base_url: target } });
  const charge = `{"amount":1000,"number":"${placeholder(token, 'card_number', reference)}"}`;
  for (let i = 0; i < PAGE_ITEMS; i += 1) {
    await account.store('page', JSON.parse(cardOf(i)), { reference: `order-${i}` });
  }
  const { secret } = await makeCredential(account, ['vault:store'], { keys: ['single'] });
  const byCredential = { ...headers, authorization: `Bearer ${secret}` };
  const address = `token=${token}&reference=${reference}`;
  return {
    store: () => request(`/v1/vault/?user=single&reference=order-${made}`, headers, newCard()),
    store_by_credential: () =>
      request(`/v1/vault/?user=single&reference=order-${made}`, byCredential, newCard()),
    decrypt: () => request(`/v1/vault/?user=single&${address}`, headers),
    capture: () => request(capturing.url, { 'x-vault-capture-secret': capturing.secret }, newCard()),
    retrieve: () => request(`${retrieving.url}?${address}`, { 'x-vault-retrieve-secret': retrieving.secret }),
    relay: () => request('/v1/relay/target/charges', { ...headers, 'x-vault-user': 'single' }, charge),
    decrypt_all: () => request(`/v1/vault/?user=page&decrypt_all=true&limit=${PAGE_ITEMS}`, headers),
    list: () => request(`/v1/vault/?user=page&limit=${PAGE_ITEMS}`, headers),
  };
}
