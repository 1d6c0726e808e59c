import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { AuditEntry } from '../../sdk/index.ts';
import { type AccountClient, answerOf, basicAuth, type Handle, PASSPHRASE } from '../helpers/clients.ts';
import { startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { acceptedId, CARD, CHARGED, proxyPost, requestTo } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty, thirdPartyTrust } from '../helpers/third-party.ts';
import { createReceiver, expectedSignature, type WebhookEvent } from '../helpers/webhook.ts';
import { type ClusterServers, startServers } from './servers.ts';

const REQUESTS = 20;

let cluster: TestCluster;
let party: ThirdParty;
let servers: ClusterServers;
let one: AccountClient;
let two: AccountClient;

beforeAll(async () => {
  cluster = await startTestCluster();
  party = await startThirdParty();
  servers = await startServers(cluster.target.urls.join(','), {
    caPem: (await thirdPartyTrust()).authority.pem,
  });
  [one, two] = [servers.servers[0].client, servers.servers[1].client];
  await one.key('u');
}, 60_000);
afterAll(async () => {
  expect(servers.printed().match(/CROSSSLOT/)).toBeNull();
  expect(await servers.stop()).toEqual([0, 0]);
  party.stop();
  await cluster.stop();
}, 60_000);

/** What the month has cost by now, as counts of operations. */
async function countsOf(account: AccountClient): Promise<Readonly<Record<string, number>>> {
  const { items } = await account.sdk.admin.billing();
  return Object.fromEntries(items.map(({ operation, count }) => [operation, count]));
}

function opening(token: string) {
  return { query: { user: 'u', token }, passphrase: PASSPHRASE };
}

test('what one server stores, updates or deletes is so at the other at once', async () => {
  const token = await one.store('u', { number: '4111111111111111' });
  expect(await two.open('u', token)).toBe('{"number":"4111111111111111"}');
  expect((await two.send('POST', '/vault/update', { ...opening(token), body: { a: 1 } })).outcome).toBe(
    '200',
  );
  expect(await one.open('u', token)).toContain('"a":1');
  expect((await one.send('DELETE', '/vault', opening(token))).outcome).toBe('200');
  expect((await two.send('GET', '/vault', opening(token))).outcome).toBe('404 token_not_found');
});

test('a listing goes on at the other server, page after page', async () => {
  const stored = await Promise.all(
    Array.from({ length: 25 }, (_, n) =>
      servers.client.store('u', { number: `${n}` }, { reference: 'page' }),
    ),
  );
  const found: string[] = [];
  let next: string | undefined;
  for (let page = 0; page === 0 || next !== undefined; page++) {
    const query = { user: 'u', reference: 'page', limit: 4 };
    const { sdk } = page % 2 === 0 ? one : two;
    const answer = await sdk.vault.list(next === undefined ? query : { ...query, next_token: next });
    found.push(...(answer.data['u'] ?? []).map(({ token }) => token));
    next = answer.next_token;
  }
  expect(found.toSorted()).toEqual(stored.toSorted());
});

test('a repeat under an Idempotency-Key at the other server stores nothing new', async () => {
  const sending = {
    query: { user: 'u' },
    passphrase: PASSPHRASE,
    body: { number: '1' },
    idempotencyKey: 'same',
  };
  const [first, again] = [
    await one.send('POST', '/vault', sending),
    await two.send('POST', '/vault', sending),
  ];
  expect(first.outcome).toBe('200');
  expect(again.json).toEqual(first.json);
});

test('a change of the passphrase stops an endpoint at both servers at once', async () => {
  await one.key('changing');
  const query = { user: 'changing', unique_id: 'shop', ttl: 'PT1H' };
  const made = await one.send('POST', '/capture', { query, passphrase: PASSPHRASE });
  const { secret } = made.as<{ secret: string }>();
  const post = async (at: 0 | 1): Promise<string> => {
    const request = new Request('http://localhost/v1/capture/shop', {
      method: 'POST',
      headers: { 'x-vault-capture-secret': secret, 'content-type': 'application/json' },
      body: '{"number":"4111111111111111"}',
    });
    return (await answerOf(await servers.servers[at].handle(request))).outcome;
  };
  expect([await post(0), await post(1)]).toEqual(['200', '200']);
  const changed = await two.send('PUT', '/key', {
    body: { user: 'changing', passphrase: PASSPHRASE, new_passphrase: `${PASSPHRASE} new` },
  });
  expect(changed.outcome).toBe('200');
  expect(await Promise.all([post(0), post(1)])).toEqual(['410 endpoint_gone', '410 endpoint_gone']);
});

test('endpoints, rules and forms that one server makes or ends are so at the other at once', async () => {
  const [a, b] = [servers.servers[0].handle, servers.servers[1].handle];
  const token = await two.store('u', { number: '4111111111111111' });
  const reader = await createRetrieve(one, 'u', { unique_id: 'reader' });
  const read = (at: Handle) => retrieve(at, reader, { query: { token } });
  expect((await Promise.all([read(a), read(b)])).map(({ text }) => text)).toEqual(
    Array(2).fill('{"number":"4111111111111111"}'),
  );

  expect((await two.send('DELETE', '/retrieve/reader')).outcome).toBe('200');
  expect((await Promise.all([read(a), read(b)])).map(({ outcome }) => outcome)).toEqual(
    Array(2).fill('403 endpoint_refused'),
  );

  const copy = [{ name: 'noop', input_field: 'card.number', output_field: 'number' }];
  const rule = { query: { id: 'copy' } };
  expect((await one.send('POST', '/rule', { ...rule, body: copy })).outcome).toBe('200');
  expect((await two.send('GET', '/rule', rule)).json).toEqual({ id: 'copy', operations: copy });
  const shop = await createCapture(two, 'u', { rules: 'copy' });
  const taken = await capture(a, shop, { body: { card: { number: '5555555555554444' } } });
  const { token: made, reference } = taken.as<{ token: string; reference?: string }>();
  expect(await two.open('u', made, { reference })).toContain('"number":"5555555555554444"');
  expect((await two.send('DELETE', '/rule', rule)).outcome).toBe('200');
  expect((await one.send('GET', '/rule', rule)).outcome).toBe('404 rule_not_found');

  const page = async (at: Handle): Promise<number> =>
    (await at(new Request('http://localhost/v1/retrieve/iframe/card-form'))).status;
  expect(
    (await one.send('POST', '/retrieve/iframe', { query: { form_id: 'card-form' }, body: {} })).outcome,
  ).toBe('200');
  expect(await Promise.all([page(a), page(b)])).toEqual([200, 200]);
  expect((await two.send('DELETE', '/retrieve/iframe/card-form')).outcome).toBe('200');
  expect(await Promise.all([page(a), page(b)])).toEqual([404, 404]);
});

test('requests that either server accepts are sent once, by one of them, and their webhooks are told once', async () => {
  const token = await one.store('u', CARD);
  const receiver = createReceiver(party);
  party.script('/pay', { status: 201, body: '{"paid":true}' });
  const before = await countsOf(one);
  const accepted = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, n) => {
      const account = n % 2 === 0 ? one : two;
      const order = { request: requestTo(party.url('/pay')), webhook: receiver.webhook, synchronous: false };
      return acceptedId(await proxyPost({ account, user: 'u', token }, order));
    }),
  );
  const told: WebhookEvent[] = [];
  while (told.length < REQUESTS) {
    told.push(await receiver.next());
  }
  expect(told.map(({ id }) => id ?? '').toSorted()).toEqual(accepted.toSorted());
  expect(told.map(({ received }) => received.header('webhook-signature'))).toEqual(
    told.map(({ received }) => expectedSignature(receiver.webhook.secret, received)),
  );
  expect(party.calls('/pay').map(({ text }) => text)).toEqual(Array(REQUESTS).fill(CHARGED));
  const after = await countsOf(two);
  expect((after['proxy_attempt'] ?? 0) - (before['proxy_attempt'] ?? 0)).toBe(REQUESTS);
});

test('usage and preferences are the same at both, and what each has counted adds up', async () => {
  const requests = async (at: AccountClient): Promise<number> =>
    (await at.sdk.admin.usage({})).api_requests ?? 0;
  const before = await requests(one);
  await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? one : two).send('GET', '/whoami')));
  // Asking has counted as well.
  expect(await requests(two)).toBe(before + 41);
  expect(await requests(one)).toBe(before + 42);

  const limit = { query: { key: 'default_limit' } };
  await one.send('POST', '/preferences', { body: { key: 'default_limit', value: 3 } });
  expect((await two.send('GET', '/preferences', limit)).json).toMatchObject({ value: 3 });
  for (const at of [one, two]) {
    const { data } = await at.sdk.vault.list({ user: 'u', reference: 'page' });
    expect(data['u']).toHaveLength(3);
  }
  await two.send('DELETE', '/preferences', limit);
  expect((await one.send('GET', '/preferences', limit)).json).toMatchObject({ is_default: true });
});

test('the security log has what both did, in one order, and goes on at the other page after page', async () => {
  const users = Array.from({ length: 10 }, (_, n) => `logged-${n}`);
  for (const [n, user] of users.entries()) {
    await (n % 2 === 0 ? one : two).key(user);
  }
  const found: AuditEntry[] = [];
  let next: string | undefined;
  for (let page = 0; page === 0 || next !== undefined; page++) {
    const query = { limit: 7, next_token: next };
    const answer = await (page % 2 === 0 ? one : two).send('GET', '/audit', { query });
    expect(answer.outcome).toBe('200');
    found.push(...answer.as<AuditEntry[]>());
    next = answer.headers.get('x-vault-next-token') ?? undefined;
  }
  const ids = found.map(({ id }) => Number(id));
  expect(ids).toEqual(Array.from(ids, (_, n) => ids.length - n));
  const made = found.flatMap(({ action, object }) => (action === 'key.create' ? [object ?? ''] : []));
  expect(made.slice(0, users.length).toReversed()).toEqual(users.map((user) => `key/${user}`));
});

test('a change of the account is so at both servers at once, whether a request or the operator makes it', async () => {
  const token = await one.store('u', { card_number: '4111111111111111' });
  const shown = (): Promise<string[]> => Promise.all([one, two].map((at) => at.open('u', token)));
  expect(await shown()).toEqual(Array(2).fill('{"card_number":"4111111111111111"}'));
  await servers.command('account', 'set', one.name, '--unmasked=false');
  const masked = await shown();
  expect(masked.map((text) => text.includes('4111111111111111'))).toEqual([false, false]);
  await servers.command('account', 'set', one.name, '--unmasked');
  expect(await shown()).toEqual(Array(2).fill('{"card_number":"4111111111111111"}'));

  const signIn = (password: string): Promise<string[]> =>
    Promise.all(
      [one, two].map(async (at) => {
        const headers = { authorization: basicAuth(one.name, password) };
        return (await at.send('GET', '/whoami', { headers })).outcome;
      }),
    );
  const changed = await one.send('POST', '/change-password', { body: { new_password: 'another one' } });
  expect(changed.outcome).toBe('200');
  expect(await signIn(one.password)).toEqual(Array(2).fill('401 unauthenticated'));
  expect(await signIn('another one')).toEqual(['200', '200']);
});
