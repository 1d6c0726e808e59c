import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedRedis } from '../../server/boot/redis/embedded.ts';
import { ROUTES } from '../../server/boot/routes.ts';
import { ERRORS } from '../../server/core/error-table.ts';
import { type AccountClient, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { failNext } from '../helpers/hold.ts';
import { type Scrape, scrape } from '../helpers/metrics.ts';
import { startTestRedis, type TestRedis } from '../helpers/redis.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const NUMBER = '4111111111111111';

let redis: TestRedis;
let vault: TestVault;
let client: AccountClient;
beforeAll(async () => {
  redis = await startTestRedis();
  vault = await openTestVault({ redis, authFailuresMax: 3, alone: true });
  client = await vault.account();
  await client.key('u');
});
afterAll(async () => {
  await vault.close();
  await redis.stop();
});

/** By how much a series grows while `work` is done. */
async function growth(work: () => Promise<unknown>): Promise<Scrape['value']> {
  const before = await scrape(vault.handle);
  await work();
  const after = await scrape(vault.handle);
  return (name, labels) => after.value(name, labels) - before.value(name, labels);
}

describe('the metrics tell of', () => {
  test('requests, refusals and what is in hand', async () => {
    const grown = await growth(async () => {
      await client.send('GET', '/vault', { query: { user: 'u', token: 'none' } });
      await client.send('GET', '/whoami');
    });
    const counted = 'vault_http_request_duration_seconds_count';
    expect(grown(counted, { route: '/v1/vault', method: 'GET', status: '4xx' })).toBe(1);
    expect(grown(counted, { route: '/v1/whoami', method: 'GET', status: '2xx' })).toBe(1);
    expect(grown('vault_http_errors_total', { code: 'token_not_found' })).toBe(1);
    // The scrape itself.
    expect((await scrape(vault.handle)).value('vault_http_requests_in_flight')).toBe(1);
  });

  test('operations, openings with and without Argon2id, and sign-ins', async () => {
    await client.key('cold');
    const grown = await growth(async () => {
      const token = await client.store('cold', { card_number: NUMBER });
      await client.open('cold', token);
      await client.open('cold', token);
    });
    expect(grown('vault_operations_total', { operation: 'store' })).toBe(1);
    expect(grown('vault_operations_total', { operation: 'decrypt' })).toBe(2);
    expect(grown('vault_unlocks_total', { result: 'cold' })).toBe(1);
    expect(grown('vault_unlocks_total', { result: 'warm' })).toBe(2);
    expect(grown('vault_sign_ins_total', { result: 'cached' })).toBe(3);
    expect(grown('vault_worker_job_duration_seconds_count', { lane: 'cold' })).toBe(1);
    expect(grown('vault_worker_job_duration_seconds_count', { lane: 'hot' })).toBeGreaterThanOrEqual(3);
  });

  test('one opening with Argon2id of a key that is in use, and one more after a pause', async () => {
    let nowMs = Date.now();
    const other = await vault.secondServer({ warmUnlockSeconds: 60, now: () => nowMs });
    try {
      const account = client.via(other.handle);
      await account.key('busy');
      const token = await account.store('busy', { card_number: NUMBER });
      const openings = async (pauses: readonly number[]): Promise<number> => {
        const before = await scrape(other.handle);
        for (const seconds of pauses) {
          nowMs += seconds * 1_000;
          await account.open('busy', token);
        }
        const after = await scrape(other.handle);
        const labels = { result: 'cold' };
        return after.value('vault_unlocks_total', labels) - before.value('vault_unlocks_total', labels);
      };
      // Storing has opened it.
      expect(await openings([0, 40, 40, 40, 59])).toBe(0);
      expect(await openings([61])).toBe(1);
    } finally {
      await other.close();
    }
  });

  test('no operation that came to nothing', async () => {
    const grown = await growth(async () => {
      failNext(vault.opened.stores.itemStore, 'write', new Error('Redis broke'));
      const query = { user: 'u' };
      const body = { card_number: NUMBER };
      const { status } = await client.send('POST', '/vault', { query, passphrase: PASSPHRASE, body });
      expect(status).toBe(500);
    });
    expect(grown('vault_operations_total', { operation: 'store' })).toBe(0);
  });

  test('guesses: sign-ins and passphrases that were wrong, and then locked out', async () => {
    const headers = { authorization: basicAuth(client.name, 'wrong') };
    const { token } = (
      await client.send('POST', '/vault', {
        query: { user: 'u' },
        passphrase: PASSPHRASE,
        body: { card_number: NUMBER },
      })
    ).as<{ token: string }>();
    const grown = await growth(async () => {
      for (let tries = 0; tries < 4; tries++) {
        await client.send('GET', '/whoami', { headers });
      }
      for (let tries = 0; tries < 4; tries++) {
        const passphrase = `not the passphrase, number ${tries}`;
        await client.send('GET', '/vault', { query: { user: 'u', token }, passphrase });
      }
    });
    expect(grown('vault_sign_ins_total', { result: 'unauthenticated' })).toBe(3);
    expect(grown('vault_sign_ins_total', { result: 'too_many_failures' })).toBe(1);
    expect(grown('vault_unlocks_total', { result: 'passphrase_wrong' })).toBe(3);
    expect(grown('vault_unlocks_total', { result: 'too_many_failures' })).toBe(1);
  });

  test('threads, Redis and its scripts by name', async () => {
    const told = await scrape(vault.handle);
    expect(told.value('vault_worker_threads_alive')).toBe(1);
    expect(told.value('vault_redis_connected')).toBe(1);
    expect(told.value('vault_redis_memory_used_bytes')).toBeGreaterThan(500_000);
    expect(told.series.some(({ name }) => name === 'vault_redis_aof_enabled')).toBe(true);
    const commands = told.series
      .filter(({ name }) => name === 'vault_redis_command_duration_seconds_count')
      .map(({ labels }) => labels['command']);
    expect(commands).toContain('write-items');
    expect(commands).toContain('HGET');
    expect(commands).not.toContain('EVALSHA');
    expect(commands).not.toContain('script');
  });

  test('the build and the event loop', async () => {
    const told = await scrape(vault.handle);
    expect(told.value('vault_build_info', { version: '0.0.0-test', environment: 'staging' })).toBe(1);
    expect(told.value('vault_event_loop_delay_seconds_count')).toBeGreaterThan(0);
    const start = performance.now();
    while (performance.now() - start < 150) {
      // Holds the event loop up.
    }
    await Bun.sleep(25);
    expect((await scrape(vault.handle)).value('vault_event_loop_delay_max_seconds')).toBeGreaterThan(0.1);
  });
});

test('however often they are asked for, Redis is asked once in five seconds', async () => {
  const second = await vault.secondServer();
  const asked = async (): Promise<number> =>
    Number(/^cmdstat_info:calls=(\d+)/m.exec(await vault.raw.info('commandstats'))?.[1]);
  const from = performance.now();
  const before = await asked();
  await Promise.all(Array.from({ length: 20 }, () => scrape(second.handle)));
  for (let times = 0; times < 20; times++) {
    await scrape(second.handle);
  }
  // Beside one question by this test. On a busy machine all of this may take longer than five seconds.
  const rounds = 1 + Math.floor((performance.now() - from) / 5_000);
  expect((await asked()) - before - 1).toBeWithin(1, rounds + 1);
  await second.close();
});

test('a Redis that is away is told of, once, and nothing is told that is no longer known', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cv-metrics-'));
  chmodSync(folder, 0o700);
  const own = await EmbeddedRedis.start(folder, () => undefined);
  const away = await openTestVault({ redis: own, alone: true });
  const authorization = basicAuth('nobody', 'at all');
  const ask = () => away.handle(new Request('http://localhost/v1/whoami', { headers: { authorization } }));
  process.kill(own.pid, 'SIGKILL');
  while (!away.events.some(({ event }) => event === 'redis_disconnected')) {
    await Bun.sleep(1);
  }
  expect((await ask()).status).toBe(503);
  const told = await scrape(away.handle);
  expect(told.value('vault_redis_connected')).toBe(0);
  expect(told.value('vault_redis_command_errors_total')).toBeGreaterThan(0);
  expect(told.text).not.toMatch(/^vault_redis_memory_used_bytes /m);
  while ((await scrape(away.handle)).value('vault_redis_connected') === 0) {
    await Bun.sleep(5);
  }
  expect(away.events.map(({ event }) => event).filter((event) => event.startsWith('redis_'))).toEqual([
    'redis_disconnected',
    'redis_reconnected',
  ]);
  await away.close();
  await own.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

describe('whatever is sent', () => {
  const canary = (round: number): string => `canary${round}x4917484589897107`;

  /** Everything that a caller can choose, with a value that is new in each round. */
  const attack = async (round: number): Promise<void> => {
    const value = canary(round);
    const headers = {
      'user-agent': value,
      host: `${value}.example`,
      origin: `https://${value}.example`,
      'x-request-id': `${value}-request`,
      'x-forwarded-for': '203.0.113.9',
      traceparent: `00-${'a'.repeat(16)}4917484589897107-00f067aa0ba902b7-01`,
      'idempotency-key': value,
    };
    const passphrase = `${value} as a passphrase`;
    await client.send('GET', `/${value}`, { headers });
    await client.send('GET', `/rule/${value}`, { headers });
    await client.send('GET', `/retrieve/${value}`, {
      headers: { ...headers, 'x-vault-retrieve-secret': value },
    });
    await client.send('POST', `/capture/${value}`, { headers, body: { card_number: value } });
    await client.send('POST', '/vault', {
      query: { user: value, reference: value, algorithm: value },
      body: {},
      headers,
    });
    await client.send('GET', '/vault', {
      query: { user: 'u', token: value, rules: value },
      passphrase,
      headers,
    });
    await client.send('GET', '/whoami', { headers: { authorization: basicAuth(value, value) } });
    await client.send('POST', '/proxy/post', {
      query: { user: 'u', token: value },
      passphrase,
      body: { request: { url: `https://${value}.example/`, method: value }, synchronous: true },
      headers,
    });
    const odd = new Request(`http://${value}.example:8080/${value}?${value}=${value}`, {
      method: 'PURGE',
      headers,
    });
    await vault.handle(odd);
  };
  const namesOf = ({ series }: Scrape): string[] =>
    series.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`);

  test('no series holds any of it, and a second round makes no new one', async () => {
    await attack(1);
    const first = await scrape(vault.handle);
    await attack(2);
    const second = await scrape(vault.handle);
    expect(new Set(namesOf(second))).toEqual(new Set(namesOf(first)));
    expect(second.text).not.toMatch(/canary|49174845|203\.0\.113|example|account-/);
  });

  test('every label is one of the code', async () => {
    const { series } = await scrape(vault.handle);
    const routes = new Set([
      ...ROUTES.map(({ path }) => path),
      '(none)',
      '/metrics',
      '/health/ready',
      '/health/live',
    ]);
    const word = /^[\w:.-]{1,40}$/;
    const wrong = series.flatMap(({ name, labels }) =>
      Object.entries(labels)
        .filter(([label, text]) =>
          label === 'route'
            ? !routes.has(text)
            : label === 'code' && name === 'vault_http_errors_total'
              ? !(text in ERRORS)
              : !word.test(text) && text !== '+Inf',
        )
        .map(([label, text]) => `${name} ${label}=${text}`),
    );
    expect(wrong).toEqual([]);
    expect(series.length).toBeGreaterThan(300);
    expect(series.length).toBeLessThan(5_000);
  });
});

test('every metric has help, and a name as Prometheus has them', async () => {
  const { text } = await scrape(vault.handle);
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => ({
    name,
    type,
  }));
  const helps = new Set([...text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name));
  expect(types.length).toBeGreaterThan(30);
  for (const { name, type } of types) {
    expect(name).toMatch(/^(?:vault|process|nodejs)_[a-z0-9_]+$/);
    expect([name, helps.has(name)]).toEqual([name, true]);
    expect([name, type, name.endsWith('_total')]).toEqual([name, type, type === 'counter']);
    expect([name, type === 'histogram' && !/_(?:seconds|bytes)$/.test(name)]).toEqual([name, false]);
  }
});
