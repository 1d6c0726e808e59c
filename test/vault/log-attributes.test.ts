import { afterAll, expect, test } from 'bun:test';
import type { LogEntry } from '../../sdk/index.ts';
import { type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { CARD, type Item, jobsDone, openProxyVault, proxyPost, requestTo } from '../helpers/proxy.ts';
import { startThirdParty } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';

let requests = 0;

const party = await startThirdParty();
const vault = await openProxyVault();
const account = await vault.account();
await account.key('u');
const capturing = await createCapture(account, 'u', { unique_id: 'checkout' });
const retrieving = await createRetrieve(account, 'u');
afterAll(async () => {
  await vault.close();
  party.stop();
});

/** A UUID in which no digits could be taken for a card number: such an id is replaced by one of the vault's own. */
function uuid(): string {
  for (;;) {
    const id = crypto.randomUUID();
    if (!/(?:\d-?){13}/.test(id)) {
      return id;
    }
  }
}

/** Ids of all the forms that a caller may send. */
function freshRequest(): { readonly id: string; readonly headers: Readonly<Record<string, string>> } {
  requests += 1;
  const forms = [uuid(), uuid().toUpperCase(), `order-${requests}-of-the-day`];
  const id = `${forms[requests % forms.length]}`;
  return { id, headers: { 'x-request-id': id } };
}
/** The log of an item in pages of a few entries, newest first. */
async function logOf(token: string, reference?: string): Promise<readonly LogEntry[]> {
  const entries: LogEntry[] = [];
  let next_token: string | undefined;
  do {
    const named = { user: 'u', token, ...(reference === undefined ? {} : { reference }) };
    const page = await account.sdk.vault.log({ ...named, limit: 7, next_token });
    entries.push(...page.data);
    next_token = page.next_token;
  } while (next_token !== undefined);
  return entries;
}
/** Asserts that the readings of the account are the successful decryptions of the log of an item. */
async function expectListed(token: string): Promise<void> {
  const { data } = await account.sdk.vault.access({ user: 'u', limit: 1_000 });
  const listed = data.filter((reading) => reading.token === token);
  const used = (await logOf(token)).filter(({ action, outcome }) => `${action} ${outcome}` === 'decrypt ok');
  expect(used.length).toBeGreaterThan(2);
  expect(listed.map(({ user: _, token: __, ...entry }) => entry)).toEqual(used);
}
function facts({ action, source, outcome, actor, endpoint = '-', request_id }: LogEntry): string {
  expect(actor).toBe(account.name);
  return [action, source, outcome, endpoint, request_id].join(' ');
}

test('every way of use names its request, and the endpoint where one is used', async () => {
  const { webhook } = createReceiver(party);
  const item: Item = { account, user: 'u', token: await account.store('u', CARD) };
  const { token } = item;
  const query = { user: 'u', token };
  const made = { passphrase: PASSPHRASE };
  const request = requestTo(party.url('/charge'));
  const expected: string[] = [];
  const use = async (way: string, send: (headers: Readonly<Record<string, string>>) => Promise<Answer>) => {
    const { id, headers } = freshRequest();
    expect((await send(headers)).outcome).toBe('200');
    expected.unshift(`${way} ${id}`);
  };
  await use('decrypt vault ok -', (headers) => account.send('GET', '/vault', { query, ...made, headers }));
  await use('encrypt vault ok -', (headers) =>
    account.send('POST', '/vault/update', { query, ...made, headers, body: { holder: 'A' } }),
  );
  await use('encrypt vault ok -', (headers) =>
    account.send('POST', '/vault', { query: { user: 'u' }, ...made, headers, body: CARD }),
  );
  await use('decrypt vault ok -', (headers) =>
    account.send('GET', '/vault', { query: { user: 'u', decrypt_all: true }, ...made, headers }),
  );
  const read = `ok ${retrieving.unique_id}`;
  await use(`decrypt retrieve ${read}`, (headers) =>
    retrieve(vault, retrieving, { query: { token }, headers }),
  );
  await use(`decrypt retrieve ${read}`, (headers) =>
    retrieve(vault, retrieving, { query: { decrypt_all: true }, headers }),
  );
  await use(`decrypt form ${read}`, (headers) =>
    retrieve(vault, retrieving, { query: { token, form_type: 'pcd' }, headers }),
  );
  party.script('/charge', 200);
  await use('decrypt proxy ok -', (headers) =>
    proxyPost(item, { request, synchronous: true }, {}, { ...made, headers }),
  );
  await use('decrypt proxy ok -', (headers) =>
    proxyPost(item, { request, webhook }, {}, { ...made, headers }),
  );
  await jobsDone(vault, account);
  expect((await logOf(token)).map(facts).slice(0, -1)).toEqual(expected);
  await expectListed(token);
  for (const [way, form_type] of [
    ['capture', undefined],
    ['form', 'pcd'],
  ] as const) {
    const { id, headers } = freshRequest();
    const answer = await capture(vault, capturing, {
      query: { form_type, reference: way },
      headers,
      body: CARD,
    });
    const captured = await logOf(answer.as<{ token: string }>().token, way);
    expect(captured.map(facts)).toEqual([`encrypt ${way} ok checkout ${id}`]);
  }
});

test('each use by a credential has its name, repeated attempts of an asynchronous request too', async () => {
  const { webhook } = createReceiver(party);
  const token = await account.store('u', { ...CARD, card_number: '5555555555554444' });
  const scopes = ['vault:read', 'vault:update', 'proxy:send', 'job:read', 'connection:write'] as const;
  const desk = await credentialClient(vault.handle, account, scopes);
  const query = { user: 'u', token };
  const item: Item = { account: desk, user: 'u', token };
  party.script('/repeated', 503, 200);
  await desk.open('u', token);
  await desk.send('POST', '/vault/update', { query, passphrase: PASSPHRASE, body: { holder: 'A' } });
  await desk.send('GET', '/vault', { query: { ...query, reference: 'wrong' }, passphrase: PASSPHRASE });
  const accepted = await proxyPost(
    item,
    { request: requestTo(party.url('/repeated')), webhook },
    { attempts: 2 },
  );
  expect(accepted.outcome).toBe('200');
  await jobsDone(vault, account);
  const entries = await logOf(token);
  expect(entries.map(({ action, source, outcome }) => `${action} ${source} ${outcome}`)).toEqual([
    'decrypt proxy ok',
    'decrypt proxy ok',
    'decrypt vault token_not_found',
    'encrypt vault ok',
    'decrypt vault ok',
    'encrypt vault ok',
  ]);
  expect(entries.map(({ actor_name }) => actor_name)).toEqual([
    ...Array<string>(5).fill('a test'),
    undefined,
  ]);
  await expectListed(token);
});
