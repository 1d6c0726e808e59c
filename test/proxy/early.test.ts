/**
 * What a synchronous request does ahead or without a thread, and what it assumes of its account: none of it can be told
 * from outside, and nothing leaves before it is confirmed.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { Secret } from '../../server/core/secret.ts';
import type { Answer } from '../helpers/clients.ts';
import { failNext, holdNext } from '../helpers/hold.ts';
import { attemptsBilled, newItem, proxyPost } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';

const { vault, party, item, freshPath, orderTo } = await openProxySetting({
  workers: 1,
  authFailuresMax: 50,
});
const second = await vault.secondServer();
afterAll(() => second.close());

function pay(path: string, of = item): Promise<Answer> {
  return proxyPost(of, orderTo(path));
}

describe('the item of a request', () => {
  test('is read while its order is checked; what is deleted meanwhile is not sent', async () => {
    const [path, own] = [freshPath(), await newItem(vault)];
    expect((await pay(path, own)).status).toBe(200);
    const checking = holdNext(vault.opened.crypto, 'readProxyOrder');
    const reading = holdNext(vault.opened.stores.itemStore, 'read');
    const answer = pay(path, own);
    await Promise.all([checking.reached, reading.reached]);
    reading.release();
    await Bun.sleep(20);
    await own.account.send('DELETE', '/vault/', { query: { user: own.user, token: own.token } });
    checking.release();
    expect((await answer).outcome).toBe('404 token_not_found');
    expect(party.calls(path)).toHaveLength(1);
  });

  test('that could not be read is read again', async () => {
    const path = freshPath();
    expect((await pay(path)).status).toBe(200);
    failNext(vault.opened.stores.itemStore, 'read', new VaultError('store_unavailable'));
    expect((await pay(path)).status).toBe(200);
    expect(party.calls(path)).toHaveLength(2);
  });
});

test.each([0, 16_383, 16_384, 16_385])('a reply of %d bytes comes as it is', async (bytes) => {
  const sent = Buffer.from(`é"\\\u0001\u2028€${'x'.repeat(bytes)}`.slice(0, bytes), 'latin1');
  const headers: [string, string][] = [
    ['Content-Type', 'text/plain; charset=latin1'],
    ['x-A', '1'],
    ['X-a', '2'],
  ];
  const { json } = await pay(freshPath({ status: 203, headers, body: sent }));
  expect(json).toMatchObject({ status_code: 203, body: new TextDecoder('latin1').decode(sent) });
  expect(Object(json).headers).toEqual(expect.arrayContaining([{ 'x-A': '1' }, { 'X-a': '2' }]));
});

test.each([
  [
    'password',
    '401 unauthenticated',
    (name: string) =>
      second.opened.services.accounts.setPassword(name, new Secret(new TextEncoder().encode('another one'))),
  ],
  [
    'hosts',
    '400 destination_refused',
    (name: string) => second.opened.services.accounts.set(name, { hosts: ['psp.example'] }),
  ],
])('nothing is sent or billed once another server has changed the %s', async (_, outcome, change) => {
  const [path, own] = [freshPath(), await newItem(vault)];
  expect((await pay(path, own)).status).toBe(200);
  await change(own.account.name);
  const answers = await Promise.all([1, 2, 3, 4].map(() => pay(path, own)));
  expect(new Set(answers.map((answer) => answer.outcome))).toEqual(new Set([outcome]));
  expect(party.calls(path)).toHaveLength(1);
  expect(await attemptsBilled(vault, own.account)).toBe(1);
});

test('an attempt that was sent stays billed when its call fails, and the call itself is not counted', async () => {
  const own = await newItem(vault);
  const before = await vault.usage(own.account);
  expect((await pay(freshPath('reset'), own)).outcome).toBe('502 outcome_unknown');
  const after = await vault.usage(own.account);
  expect(after['proxy_attempt']).toBe(1);
  // Reading the usage is a request of its own, each time.
  expect((after['api_requests'] ?? 0) - (before['api_requests'] ?? 0)).toBeLessThanOrEqual(1);
});
