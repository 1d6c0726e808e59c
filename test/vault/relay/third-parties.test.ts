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
