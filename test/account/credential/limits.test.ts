/** What a credential tries to get past its hosts, keys, addresses, lifetime, and past the limits of its maker. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import { PASSPHRASE } from '../../helpers/clients.ts';
import {
  clientOf,
  credentialClient,
  makeCredential,
  type WantedCredential,
} from '../../helpers/credentials.ts';
import { proxyPost, requestTo } from '../../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
let elsewhere: ThirdParty;

beforeAll(async () => {
  stage = await openStage();
  elsewhere = await startThirdParty();
});
afterAll(async () => {
  elsewhere.stop();
  await stage.close();
});

describe('a credential for one host', () => {
  async function outcomes(hosts: readonly string[], url: string): Promise<string[]> {
    const { vault, account, token } = stage;
    const user = await credentialClient(vault.handle, account, ['proxy:send'], { hosts });
    const item = { account: user, user: 'u', token };
    const request = requestTo(url, { body: '{{card_number}}' });
    const found: string[] = [];
    for (const synchronous of [true, false]) {
      const { outcome } = await proxyPost(item, { request, synchronous, webhook: stage.receiver.webhook });
      found.push(outcome);
    }
    return found;
  }

  test.each([
    ['another host', 'https://127.0.0.1:PORT/'],
    ['another name of it', 'https://localhost:PORT/'],
    ['it as the name of a user', 'https://api.pay.example@127.0.0.1:PORT/'],
    ['it as a user with a password', 'https://api.pay.example:443@127.0.0.1:PORT/'],
    ['it behind a backslash', 'https://127.0.0.1:PORT\\@api.pay.example/'],
    ['it as a fragment', 'https://127.0.0.1:PORT#@api.pay.example/'],
    ['it as the start of a name', 'https://api.pay.example.localhost:PORT/'],
    ['it as the end of a name', 'https://xapi.pay.example:PORT/'],
    ['a name below it', 'https://a.api.pay.example:PORT/'],
    ['it with a dot at its end', 'https://api.pay.example.:PORT/'],
    ['the number of an address', 'https://2130706433:PORT/'],
    ['an IPv4 address in IPv6', 'https://[::ffff:127.0.0.1]:PORT/'],
    ['punycode', 'https://xn--api-pay-example-00a.example:PORT/'],
    ['a template', 'https://{{host}}:PORT/'],
    ['a template in the host', 'https://api.pay.example{{x}}:PORT/'],
  ])('is refused with %s, before any connection', async (_what, url) => {
    const there = url.replace('PORT', String(elsewhere.port));
    for (const outcome of await outcomes(['api.pay.example', '*.pay.other'], there)) {
      expect(outcome).toMatch(
        /^(?:403 (?:not_allowed|destination_refused)|400 (?:invalid_request|destination_refused))$/,
      );
    }
    expect(elsewhere.connections()).toBe(0);
  });

  test('follows no redirect, and reaches its host in any spelling', async () => {
    stage.party.script('/', { status: 307, headers: [['Location', elsewhere.url('/')]] });
    const { port } = stage.party;
    for (const url of [
      `https://127.0.0.1:${port}/`,
      `https://127.1:${port}/`,
      `HTTPS://127.0.0.1:${port}/`,
    ]) {
      expect((await outcomes(['127.0.0.1'], url))[0]).toBe('200');
    }
    expect(elsewhere.connections()).toBe(0);
  });
});

describe('a credential for some keys and addresses', () => {
  test('cannot send what is under another key', async () => {
    const { account, user } = stage;
    const token = await account.store('other', { card_number: '4111111111111111' });
    const order = { request: requestTo(elsewhere.url('/'), {}), synchronous: true };
    const answer = await proxyPost({ account: user, user: 'other', token }, order);
    expect([answer.outcome, answer.field]).toEqual(['403 not_allowed', 'scope']);
    expect((await proxyPost({ account: user, user: 'u', token }, order)).status).not.toBe(200);
    expect(elsewhere.connections()).toBe(0);
  });

  test('cannot change or make another key, which a body names', async () => {
    const { vault, account } = stage;
    const client = await credentialClient(vault.handle, account, ['key:write'], { keys: ['u'] });
    const passphrase = PASSPHRASE;
    for (const [method, user] of [
      ['PUT', 'other'],
      ['POST', 'other'],
      ['POST', 'a-new-one'],
    ] as const) {
      const answer = await client.send(method, '/key', { body: { user, passphrase } });
      expect([answer.outcome, answer.field]).toEqual(['403 not_allowed', 'scope']);
    }
    expect((await account.send('GET', '/key')).json).not.toContainEqual({ user: 'a-new-one' });
  });

  test('stores, reads and deletes under no other key by a batch', async () => {
    const { vault, account } = stage;
    const scopes = ['vault:store', 'vault:read', 'vault:delete'] as const;
    const client = await credentialClient(vault.handle, account, scopes, { keys: ['u'] });
    for (const [path, item] of [
      ['', { data: { n: '1' } }],
      ['/decrypt', { token: 't' }],
      ['/delete', { token: 't' }],
    ] as const) {
      const send = (user: string) =>
        client.send('POST', `/vault/batch${path}`, { passphrase: PASSPHRASE, body: { user, items: [item] } });
      const refused = await send('other');
      expect([path, refused.outcome, refused.field]).toEqual([path, '403 not_allowed', 'scope']);
      expect((await send('u')).outcome).toBe('200');
    }
  });

  test('is at no other address by what a header says', async () => {
    const { vault, account } = stage;
    const client = await credentialClient(vault.handle, account, ['vault:list'], { ips: ['192.0.2.0/24'] });
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip']) {
      const { outcome } = await client.send('GET', '/whoami', { headers: { [name]: '192.0.2.7' } });
      expect(outcome).toBe('403 not_allowed');
    }
  });
});

describe('a credential that makes another', () => {
  const LIMITS: WantedCredential = {
    ...{ keys: ['u'], ips: ['127.0.0.0/8'], hosts: ['*.pay.example', '127.0.0.1'], expires_in: '1d' },
  };

  test.each<[string, object]>([
    ['a scope', { scopes: ['vault:read'] }],
    ['a key', { keys: ['other'] }],
    ['a key more', { keys: ['u', 'other'] }],
    ['no unmasked output', { unmasked: true }],
    ['all addresses', { ips: ['0.0.0.0/0'] }],
    ['all addresses of IPv6', { ips: ['::/0'] }],
    ['one bit more', { ips: ['126.0.0.0/7'] }],
    ['IPv4 in IPv6', { ips: ['::ffff:10.0.0.1'] }],
    ['one address of two', { ips: ['127.0.0.1', '10.0.0.1'] }],
    ['the host above its wildcard', { hosts: ['pay.example'] }],
    ['a wider wildcard', { hosts: ['*.example'] }],
    ['a name that ends alike', { hosts: ['xpay.example'] }],
    ['another address', { hosts: ['127.0.0.2'] }],
    ['one second more', { expires_in: '86401s' }],
    ['for ever', { expires_in: '0' }],
  ])('cannot give it more: %s', async (_what, more) => {
    const { vault, account } = stage;
    const maker = await credentialClient(vault.handle, account, ['credential:write', 'proxy:send'], LIMITS);
    const body = { name: 'x', scopes: ['proxy:send'], ...more };
    const { outcome } = await maker.send('POST', '/credential', { body });
    expect(['403 not_allowed', '400 invalid_request']).toContain(outcome);
  });

  test.each<[string, object]>([
    ['no address', { ips: ['10.1'] }],
    ['IPv4 in IPv6 with bits', { ips: ['::ffff:127.0.0.1/96'] }],
    ['too many bits', { ips: ['127.0.0.1/33'] }],
    ['no hosts', { hosts: [] }],
    ['no keys', { keys: [] }],
    ['a wildcard alone', { hosts: ['*'] }],
    ['a port', { hosts: ['pay.example:443'] }],
  ])('is refused %s', async (_what, more) => {
    const body = { name: 'x', scopes: ['proxy:send'], ...more };
    expect((await stage.account.send('POST', '/credential', { body })).outcome).toBe('400 invalid_request');
  });

  test('passes its limits on, to the third of a chain', async () => {
    const { vault, account } = stage;
    const first = await credentialClient(vault.handle, account, ['credential:write', 'proxy:send'], LIMITS);
    const second = await credentialClient(vault.handle, first, ['credential:write']);
    expect(
      (await second.send('POST', '/credential', { body: { name: 'x', scopes: ['proxy:send'] } })).outcome,
    ).toBe('403 not_allowed');
    const third = await makeCredential(second, ['credential:write'], { ips: ['127.0.0.1'] });
    const { keys, hosts, expires_at } = first.made;
    expect(third).toMatchObject({ keys, hosts, expires_at, ips: ['127.0.0.1/32'], unmasked: false });
    for (const { id } of [first.made, second.made]) {
      const weaker = clientOf(vault.handle, account, third);
      expect((await weaker.send('POST', `/credential/${id}/roll`, { body: {} })).outcome).toBe(
        '403 not_allowed',
      );
    }
    const itself = await second.send('POST', `/credential/${second.made.id}/roll`, { body: {} });
    expect(itself.as<{ expires_at: string }>().expires_at).toBe(String(second.made.expires_at));
  });

  test.each<[string, object]>([
    ['a scope more', { scopes: ['vault:store', 'vault:read'] }],
    ['another key', { keys: ['other'] }],
    ['all keys', { keys: undefined }],
    ['unmasked output', { unmasked: true }],
    ['other addresses', { ips: ['10.0.0.1'] }],
    ['all hosts', { hosts: undefined }],
    ['a later end', { expires_in: '2d' }],
  ])('neither deletes nor rolls one that has %s', async (_what, more) => {
    const { vault, account } = stage;
    const maker = await credentialClient(vault.handle, account, ['credential:write', 'vault:store'], LIMITS);
    const body = { name: 'x', scopes: ['vault:store'], ...LIMITS, expires_in: '1h', ...more };
    const { id } = (await account.send('POST', '/credential', { body })).as<{ id: string }>();
    for (const answer of [
      await maker.send('DELETE', `/credential/${id}`),
      await maker.send('POST', `/credential/${id}/roll`, { body: {} }),
    ]) {
      expect([answer.outcome, answer.field]).toEqual(['403 not_allowed', 'scope']);
    }
    expect((await account.send('GET', `/credential/${id}`)).outcome).toBe('200');
  });

  test('deletes and rolls what is within its limits, and itself', async () => {
    const { vault, account } = stage;
    const maker = await credentialClient(vault.handle, account, ['credential:write', 'vault:store'], LIMITS);
    const equal = await makeCredential(maker, ['vault:store']);
    expect((await maker.send('POST', `/credential/${equal.id}/roll`, { body: {} })).outcome).toBe('200');
    expect((await maker.send('DELETE', `/credential/${equal.id}`)).outcome).toBe('200');
    expect((await maker.send('DELETE', `/credential/${equal.id}`)).outcome).toBe('404 credential_not_found');
    expect((await maker.send('DELETE', `/credential/${maker.made.id}`)).outcome).toBe('200');
    expect((await maker.send('GET', '/whoami')).outcome).toBe('401 unauthenticated');
  });

  test('deletes and rolls itself also where its account sees less than before', async () => {
    const { vault } = stage;
    const owner = await vault.account();
    const itself = await credentialClient(vault.handle, owner, ['credential:write'], { unmasked: true });
    await vault.opened.services.accounts.set(owner.name, { unmasked: false });
    const rolled = await itself.send('POST', `/credential/${itself.made.id}/roll`, {
      body: { overlap: '1h' },
    });
    expect(rolled.outcome).toBe('200');
    expect((await itself.send('DELETE', `/credential/${itself.made.id}`)).outcome).toBe('200');
  });

  test('leaves a record that is damaged to the account', async () => {
    const { vault, account } = stage;
    const maker = await credentialClient(vault.handle, account, ['credential:write']);
    const { id } = await makeCredential(maker, ['credential:write']);
    await vault.raw.hset(redisKeys.credentials(account.aid), id, Buffer.from('damaged'));
    expect((await maker.send('DELETE', `/credential/${id}`)).outcome).toBe('403 not_allowed');
    expect((await account.send('DELETE', `/credential/${id}`)).outcome).toBe('200');
  });

  test('that is masked makes endpoints that stay masked', async () => {
    const { vault } = stage;
    const owner = await vault.account({ unmasked: false });
    await owner.key('u');
    const token = await owner.store('u', { card_number: '5204740009900014' });
    const maker = await credentialClient(vault.handle, owner, ['retrieve:write']);
    const made = await maker.send('POST', '/retrieve', {
      ...{ query: { user: 'u', token }, passphrase: PASSPHRASE },
    });
    const { url, secret } = made.as<{ url: string; secret: string }>();
    await vault.opened.services.accounts.set(owner.name, { unmasked: true });
    const headers = { 'x-vault-retrieve-secret': secret };
    const answer = await owner.send('GET', url.replace('/v1', ''), { query: { token }, headers });
    expect(answer.json).toEqual({ card_number: '************0014' });
    expect(JSON.parse(await owner.open('u', token)).card_number).toBe('5204740009900014');
  });
});
