/** What callers and third parties learn of each other through the relay and the proxy. */
import { describe, expect, test } from 'bun:test';
import { credentialClient } from '../helpers/credentials.ts';
import { proxyPost } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { connect, placeholder, relay } from '../helpers/relay.ts';
import { createActGate } from '../helpers/third-party.ts';

const { vault, item, newParty } = await openProxySetting();

describe('a connection that is kept', () => {
  test('serves the next request of the same credential, not one of another or of the account', async () => {
    const party = await newParty();
    party.script('/kept', 200);
    const psp = await connect(item.account, party);
    const senders = [
      item.account,
      await credentialClient(vault.handle, item.account, ['proxy:send']),
      await credentialClient(vault.handle, item.account, ['proxy:send']),
    ];
    for (const [at, sender] of senders.entries()) {
      expect((await relay(sender, psp, '/kept', { body: '{}' })).outcome).toBe('200');
      expect((await relay(sender, psp, '/kept', { body: '{}' })).outcome).toBe('200');
      expect(party.connections()).toBe(at + 1);
    }
  });

  test('serves a proxied request likewise', async () => {
    const party = await newParty();
    party.script('/kept', 200);
    const order = { request: { method: 'POST', url: party.url('/kept'), body: '{}' }, synchronous: true };
    for (let at = 1; at <= 2; at++) {
      const account = await credentialClient(vault.handle, item.account, ['proxy:send']);
      for (let time = 0; time < 2; time++) {
        expect((await proxyPost({ ...item, account }, order)).outcome).toBe('200');
      }
      expect(party.connections()).toBe(at);
    }
  });
});

describe('a header of a connection', () => {
  const headers = [{ 'X-Api-Key': 'sk_test_the-key-of-the-shop' }];
  const sign = { algorithm: 'hmac-sha-256', key: 'the-key', header: 'X-Signature', payload: '{{body}}' };
  const forged = {
    X_Api_Key: 'forged-1',
    X_Signature: 'forged-2',
    X_Vault_Timestamp: 'forged-3',
    X_Other: 'kept',
  };

  test('is the only one that a third party could take for it, of a relayed request', async () => {
    const party = await newParty();
    party.script('/header', 200);
    const psp = await connect(item.account, party, { headers, sign });
    expect((await relay(item.account, psp, '/header', { body: '{}', headers: forged })).outcome).toBe('200');
    const { head } = await party.call('/header');
    expect(head).toContain('sk_test_the-key-of-the-shop');
    expect(head).toMatch(/^x_other: kept\r$/im);
    expect(head).not.toContain('forged');
  });

  test('is it for a proxied one', async () => {
    const party = await newParty();
    party.script('/header', 200);
    const connection = await connect(item.account, party, { headers, sign });
    const own = Object.entries(forged).map(([name, value]) => ({ [name]: value }));
    const request = { connection, method: 'POST', url: '/header', headers: own, body: '{}' };
    expect((await proxyPost(item, { request, synchronous: true })).outcome).toBe('200');
    const { head } = await party.call('/header');
    expect(head).toContain('sk_test_the-key-of-the-shop');
    expect(head).toMatch(/^x_other: kept\r$/im);
    expect(head).not.toContain('forged');
  });
});

describe('a relayed path', () => {
  test.each(['%25', '%252e%252e/x', '%00', '%0d%0aX:1', '%1F', '%7f', 'a%0Ab'])(
    'with %s is refused, and nothing is sent',
    async (part) => {
      const party = await newParty();
      const psp = await connect(item.account, party, { paths: ['/p'] });
      for (const path of [`/p/${part}`, `/p/${part}/x?y=1`]) {
        const answer = await relay(item.account, psp, path, { body: '{}' });
        expect([answer.outcome, answer.field]).toEqual(['400 path_invalid', 'path']);
      }
      expect(party.connections()).toBe(0);
    },
  );

  test('may have other characters encoded; so may the query all of them', async () => {
    const party = await newParty();
    const path = '/p/%20a%C3%A9%3F%7e';
    party.script(path, 200);
    const psp = await connect(item.account, party);
    const answer = await relay(item.account, psp, `${path}?a=%25%00%0a`, { body: '{}' });
    expect(answer.outcome).toBe('200');
    expect((await party.call(path)).target).toBe(`${path}?a=%25%00%0a`);
  });
});

describe('cookies', () => {
  const OWN = ['__Host-vault_session', 'vault_session', '__Host-vault_signin', 'vault_signin'];

  test('of a third party come back, but none that could stand for one of the vault', async () => {
    const party = await newParty();
    const passed = ['a=1; Path=/; HttpOnly', 'b=2, c=3', 'vault_other=1', 'my_vault_session=1'];
    const dropped = [
      ...OWN.map((name) => `${name}=forged; Path=/`),
      ' VAULT_SESSION =forged',
      '__Secure-vault_session=forged',
      // Browsers send a cookie without a name as its value alone.
      'vault_session',
      '=vault_session=forged',
      'vault_session;x=1',
      '',
    ];
    party.script('/cookies', { headers: [...dropped, ...passed].map((value) => ['Set-Cookie', value]) });
    const psp = await connect(item.account, party);
    const { headers } = await relay(item.account, psp, '/cookies', { body: '{}' });
    expect(headers.getSetCookie()).toEqual(passed);
  });

  test('of the vault are not sent to a third party, others are', async () => {
    const party = await newParty();
    party.script('/cookies', 200);
    const psp = await connect(item.account, party);
    const cookieSent = async (cookie: string): Promise<string | undefined> => {
      const before = party.calls('/cookies').length;
      await relay(item.account, psp, '/cookies', { body: '{}', headers: { cookie } });
      return (await party.call('/cookies', before + 1)).header('cookie');
    };
    const own = OWN.map((name) => `${name}=vss1_secret`).join('; ');
    expect(await cookieSent(`a=1; ${own}; b="2"; vault_session_of=mine`)).toBe(
      'a=1; b="2"; vault_session_of=mine',
    );
    expect(await cookieSent(own)).toBeUndefined();
    expect(await cookieSent('a=1, vault_session=vss1_secret; b=2')).toBe('b=2');
    expect(await cookieSent('VAULT_SIGNIN =vss1_secret;b=2')).toBe('b=2');
    expect(await cookieSent('a=1;b=2')).toBe('a=1;b=2');
  });
});

test('a third party has no header of the vault or for a browser at its origin set', async () => {
  const party = await newParty();
  const names = [
    'Refresh',
    'WWW-Authenticate',
    'Link',
    'X-Vault-Request-Id',
    'X-Vault-Withheld',
    'X-Vault-Anything',
  ];
  const headers = [...names.map((name) => [name, 'theirs'] as const), ['X-Link', 'theirs'] as const];
  party.script('/headers', { status: 401, headers });
  const psp = await connect(item.account, party);
  const answer = await relay(item.account, psp, '/headers', { body: '{}' });
  expect([answer.status, answer.headers.get('x-link')]).toEqual([401, 'theirs']);
  answer.headers.delete('x-link');
  expect(JSON.stringify([...answer.headers])).not.toContain('theirs');
  // Of a proxied request, headers are data.
  const order = { request: { method: 'POST', url: party.url('/headers'), body: '{}' }, synchronous: true };
  const { text } = await proxyPost(item, order);
  names.forEach((name) => void expect(text).toContain(`{"${name}":"theirs"}`));
});

test('long requests of an account are bounded together: what is beyond is refused before it is sent', async () => {
  const party = await newParty();
  const gate = createActGate();
  party.script('/long', gate.act(200));
  const psp = await connect(item.account, party);
  const body = Buffer.alloc(1_048_576, '"long"');
  const ask = () => relay(item.account, psp, '/long', { body });
  const first = Array.from({ length: 15 }, ask);
  await party.call('/long', 15);
  const order = { request: { method: 'POST', url: party.url('/long'), body: 'x'.repeat(1_000_000) } };
  expect((await ask()).outcome).toBe('503 overloaded');
  expect((await proxyPost(item, { ...order, synchronous: true })).outcome).toBe('503 overloaded');
  expect((await relay(item.account, psp, '/other', { body: '{}' })).outcome).toStartWith('404');
  expect(party.calls('/long')).toHaveLength(15);
  gate.open();
  expect(new Set((await Promise.all(first)).map(({ outcome }) => outcome))).toEqual(new Set(['200']));
  expect((await ask()).outcome).toBe('200');
});

test('long replies of an account come in turn, and all of them whole', async () => {
  const party = await newParty();
  const gate = createActGate();
  const body = Buffer.alloc(1_000_000, '{"a":"b"} ');
  party.script('/long', gate.act({ body }));
  const psp = await connect(item.account, party);
  const pan = placeholder(item.token, 'card_number');
  const asked = Array.from({ length: 40 }, () => relay(item.account, psp, '/long', { body: `"${pan}"` }));
  await party.call('/long', 40);
  gate.open();
  for (const { outcome, text } of await Promise.all(asked)) {
    expect([outcome, text.length]).toEqual(['200', body.length]);
  }
});
