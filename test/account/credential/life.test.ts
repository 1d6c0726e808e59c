import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { loadConfig } from '../../../server/config/config.ts';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import { type AccountClient, basicAuth, PASSPHRASE } from '../../helpers/clients.ts';
import { runCommand } from '../../helpers/command.ts';
import {
  clientOf,
  credentialClient,
  type MadeCredential,
  makeCredential,
} from '../../helpers/credentials.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const CARD = { card_number: '4111111111111111', expiry: '12/31' };
const DAY_MS = 86_400_000;
const FLOOD = 500;

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

type Headers = NonNullable<RequestInit['headers']>;

async function statusOf(headers: Headers, query = ''): Promise<number> {
  const request = new Request(`http://localhost/v1/whoami${query}`, { headers });
  return (await vault.handle(request)).status;
}

function swapped(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
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
      expires_at: `${new Date(Math.ceil((now + 30 * DAY_MS) / 1_000) * 1_000).toISOString().slice(0, 19)}Z`,
    });
    expect((await account.send('GET', `/credential/${made.id}`)).json).toEqual(shown);
    expect((await account.send('GET', '/credential')).json).toContainEqual(shown);
    const stored = await vault.raw.hgetall(`{a:${account.aid}}v`);
    expect(JSON.stringify([stored, await vault.raw.hgetall('{credentials}')])).not.toContain(secret.slice(5));
  });

  test('signs in as a bearer, or as a password with its id as name, to its own account', async () => {
    const made = await makeCredential(account, ['vault:list']);
    const bearer = { headers: { authorization: `Bearer ${made.secret}` } };
    for (const answer of [
      await account.send('GET', '/whoami', bearer),
      await clientOf(vault.handle, account, made).send('GET', '/whoami'),
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

  test('never exceeds its account', async () => {
    const masked = await vault.account({ unmasked: false });
    const body = { name: 'x', scopes: ['vault:read'], unmasked: true };
    const refused = await masked.send('POST', '/credential', { body });
    expect(refused.outcome).toBe('403 not_allowed');
    const error = '`unmasked` needs unmasked output, which this account or credential does not have.';
    expect(refused.json).toMatchObject({ error });
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

  test('goes with its account, and a sweep takes the digests of both secrets', async () => {
    const digests = () => vault.raw.hlen('{credentials}');
    await vault.opened.services.credentials.sweep();
    const [before, owner] = [await digests(), await vault.account()];
    const made = await makeCredential(owner, ['vault:list']);
    const roll = await owner.send('POST', `/credential/${made.id}/roll`, { body: { overlap: '1h' } });
    expect(await digests()).toBe(before + 2);
    await vault.opened.removeAccount(owner.name);
    for (const { secret } of [made, roll.as<MadeCredential>()]) {
      expect(await statusOf({ authorization: `Bearer ${secret}` })).toBe(401);
    }
    const { credentials, credentialUses } = redisKeys;
    expect(await vault.raw.exists(credentials(owner.aid), credentialUses(owner.aid))).toBe(0);
    now += 2 * 3_600_000;
    await vault.opened.services.credentials.sweep();
    expect(await digests()).toBe(before);
  });

  test('is taken as a bearer of any case', async () => {
    const { secret } = await makeCredential(account, ['vault:list']);
    for (const authorization of [`bearer ${secret}`, `BEARER   ${secret}`]) {
      expect(await statusOf({ authorization })).toBe(200);
    }
  });

  test('is taken in no other form', async () => {
    const { id, secret } = await makeCredential(account, ['vault:list']);
    const forms: Headers[] = [
      ...[
        `Bearer "${secret}"`,
        `Bearer ${swapped(secret)}`,
        `Bearer ${secret.slice(5)}`,
        `Token ${secret}`,
        secret,
        basicAuth(swapped(id), secret),
        basicAuth('', secret),
        basicAuth(`cred_${'A'.repeat(22)}`, secret),
        basicAuth(account.name, secret),
        basicAuth(id, account.password),
        basicAuth(id, ''),
        `Bearer ${secret}, Bearer ${secret}`,
        `Bearer ${secret}, ${basicAuth(account.name, account.password)}`,
      ].map((authorization) => ({ authorization })),
      [
        ['authorization', `Bearer ${secret}`],
        ['authorization', basicAuth(account.name, account.password)],
      ],
      { cookie: `authorization=Bearer ${secret}; access_token=${secret}` },
      { 'x-api-key': secret },
      { 'proxy-authorization': `Bearer ${secret}` },
    ];
    for (const headers of forms) {
      expect([JSON.stringify(headers), await statusOf(headers)]).toEqual([JSON.stringify(headers), 401]);
    }
    for (const query of [`?access_token=${secret}`, `?authorization=Bearer%20${secret}`]) {
      expect(await statusOf({}, query)).toBe(401);
    }
    expect(JSON.stringify(vault.lines)).not.toContain(secret.slice(5));
  });

  test('has an id that no account can have as its name', async () => {
    const made = await makeCredential(account, ['vault:list']);
    const settings = { VAULT_BOOTSTRAP_USER: made.id, VAULT_BOOTSTRAP_PASSWORD: account.password };
    expect(() => loadConfig(settings)).toThrow('form of the id of a credential');
    const { code, err } = await runCommand(['account', 'create', made.id], { vault });
    expect([code, err]).toEqual([2, expect.stringContaining('form of the id of a credential')]);
  });

  test('that nobody has costs no password hash, no lock and little memory', async () => {
    const made = await makeCredential(account, ['vault:list']);
    const [before, digests] = [await vault.raw.dbsize(), await vault.raw.hlen('{credentials}')];
    for (let sent = 0; sent < FLOOD; sent += 100) {
      const statuses = await Promise.all(
        Array.from({ length: 100 }, () => {
          const secret = `vak1_${randomBytes(32).toString('base64url')}`;
          return statusOf({
            authorization: sent % 200 === 0 ? `Bearer ${secret}` : basicAuth(made.id, secret),
          });
        }),
      );
      expect(new Set(statuses)).toEqual(new Set([401]));
    }
    expect(await statusOf({ authorization: `Bearer ${made.secret}` })).toBe(200);
    expect(await statusOf({ authorization: basicAuth(account.name, account.password) })).toBe(200);
    await vault.opened.services.audit.flush();
    expect(await vault.raw.hlen('{credentials}')).toBe(digests);
    expect((await vault.raw.dbsize()) - before).toBeLessThan(10);
    const events = (await account.send('GET', '/audit', { query: { action: 'sign_in', limit: 200 } })).as<
      readonly { outcome: string }[]
    >();
    expect(events.filter(({ outcome }) => outcome === 'unauthenticated').length).toBeLessThan(50);
  });
});
