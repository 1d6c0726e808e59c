/** Proxied requests through a connection. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import {
  CHARGE,
  CHARGED,
  type Item,
  jobsDone,
  newItem,
  openProxyVault,
  proxyGet,
  proxyPost,
} from '../../helpers/proxy.ts';
import { connect } from '../../helpers/relay.ts';
import { startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import type { TestVault } from '../../helpers/vault.ts';
import { createReceiver } from '../../helpers/webhook.ts';

const KEY = 'sk_canary_of_the_connection';

let vault: TestVault;
let party: ThirdParty;
let item: Item;

beforeAll(async () => {
  party = await startThirdParty();
  vault = await openProxyVault();
  item = await newItem(vault);
});
afterAll(async () => {
  await vault.close();
  party.stop();
});

function order(connection: string, changes: Readonly<Record<string, unknown>> = {}) {
  const request = {
    method: 'POST',
    url: '/charges?a={{expiry_month}}',
    connection,
    body: CHARGE,
    ...changes,
  };
  return { synchronous: true, request };
}

test('have its base URL, headers and signature, and debug output shows none of them', async () => {
  const connection = await connect(item.account, party, {
    base_url: party.url('/v1'),
    headers: [{ Authorization: KEY }],
    sign: { algorithm: 'hmac-sha-256', key: 'k', header: 'X-Sign', payload: '{{method}} {{path}} {{body}}' },
  });
  party.script('/v1/charges', { body: '{}' });
  const headers = [{ authorization: 'of the caller' }, { 'X-Own': '1' }];
  const answer = await proxyPost(item, order(connection, { headers }), { debug: true });
  expect(answer.outcome).toBe('200');
  const [received] = party.calls('/v1/charges');
  expect([received?.target, received?.text]).toEqual(['/v1/charges?a=12', CHARGED]);
  expect(received?.headers.filter(([name]) => name.toLowerCase() === 'authorization')).toEqual([
    ['Authorization', KEY],
  ]);
  expect(received?.header('x-own')).toBe('1');
  const signed = `POST /v1/charges?a=12 ${CHARGED}`;
  expect(received?.header('x-sign')).toBe(createHmac('sha256', 'k').update(signed).digest('hex'));
  expect(answer.text).not.toContain(KEY);
});

test('may be asynchronous', async () => {
  const connection = await connect(item.account, party, { headers: [{ Authorization: KEY }] });
  party.script('/later', { status: 201, body: 'done' });
  const receiver = createReceiver(party);
  const request = { method: 'POST', url: '/later', connection };
  expect((await proxyPost(item, { request, webhook: receiver.webhook })).outcome).toBe('200');
  await jobsDone(vault, item.account);
  expect(party.calls('/later')[0]?.header('authorization')).toBe(KEY);
});

test('are refused where it does not exist, is not for them, or a whole URL stands beside it', async () => {
  const connection = await connect(item.account, party, { methods: ['POST'], paths: ['/charges'] });
  const outcome = async (changes: Readonly<Record<string, unknown>>) => {
    const answer = await proxyPost(item, order(connection, changes));
    return [answer.outcome, Object(answer.json).field];
  };
  expect(await outcome({ connection: 'none' })).toEqual(['404 connection_not_found', undefined]);
  expect(await outcome({ url: party.url('/charges') })).toEqual(['400 invalid_request', 'body.request.url']);
  expect(await outcome({ url: '//evil.example/charges' })).toEqual([
    '400 invalid_request',
    'body.request.url',
  ]);
  expect(await outcome({ url: '/refunds' })).toEqual(['403 not_allowed', 'path']);
  expect(await outcome({ url: '/charges/../refunds' })).toEqual(['400 invalid_request', 'body.request.url']);
  expect(await outcome({ method: 'PUT' })).toEqual(['403 not_allowed', 'method']);
  expect(await outcome({ client_cert_id: 'x' })).toEqual([
    '400 invalid_request',
    'body.request.client_cert_id',
  ]);
  const get = await proxyGet(item.account, order(connection));
  expect(get.status).toBe(400);
  expect(party.calls('/charges')).toEqual([]);
});
