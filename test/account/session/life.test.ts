/** How long sessions last, and what ends them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import type { AccountClient } from '../../helpers/clients.ts';
import { makeCredential } from '../../helpers/credentials.ts';
import { type PersonClient, person, signInAgain } from '../../helpers/people.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let vault: TestVault;
let other: TestVault;
let account: AccountClient;
let ada: PersonClient;
let now = Date.parse('2026-03-01T12:00:00Z');

beforeAll(async () => {
  const settings = { now: () => now, alone: true, trustedProxies: ['127.0.0.1/32'] };
  vault = await openTestVault(settings);
  other = await vault.secondServer(settings);
  account = await vault.account();
});
afterAll(async () => {
  await other.close();
  await vault.close();
});
beforeEach(async () => {
  ada = await person(vault, account, 'admin');
});

const POLL = { 'x-vault-poll': '1' };

async function status(client: PersonClient, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  return (await client.send('GET', '/whoami', { headers })).status;
}

/** Waits until what nobody waits for has been written. */
async function settled(): Promise<void> {
  await Bun.sleep(20);
}

test('a session that is used lives for eight hours', async () => {
  const start = now;
  while (now < start + 8 * HOUR_MS - 10 * MINUTE_MS) {
    now += 10 * MINUTE_MS;
    expect(await status(now % (20 * MINUTE_MS) === 0 ? ada : ada.via(other.handle))).toBe(200);
    await settled();
  }
  now = start + 8 * HOUR_MS - 1;
  expect(await status(ada)).toBe(200);
  now += 1;
  expect([await status(ada), await status(ada.via(other.handle))]).toEqual([401, 401]);
});

test('a session that is not used ends after 15 minutes, and Redis forgets it', async () => {
  now += 15 * MINUTE_MS - 1;
  expect(await status(ada, POLL)).toBe(200);
  now += 1;
  expect([await status(ada), await status(ada.via(other.handle))]).toEqual([401, 401]);
  const names = (await vault.raw.keys('{n:*')).filter((name) => name.startsWith('{n:'));
  for (const name of names) {
    expect(await vault.raw.pttl(name)).toBeLessThanOrEqual(15 * MINUTE_MS);
  }
});

test('polling keeps no session alive', async () => {
  for (let minute = 0; minute < 14; minute++) {
    now += MINUTE_MS;
    expect(await status(ada, POLL)).toBe(200);
    await settled();
  }
  now += MINUTE_MS;
  expect(await status(ada, POLL)).toBe(401);
});

describe('signing out', () => {
  test('ends this session on every server, and the cookie', async () => {
    const second = await signInAgain(vault, ada);
    expect(await status(ada.via(other.handle))).toBe(200);
    const answer = await ada.send('DELETE', '/person/self/session');
    expect(answer.headers.get('set-cookie')).toBe(
      'vault_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    );
    expect([await status(ada), await status(ada.via(other.handle)), await status(second)]).toEqual([
      ...[401, 401, 200],
    ]);
  });

  test('everywhere ends all sessions of the person, and no others', async () => {
    const eve = await person(vault, account, 'admin');
    const second = await signInAgain(vault, ada);
    const answer = await ada.send('DELETE', '/person/self/session', { query: { all: true } });
    expect(answer.outcome).toBe('200');
    for (const client of [ada, second]) {
      expect([await status(client), await status(client.via(other.handle))]).toEqual([401, 401]);
    }
    expect(await status(eve)).toBe(200);
    expect(await status(await signInAgain(vault, ada))).toBe(200);
    const log = await account.send('GET', '/audit', { query: { actor: `person/${ada.id}` } });
    expect(log.text).toContain('"action":"person.change"');
  });

  test('is for people, as is reading oneself', async () => {
    for (const [method, path] of [
      ['GET', '/person/self'],
      ['DELETE', '/person/self/session'],
    ] as const) {
      expect((await account.send(method, path)).outcome).toBe('403 not_allowed');
    }
  });
});

test('a deletion at one server ends a session at the other within a second', async () => {
  const there = ada.via(other.handle);
  expect(await status(there)).toBe(200);
  const started = performance.now();
  expect((await account.send('DELETE', `/person/${ada.id}`)).outcome).toBe('200');
  expect(await status(there)).toBe(401);
  expect(performance.now() - started).toBeLessThan(1_000);
});

test('a credential needs a sign-in within five minutes', async () => {
  const make = () => ada.send('POST', '/credential', { body: { name: 'c', scopes: ['vault:list'] } });
  now += 5 * MINUTE_MS;
  expect((await make()).outcome).toBe('200');
  now += 1;
  expect((await make()).outcome).toBe('403 sign_in_again');
  const { id } = await makeCredential(account, ['vault:list']);
  const roll = () => ada.send('POST', `/credential/${id}/roll`, { body: {} });
  expect((await roll()).outcome).toBe('403 sign_in_again');
  ada = await signInAgain(vault, ada);
  expect([(await make()).outcome, (await roll()).outcome]).toEqual(['200', '200']);
});

test('a change of the network is told once', async () => {
  const from = (ip: string, client = ada) => status(client, { 'x-forwarded-for': ip });
  const told = () =>
    [...vault.events, ...other.events].filter(
      (one) => one.event === 'session_moved' && one['person'] === ada.id,
    );
  const before = told().length;
  // The helper signs in from there.
  await from('192.0.2.1');
  await settled();
  expect(told()).toHaveLength(before);
  for (const ip of ['198.51.100.7', '198.51.100.7', '198.51.100.7']) {
    await from(ip);
    await settled();
  }
  await from('198.51.100.7', ada.via(other.handle));
  await settled();
  expect(told()).toHaveLength(before + 1);
  expect(told()).toContainEqual({ event: 'session_moved', account: account.name, person: ada.id });
  await from('192.0.2.1');
  await settled();
  expect(told()).toHaveLength(before + 2);
});

describe('what a writer to Redis puts there', () => {
  test('opens no session: neither a record of another token, nor one that has ended', async () => {
    const eve = await person(vault, account, 'owner');
    const digestOf = ({ cookie }: PersonClient): string => {
      const token = cookie.split('=')[1] ?? '';
      return vault.parts.sessions.callerOf(token, false).digest;
    };
    const [own, hers] = [ada, eve].map((client) => redisKeys.session(digestOf(client)));
    const record = (await vault.raw.hgetBuffer(hers ?? '', 'r')) ?? Buffer.alloc(0);
    await vault.raw.hset(own ?? '', 'r', record);
    expect((await ada.send('GET', '/whoami')).outcome).toBe('500 integrity_failed');
    const kept = await vault.raw.hgetallBuffer(hers ?? '');
    await eve.send('DELETE', '/person/self/session', { query: { all: true } });
    await vault.raw.hset(hers ?? '', kept);
    expect(await status(eve)).toBe(401);
  });

  test('keeps no session longer than its sign-in allows', async () => {
    const token = ada.cookie.split('=')[1] ?? '';
    const key = redisKeys.session(vault.parts.sessions.callerOf(token, false).digest);
    await vault.raw.persist(key);
    now += 8 * HOUR_MS;
    await vault.raw.hset(key, 'u', now);
    expect(await status(ada)).toBe(401);
    await vault.raw.hset(key, 'u', 'soon');
    expect(await status(ada)).toBe(401);
  });
});

test('sign-ins and requests are counted', async () => {
  const before = await vault.parts.metrics.collect().then((text) => JSON.stringify(text));
  expect(before).toContain('vault_sign_ins_total');
  await ada.send('GET', '/whoami');
  const after = JSON.stringify(await vault.parts.metrics.collect());
  for (const result of ['session', 'passkey']) {
    expect(after).toContain(result);
  }
});
