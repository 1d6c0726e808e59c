/** Verification codes on the disk, before and after they have expired. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { wantRewrite } from '../../server/vault/store/sad-rewrite.ts';
import { appendOnlyText } from '../helpers/canaries.ts';
import type { AccountClient } from '../helpers/clients.ts';
import { startTestRedis, type TestRedis } from '../helpers/redis.ts';
import { openTestVault, type TestVault, type VaultSettings } from '../helpers/vault.ts';

const DAY_MS = 86_400_000;
const REWRITE_MS = 600_000;

let redis: TestRedis;
let vault: TestVault;
let account: AccountClient;
let ahead = 0;
let stored = 0;

async function open(settings: VaultSettings = {}): Promise<void> {
  const now = (): number => Date.now() + ahead;
  vault = await openTestVault({
    redis,
    sadTtlMs: DAY_MS,
    sadRewriteMs: REWRITE_MS,
    now,
    alone: true,
    ...settings,
  });
  account = await vault.account();
  await account.key('u');
}
beforeEach(async () => {
  ahead = 0;
  redis = await startTestRedis({ durable: true });
  await open();
  // Texts in the base file are then what they are.
  await vault.raw.config('SET', 'rdbcompression', 'no');
});
afterEach(async () => {
  await vault.close();
  await redis.stop();
});

/** Stores a card with a code; gives the key of the sealed code in Redis, and its bytes. */
async function storeCode(): Promise<{ readonly name: string; readonly sealed: string }> {
  stored += 1;
  const token = await account.store('u', { number: String(stored), cvv: '123' });
  const [name = ''] = await vault.raw.keys(`{*}s*${token}`);
  return { name, sealed: ((await vault.raw.getBuffer(name)) ?? Buffer.alloc(0)).toString('latin1') };
}

/** Lets the code expire for Redis, which has a clock of its own, without looking at it. */
async function expire(name: string): Promise<void> {
  await vault.raw.pexpire(name, 1);
  await Bun.sleep(5);
}

function isOnDisk(sealed: string): boolean {
  return appendOnlyText(redis).includes(sealed);
}

/** One round, a rewrite's distance after the one before. */
async function round(of: TestVault = vault): Promise<void> {
  ahead += REWRITE_MS / 2 + 1_000;
  await of.opened.rewriteExpired();
}

function rewrites(of: TestVault = vault): number {
  return of.events.filter(({ event }) => event === 'sad_rewritten').length;
}

describe('a code that has expired', () => {
  test('is in no file of Redis after the next round, and one that is kept is', async () => {
    const [gone, kept] = [await storeCode(), await storeCode()];
    expect(gone.sealed.length).toBeGreaterThan(40);
    await expire(gone.name);
    expect([isOnDisk(gone.sealed), isOnDisk(kept.sealed)]).toEqual([true, true]);
    await round();
    expect([isOnDisk(gone.sealed), isOnDisk(kept.sealed)]).toEqual([false, true]);
  });

  test('leads to one rewrite with all others, by one server of several', async () => {
    const other = await vault.secondServer();
    await round();
    const before = rewrites() + rewrites(other);
    const codes = await Promise.all([storeCode(), storeCode(), storeCode()]);
    await Promise.all(codes.map(({ name }) => expire(name)));
    ahead += REWRITE_MS / 2;
    await Promise.all([vault, other, vault, other].map(({ opened }) => opened.rewriteExpired()));
    expect(codes.map(({ sealed }) => isOnDisk(sealed))).toEqual([false, false, false]);
    expect(rewrites() + rewrites(other)).toBe(before + 1);
    const later = await storeCode();
    await expire(later.name);
    await Promise.all([vault, other].map(({ opened }) => opened.rewriteExpired()));
    expect([rewrites() + rewrites(other), isOnDisk(later.sealed)]).toEqual([before + 1, true]);
    await round(other);
    expect([rewrites() + rewrites(other), isOnDisk(later.sealed)]).toEqual([before + 2, false]);
    await other.close();
  });

  test('leaves the disk after a restart, also under a setting that keeps newer ones', async () => {
    const code = await storeCode();
    await round();
    await expire(code.name);
    await vault.close();
    vault = await openTestVault({
      redis,
      join: true,
      sadTtlMs: 0,
      now: () => Date.now() + ahead,
      alone: true,
    });
    expect(isOnDisk(code.sealed)).toBe(true);
    await round();
    expect([isOnDisk(code.sealed), rewrites()]).toEqual([false, 1]);
  });
});

test('a code that a payment has removed is in no file after the next round, also where others are kept', async () => {
  await vault.close();
  await open({ sadTtlMs: 0 });
  const code = await storeCode();
  // The process ends between the deletion and what follows it.
  const died = wantRewrite(vault.opened.redis, 'x', async () => {
    await vault.raw.del(code.name);
    throw new Error('the process has ended');
  });
  await expect(died).rejects.toThrow('has ended');
  await round();
  expect([rewrites(), isOnDisk(code.sealed)]).toEqual([1, false]);
  await round();
  expect(rewrites()).toBe(1);
});

test('without an expiry there is no rewrite', async () => {
  await round();
  const before = rewrites();
  await storeCode();
  await round();
  await round();
  expect(rewrites()).toBe(before);
});

test('where codes are kept there is never one', async () => {
  await vault.close();
  await open({ sadTtlMs: 0 });
  const code = await storeCode();
  await vault.raw.set('other', 'x', 'PX', 1);
  await round();
  expect(rewrites()).toBe(0);
  expect(isOnDisk(code.sealed)).toBe(true);
});

describe('a Redis that does not rewrite', () => {
  async function scrape(): Promise<string | undefined> {
    return /^vault_sad_rewrite_ok (\d)$/m.exec(await vault.parts.metrics.render())?.[1];
  }

  test('because it may not be asked says so once, and is asked again', async () => {
    const code = await storeCode();
    await expire(code.name);
    await vault.raw.acl('SETUSER', 'default', '-bgrewriteaof');
    await round();
    await round();
    const refusals = () => vault.events.filter(({ event }) => event === 'sad_rewrite_refused').length;
    expect([refusals(), await scrape(), isOnDisk(code.sealed)]).toEqual([1, '0', true]);
    await vault.raw.acl('SETUSER', 'default', '+bgrewriteaof');
    await round();
    expect([refusals(), await scrape(), isOnDisk(code.sealed)]).toEqual([1, '1', false]);
  });

  test('because one is running is waited for', async () => {
    const code = await storeCode();
    await vault.raw.call('BGREWRITEAOF');
    await expire(code.name);
    await round();
    expect(isOnDisk(code.sealed)).toBe(false);
  });
});
