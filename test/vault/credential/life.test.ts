import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AccountClient, PASSPHRASE } from '../../helpers/clients.ts';
import {
  clientOf,
  credentialClient,
  type MadeCredential,
  makeCredential,
} from '../../helpers/credentials.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const CARD = { card_number: '4111111111111111', expiry: '12/31' };
const DAY_MS = 86_400_000;

let vault: TestVault;
let other: TestVault;
let account: AccountClient;
let now = Date.parse('2026-03-01T12:00:00Z');

beforeAll(async () => {
  const settings = { now: () => now, alone: true };
  vault = await openTestVault(settings);
  other = await vault.secondServer(settings);
  account = await vault.account();
  await account.key('u');
});
afterAll(async () => {
  await other.close();
  await vault.close();
});

function bearer({ secret }: Pick<MadeCredential, 'secret'>) {
  return { headers: { authorization: `Bearer ${secret}` } };
}

describe('a credential', () => {
  test('is made with its secret, and shown without it ever after', async () => {
    const made = await makeCredential(account, ['vault:store'], {
      keys: ['u'],
      ips: ['10.0.0.0/8', '2001:DB8::1'],
      hosts: ['API.example.com', '*.pay.example'],
      expires_in: 'P30D',
    });
    const { secret, ...shown } = made;
    expect(secret).toMatch(/^vak1_[A-Za-z0-9_-]{43}$/);
    expect(shown).toEqual({
      id: expect.stringMatching(/^cred_[A-Za-z0-9_-]{22}$/),
      name: 'a test',
      scopes: ['vault:store'],
      keys: ['u'],
      unmasked: false,
      ips: ['10.0.0.0/8', '2001:db8::1/128'],
      hosts: ['api.example.com', '*.pay.example'],
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + 30 * DAY_MS).toISOString(),
    });
    expect((await account.send('GET', `/credential/${made.id}`)).json).toEqual(shown);
    expect((await account.send('GET', '/credential')).json).toContainEqual(shown);
    const stored = await vault.raw.hgetall(`{a:${account.aid}}v`);
    expect(JSON.stringify([stored, await vault.raw.hgetall('{credentials}')])).not.toContain(secret.slice(5));
  });

  test('signs in as a bearer, or as a password with its id as name, to its own account', async () => {
    const made = await makeCredential(account, ['vault:list']);
    const basic = clientOf(vault.handle, account, made);
    for (const answer of [
      await account.send('GET', '/whoami', bearer(made)),
      await basic.send('GET', '/whoami'),
    ]) {
      expect(answer.outcome).toBe('200');
      expect(answer.json).toMatchObject({
        user: account.name,
        credential: { id: made.id, scopes: ['vault:list'], unmasked: false },
      });
    }
    expect((await account.send('GET', '/whoami')).json).not.toHaveProperty('credential');
    const another = await makeCredential(account, ['vault:list']);
    const mixed = clientOf(vault.handle, account, { ...made, secret: another.secret });
    expect((await mixed.send('GET', '/whoami')).outcome).toBe('401 unauthenticated');
  });

  test.each([
    ['Bearer', 'Bearer'],
    ['an unknown secret', `Bearer vak1_${'A'.repeat(43)}`],
    ['a short secret', 'Bearer vak1_A'],
    ['the password of an account', 'Bearer password'],
    ['an unknown id', `Basic ${btoa(`cred_${'A'.repeat(22)}:vak1_${'A'.repeat(43)}`)}`],
  ])('is refused as %s', async (_what, authorization) => {
    const answer = await account.send('GET', '/whoami', { headers: { authorization } });
    expect(answer.outcome).toBe('401 unauthenticated');
  });

  test('is gone on every server when it is deleted', async () => {
    const made = await makeCredential(account, ['vault:list']);
    const [here, there] = [vault, other].map(({ handle }) => clientOf(handle, account, made));
    expect((await here?.send('GET', '/whoami'))?.outcome).toBe('200');
    expect((await there?.send('GET', '/whoami'))?.outcome).toBe('200');
    expect((await account.send('DELETE', `/credential/${made.id}`)).outcome).toBe('200');
    expect((await here?.send('GET', '/whoami'))?.outcome).toBe('401 unauthenticated');
    expect((await there?.send('GET', '/whoami'))?.outcome).toBe('401 unauthenticated');
    expect((await account.send('GET', `/credential/${made.id}`)).outcome).toBe('404 credential_not_found');
    expect((await account.send('DELETE', `/credential/${made.id}`)).outcome).toBe('404 credential_not_found');
    expect(JSON.stringify(await vault.raw.hgetall('{credentials}'))).not.toContain(made.id);
  });

  test('ends when it expires, and says when it was used last', async () => {
    const made = await makeCredential(account, ['vault:list'], { expires_in: '1h' });
    const client = clientOf(vault.handle, account, made);
    now += 1_000;
    expect((await client.send('GET', '/whoami')).outcome).toBe('200');
    const used = new Date(now).toISOString();
    now += 3_598_000;
    expect((await client.send('GET', '/whoami')).outcome).toBe('200');
    now += 1_000;
    expect((await client.send('GET', '/whoami')).outcome).toBe('401 unauthenticated');
    const shown = (await account.send('GET', `/credential/${made.id}`)).as<MadeCredential>();
    expect(Date.parse(shown.last_used_at ?? '')).toBeGreaterThanOrEqual(Date.parse(used));
    await vault.opened.services.audit.flush();
    const entries = (await account.send('GET', '/audit', { query: { action: 'sign_in' } })).as<
      readonly { outcome: string; object?: string; actor: string }[]
    >();
    expect(entries).toContainEqual(
      expect.objectContaining({
        outcome: 'unauthenticated',
        object: `credential/${made.id}`,
        actor: 'anonymous',
      }),
    );
  });

  test('gets a new secret; the old one ends at once, or after the overlap', async () => {
    const made = await makeCredential(account, ['vault:list']);
    const statusOf = async (secret: string): Promise<string> => {
      const headers = { authorization: `Bearer ${secret}` };
      return String((await other.handle(new Request('http://localhost/v1/whoami', { headers }))).status);
    };
    expect(await statusOf(made.secret)).toBe('200');
    const roll = async (body: object): Promise<string> =>
      (await account.send('POST', `/credential/${made.id}/roll`, { body })).as<MadeCredential>().secret;
    const second = await roll({ overlap: '1h' });
    expect([await statusOf(made.secret), await statusOf(second)]).toEqual(['200', '200']);
    const third = await roll({ overlap: '2h' });
    expect([await statusOf(made.secret), await statusOf(second), await statusOf(third)]).toEqual([
      '401',
      '200',
      '200',
    ]);
    now += 2 * 3_600_000;
    expect([await statusOf(second), await statusOf(third)]).toEqual(['401', '200']);
    const fourth = await roll({});
    expect([await statusOf(third), await statusOf(fourth)]).toEqual(['401', '200']);
    for (const overlap of ['0', '8d', 'soon', '-1h']) {
      const answer = await account.send('POST', `/credential/${made.id}/roll`, { body: { overlap } });
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body.overlap']);
    }
  });

  test('stores, is named in the logs, and sees numbers masked unless it was made otherwise', async () => {
    const scopes = ['vault:store', 'vault:read', 'vault:log'] as const;
    const masked = await credentialClient(vault.handle, account, scopes);
    const plain = await credentialClient(vault.handle, account, scopes, { unmasked: true });
    const token = await masked.store('u', CARD);
    expect(JSON.parse(await masked.open('u', token)).card_number).toBe('************1111');
    expect(JSON.parse(await plain.open('u', token)).card_number).toBe(CARD.card_number);
    expect(vault.lines).toContainEqual(
      expect.objectContaining({ account: account.name, credential: plain.made.id, status: 200 }),
    );
    const log = (await masked.send('GET', '/vault/metadata', { query: { user: 'u', token } })).as<
      readonly { actor: string }[]
    >();
    expect(log.map(({ actor }) => actor)).toEqual([
      `${account.name}/${plain.made.id}`,
      `${account.name}/${masked.made.id}`,
      `${account.name}/${masked.made.id}`,
    ]);
    const events = (await account.send('GET', '/audit', { query: { limit: 200 } })).as<
      readonly { actor: string; action: string; outcome: string }[]
    >();
    expect(events).toContainEqual(
      expect.objectContaining({
        actor: `credential/${masked.made.id}`,
        action: 'item.log',
        outcome: 'success',
      }),
    );
  });

  test('is refused outside of its scopes, its keys and its addresses, and that is logged', async () => {
    await account.key('v');
    const client = await credentialClient(vault.handle, account, ['vault:store', 'vault:list', 'key:read'], {
      keys: ['u'],
    });
    const token = await client.store('u', CARD);
    const sending = { passphrase: PASSPHRASE };
    const refused = [
      await client.send('GET', '/vault', { query: { user: 'u', token }, ...sending }),
      await client.send('GET', '/vault', { query: { user: 'u', decrypt_all: true }, ...sending }),
      await client.send('POST', '/vault', { query: { user: 'v' }, body: CARD, ...sending }),
      await client.send('GET', '/vault', { query: { user: 'v' } }),
      await client.send('DELETE', '/vault', { query: { user: 'u', token } }),
      await client.send('POST', '/change-password', { body: {} }),
      await client.send('POST', '/credential', { body: { name: 'x', scopes: ['vault:list'] } }),
    ];
    for (const { outcome, field } of refused) {
      expect([outcome, field]).toEqual(['403 not_allowed', 'scope']);
    }
    expect(refused[0]?.as<{ error: string }>().error).toBe(
      '`scope` of this credential does not include `vault:read`.',
    );
    expect((await client.send('GET', '/key')).json).toEqual([{ user: 'u' }]);
    expect(Object.keys((await client.send('GET', '/vault')).as<object>())).toEqual(['u']);
    const far = await credentialClient(vault.handle, account, ['vault:list'], { ips: ['192.0.2.0/24'] });
    const answer = await far.send('GET', '/whoami');
    expect([answer.outcome, answer.field]).toEqual(['403 not_allowed', 'scope']);
    const events = (await account.send('GET', '/audit', { query: { limit: 200 } })).as<
      readonly { actor: string; action: string; outcome: string }[]
    >();
    for (const action of [
      'item.decrypt',
      'item.store',
      'item.delete',
      'password.change',
      'credential.create',
    ]) {
      expect(events).toContainEqual(
        expect.objectContaining({ actor: `credential/${client.made.id}`, action, outcome: 'not_allowed' }),
      );
    }
    expect(events).toContainEqual(
      expect.objectContaining({
        actor: `credential/${far.made.id}`,
        action: 'credential.use',
        outcome: 'not_allowed',
      }),
    );
  });

  test('never exceeds its maker, nor its account', async () => {
    const maker = await credentialClient(
      vault.handle,
      account,
      ['credential:write', 'vault:list', 'proxy:send'],
      { keys: ['u'], ips: ['127.0.0.0/8'], hosts: ['*.pay.example'], expires_in: '1d' },
    );
    const child = await makeCredential(maker, ['vault:list']);
    expect(child).toMatchObject({ keys: ['u'], ips: ['127.0.0.0/8'], hosts: ['*.pay.example'] });
    expect(child.expires_at).toBe(maker.made.expires_at ?? '');
    const exceeding = [
      { scopes: ['vault:read'] },
      { keys: ['v'] },
      { keys: ['u', 'v'] },
      { ips: ['0.0.0.0/0'] },
      { hosts: ['pay.example'] },
      { hosts: ['*.example'] },
      { expires_in: '2d' },
      { expires_in: '0' },
      { unmasked: true },
    ];
    for (const more of exceeding) {
      const body = { name: 'x', scopes: ['vault:list'], ...more };
      expect((await maker.send('POST', '/credential', { body })).outcome).toBe('403 not_allowed');
    }
    const strong = await makeCredential(account, ['vault:read']);
    expect((await maker.send('POST', `/credential/${strong.id}/roll`, { body: {} })).outcome).toBe(
      '403 not_allowed',
    );
    expect((await maker.send('POST', `/credential/${child.id}/roll`, { body: {} })).outcome).toBe('200');
    const masked = await vault.account({ unmasked: false });
    const body = { name: 'x', scopes: ['vault:read'], unmasked: true };
    expect((await masked.send('POST', '/credential', { body })).outcome).toBe('403 not_allowed');
  });

  test('belongs to one account', async () => {
    const stranger = await vault.account();
    const made = await makeCredential(account, ['vault:list']);
    for (const [method, path] of [
      ['GET', `/credential/${made.id}`],
      ['DELETE', `/credential/${made.id}`],
      ['POST', `/credential/${made.id}/roll`],
    ] as const) {
      const body = method === 'POST' ? { body: {} } : {};
      expect((await stranger.send(method, path, body)).outcome).toBe('404 credential_not_found');
    }
    expect((await stranger.send('GET', '/credential')).json).toEqual([]);
  });

  test('keeps its Idempotency-Keys apart from those of others', async () => {
    const scopes = ['vault:store'] as const;
    const [one, two] = [
      await credentialClient(vault.handle, account, scopes),
      await credentialClient(vault.handle, account, scopes),
    ];
    const sending = { query: { user: 'u' }, passphrase: PASSPHRASE, body: CARD, idempotencyKey: 'same' };
    for (const client of [one, two, account]) {
      expect((await client.send('POST', '/vault', sending)).headers.get('idempotency-replayed')).toBeNull();
      expect((await client.send('POST', '/vault', sending)).headers.get('idempotency-replayed')).toBe('true');
    }
  });
});
