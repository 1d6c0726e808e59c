/** A proxied request may begin with the account as it was last read; nothing leaves before that is confirmed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Secret } from '../../../server/core/secret.ts';
import type { Answer } from '../../helpers/clients.ts';
import {
  attemptsBilled,
  type Item,
  newItem,
  openProxyVault,
  proxyPost,
  requestTo,
} from '../../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import type { TestVault } from '../../helpers/vault.ts';

let vault: TestVault;
let second: TestVault;
let party: ThirdParty;

beforeAll(async () => {
  party = await startThirdParty();
  vault = await openProxyVault({ workers: 1, authFailuresMax: 50 });
  second = await vault.secondServer();
});
afterAll(async () => {
  await second.close();
  await vault.close();
  party.stop();
});

function pay(item: Item, path: string): Promise<Answer> {
  return proxyPost(item, { request: requestTo(party.url(path)), synchronous: true });
}

describe('a proxied request that assumes an account', () => {
  test('sends, logs and counts nothing once another server has changed the password', async () => {
    party.script('/password', 201);
    const item = await newItem(vault);
    expect((await pay(item, '/password')).status).toBe(200);
    const password = new Secret(new TextEncoder().encode('another one'));
    expect(await second.opened.services.accounts.setPassword(item.account.name, password)).toBe(true);
    const answers = await Promise.all([1, 2, 3, 4].map(() => pay(item, '/password')));
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['401 unauthenticated']));
    expect(party.calls('/password')).toHaveLength(1);
  });

  test('keeps to the hosts that another server has set', async () => {
    party.script('/hosts', 201);
    const item = await newItem(vault);
    expect((await pay(item, '/hosts')).status).toBe(200);
    await second.opened.services.accounts.set(item.account.name, { hosts: ['psp.example'] });
    const answers = await Promise.all([1, 2, 3, 4].map(() => pay(item, '/hosts')));
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['400 destination_refused']));
    expect(party.calls('/hosts')).toHaveLength(1);
    expect(await attemptsBilled(vault, item.account)).toBe(1);
  });
});

test('an attempt that was sent stays billed when its call fails, and the call itself is not counted', async () => {
  party.script('/reset', 'reset');
  const item = await newItem(vault);
  const before = await vault.usage(item.account);
  expect((await pay(item, '/reset')).outcome).toBe('502 outcome_unknown');
  const after = await vault.usage(item.account);
  expect(after['proxy_attempt']).toBe(1);
  // Reading the usage is a request of its own, each time.
  expect((after['api_requests'] ?? 0) - (before['api_requests'] ?? 0)).toBeLessThanOrEqual(1);
});
