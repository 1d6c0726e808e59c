import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedRedis } from '../../server/boot/redis/embedded.ts';
import { type AccountClient, type Answer, answerOf, PASSPHRASE, type Sending } from '../helpers/clients.ts';
import { holdNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const ANSWER_MS_MAX = 15_000;
const RECOVERY_MS_MAX = 30_000;

let folder: string;
let redis: EmbeddedRedis;
let vault: TestVault;
let account: AccountClient;
let token: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-away-'));
  chmodSync(folder, 0o700);
  redis = await EmbeddedRedis.start(folder, () => undefined);
  vault = await openTestVault({ redis });
  account = await vault.account();
  await account.key('u');
  token = await account.store('u', { number: '1' });
  // Redis knows every script from here on.
  await account.send('POST', '/vault', { ...storing('0'), idempotencyKey: 'first' });
});
afterEach(() => void process.kill(redis.pid, 'SIGCONT'));
afterAll(async () => {
  await vault.close();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

function opening() {
  return { query: { user: 'u', token }, passphrase: PASSPHRASE };
}
function storing(number: string) {
  return { query: { user: 'u' }, passphrase: PASSPHRASE, body: { number } };
}

/** One request of every kind. */
function everyKind(): readonly (readonly [string, string, Sending])[] {
  return [
    ['GET', '/whoami', {}],
    ['POST', '/vault', storing('2')],
    ['POST', '/vault', { ...storing('2'), idempotencyKey: 'away' }],
    ['GET', '/vault', opening()],
    ['GET', '/vault', { query: { user: 'u' } }],
    ['GET', '/vault', { query: { user: 'u', decrypt_all: true }, passphrase: PASSPHRASE }],
    ['POST', '/vault/update', { ...opening(), body: { a: 1 } }],
    ['GET', '/vault/metadata', { query: { user: 'u', token } }],
    ['POST', '/key', { body: { user: 'new', passphrase: PASSPHRASE } }],
    ['GET', '/key', {}],
    ['DELETE', '/key', { query: { user: 'u' } }],
  ];
}

function expectAway(answer: Answer): void {
  expect(answer.outcome).toBe('503 store_unavailable');
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
}

/** Asks until the vault answers; gives how long that took. */
async function untilBack(): Promise<number> {
  const start = performance.now();
  while ((await account.send('GET', '/vault', opening())).status !== 200) {
    if (performance.now() - start > RECOVERY_MS_MAX) {
      throw new Error('the vault did not recover');
    }
    await Bun.sleep(20);
  }
  return performance.now() - start;
}
async function page(path: string): Promise<Answer> {
  return answerOf(await vault.handle(new Request(`http://localhost${path}`)));
}

describe('a Redis that does not answer', () => {
  const underWay: readonly (readonly [string, 'write' | 'appendLog', () => Promise<Answer>])[] = [
    ['a store', 'write', () => account.send('POST', '/vault', storing('40'))],
    [
      'a store with an idempotency key',
      'write',
      () => account.send('POST', '/vault', { ...storing('41'), idempotencyKey: 'under way' }),
    ],
    ['an update', 'write', () => account.send('POST', '/vault/update', { ...opening(), body: { b: 1 } })],
    ['a decryption', 'appendLog', () => account.send('GET', '/vault', opening())],
  ];

  test('makes every request a 503 in time, new ones and those under way, and leaves no half; all is well when it goes on', async () => {
    const started: (readonly [string, Promise<Answer>])[] = [];
    const release: (() => void)[] = [];
    for (const [kind, name, send] of underWay) {
      const held = holdNext(vault.opened.stores.itemStore, name);
      started.push([kind, send()]);
      await held.reached;
      release.push(held.release);
    }
    process.kill(redis.pid, 'SIGSTOP');
    const stopped = performance.now();
    for (const go of release) {
      go();
    }
    for (const [method, path, sending] of everyKind()) {
      started.push([`${method} ${path}`, account.send(method, path, sending)]);
    }
    const late = started.map(async ([kind, reply]) => {
      expectAway(await reply);
      return performance.now() - stopped < ANSWER_MS_MAX ? [] : [kind];
    });
    const ready = page('/health/ready');
    expect((await page('/health/live')).status).toBe(200);
    expect((await Promise.all(late)).flat()).toEqual([]);
    expect((await ready).status).toBe(503);
    process.kill(redis.pid, 'SIGCONT');
    await untilBack();
    expect(await account.open('u', token)).toContain('"number":"1"');
    expect((await account.send('POST', '/vault', storing('3'))).outcome).toBe('200');
    // No half is left of what was asked for: each item is there whole, or not.
    const { data } = await account.sdk.vault.list({ user: 'u' });
    for (const item of data['u'] ?? []) {
      expect(await account.open('u', item.token)).toMatch(/^\{"number":"\d+"/);
      const log = await account.sdk.vault.log({ user: 'u', token: item.token });
      expect(log.data.at(-1)?.action).toBe('encrypt');
    }
    const again = await account.send('POST', '/vault', { ...storing('41'), idempotencyKey: 'under way' });
    expect(again.outcome).toBe('200');
  }, 60_000);
});

describe('a Redis that was killed', () => {
  test('makes requests 503 at once, and the vault goes on by itself when it is back, with all its data', async () => {
    const stored = await Promise.all(
      Array.from({ length: 20 }, (_, n) => account.store('u', { number: `5${n}` })),
    );
    process.kill(redis.pid, 'SIGKILL');
    // Until the kernel has closed the connection, a request may still be on its way.
    let away: Answer;
    let start: number;
    do {
      start = performance.now();
      away = await account.send('POST', '/vault', storing('60'));
    } while (away.status === 200);
    expectAway(away);
    expect(performance.now() - start).toBeLessThan(ANSWER_MS_MAX);
    expect(await untilBack()).toBeLessThan(RECOVERY_MS_MAX);
    for (const [n, stored_token] of stored.entries()) {
      expect(await account.open('u', stored_token)).toBe(`{"number":"5${n}"}`);
    }
    expect((await account.send('POST', '/vault', storing('61'))).outcome).toBe('200');
  }, 60_000);
});

describe('a Redis that is full', () => {
  test('makes stores 503, and nothing of them is left; they go on when there is room', async () => {
    const body = { number: '70', cvv: '1' };
    const storingFull = { query: { user: 'u', reference: 'full' }, passphrase: PASSPHRASE, body };
    await vault.raw.config('SET', 'maxmemory', '1mb');
    const refused = await account.send('POST', '/vault', storingFull);
    await vault.raw.config('SET', 'maxmemory', '0');
    expect(refused.outcome).toBe('503 store_unavailable');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await account.sdk.vault.list({ user: 'u', reference: 'full' })).data).toEqual({ u: [] });
    expect((await account.send('POST', '/vault', storingFull)).outcome).toBe('200');
  });
});
