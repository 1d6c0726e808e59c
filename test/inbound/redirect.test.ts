/** Redirections of the merchant: a sender that follows one repeats the number, so none may lead it past the vault. */
import { describe, expect, test } from 'bun:test';
import { locationBelow } from '../../server/inbound/location.ts';
import { connectInbound, newInbound, sendThrough } from '../helpers/inbound.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';

const BASE = 'https://shop.example/hook/v1';
const SENT = `${BASE}/orders/7?a=1`;
const URL_OF = 'https://vault.test/v1/inbound/orders';
const below = (location: string): string | undefined => locationBelow(location, SENT, BASE, URL_OF);

describe('a location', () => {
  test.each([
    [`${BASE}/next`, '/next'],
    [`${BASE}/next?b=2#c`, '/next?b=2#c'],
    ['/hook/v1/next', '/next'],
    ['//shop.example/hook/v1/next', '/next'],
    ['HTTPS://SHOP.example:443/hook/v1/next', '/next'],
    ['8', '/orders/8'],
    ['../carts/8', '/carts/8'],
    ['?b=2', '/orders/7?b=2'],
    [`${BASE}/a/../next`, '/next'],
  ])('%s is within the connection', (location, rest) => {
    expect(below(location)).toBe(URL_OF + rest);
  });

  test.each([
    'https://shop.example/hook/v1',
    'https://shop.example/hook/v1/',
    'https://shop.example/hook/v11/next',
    'https://shop.example/other',
    'https://shop.example/hook/v1/../../admin',
    'https://shop.example/hook/v1/%2e%2e/%2e%2e/admin',
    'http://shop.example/hook/v1/next',
    'https://shop.example:8443/hook/v1/next',
    'https://evil.example/hook/v1/next',
    'https://shop.example.evil.example/hook/v1/next',
    'https://user:pass@shop.example/hook/v1/next',
    'https://shop.example@evil.example/hook/v1/next',
    '//evil.example/hook/v1/next',
    '\\\\evil.example\\hook',
    '../../../admin',
    '/',
    'javascript:alert(1)',
    'data:text/html,x',
    'https://',
    'https://[::1',
  ])('%s is not', (location) => {
    expect(below(location)).toBeUndefined();
  });
});

const setting = await openProxySetting();
const { vault, party, item, freshPath } = setting;
const { account } = item;
const shop = await connectInbound(account, party, {
  base_url: party.url('/hook'),
  headers: [{ 'X-Key': 'sk_canary_0123' }],
});
const orders = await newInbound(account, { connection: shop });
const CARD = '{"card":{"number":"4111111111111111"}}';
const { publicUrl } = vault.parts.http;

describe.each([301, 302, 303, 307, 308])('a %d', (status) => {
  const reply = (location: string) => ({ status, headers: [['Location', location]] as const, body: 'moved' });
  const send = async (location: string) => {
    const path = freshPath();
    party.script(`/hook${path}`, reply(location));
    return sendThrough(vault.handle, orders, path, { body: CARD });
  };

  test('within the connection leads to the inbound', async () => {
    for (const location of [party.url('/hook/next?a=1'), '/hook/next?a=1']) {
      const answer = await send(location);
      expect([answer.status, answer.text]).toEqual([status, 'moved']);
      expect(answer.headers.get('location')).toBe(`${publicUrl}/v1/inbound/${orders.id}/next?a=1`);
      expect(answer.headers.get('x-vault-stored')).toBe('1');
    }
  });

  test('elsewhere is refused', async () => {
    for (const location of [party.url('/elsewhere'), 'https://evil.example/hook/next', '/']) {
      const answer = await send(location);
      expect([location, answer.outcome]).toEqual([location, '502 redirect_refused']);
      expect(answer.headers.get('location')).toBeNull();
    }
  });
});

test('a reply without a redirection keeps its location, and a redirection without one its status', async () => {
  const path = freshPath();
  const location = party.url('/somewhere/7');
  party.script(`/hook${path}`, { status: 201, headers: [['Location', location]] }, 304);
  const made = await sendThrough(vault.handle, orders, path, { body: CARD });
  expect([made.status, made.headers.get('location')]).toEqual([201, location]);
  expect((await sendThrough(vault.handle, orders, path, { method: 'GET' })).status).toBe(304);
});

test('two locations are refused where one is elsewhere', async () => {
  const path = freshPath();
  const headers = [
    ['Location', party.url('/hook/next')],
    ['Location', 'https://evil.example/'],
  ] as const;
  party.script(`/hook${path}`, { status: 307, headers });
  expect((await sendThrough(vault.handle, orders, path, { body: CARD })).outcome).toBe(
    '502 redirect_refused',
  );
});
