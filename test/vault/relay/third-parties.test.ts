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
