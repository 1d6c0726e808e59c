/** What callers and third parties learn of each other through the relay and the proxy. */
import { describe, expect, test } from 'bun:test';
import { credentialClient } from '../../helpers/credentials.ts';
import { proxyPost } from '../../helpers/proxy.ts';
import { openProxySetting } from '../../helpers/proxy-setting.ts';
import { connect, relay } from '../../helpers/relay.ts';

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
