import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccountClient } from '../../helpers/clients.ts';
import { commandJson, runCommand } from '../../helpers/command.ts';
import { openRaw, startTestRedis, type TestRedis } from '../../helpers/redis.ts';
import { configOn, restoreInto } from '../../helpers/restore.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const MS_MAX = 30_000;
const MASTER_KEY = Uint8Array.from({ length: 32 }, (_, at) => (at * 37 + 11) % 256);
const TAKEN = 'This Redis is not empty. A backup is restored into an empty one alone; nothing was changed.\n';
const HALF =
  'This Redis holds an unfinished restore. Run the restore again with the same file, or empty this Redis.';

let folder = '';
let source: TestRedis;
let empty: TestRedis;
let raw: ReturnType<typeof openRaw>;
let vault: TestVault;
let shop: AccountClient;
let file = '';
const tokens: string[] = [];
let others = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-restore-'));
  [source, empty] = await Promise.all([startTestRedis({ durable: true }), startTestRedis({ durable: true })]);
  raw = openRaw(empty);
  vault = await openTestVault({ redis: source, masterKey: MASTER_KEY });
  shop = await vault.account();
  await shop.key('u');
  for (let at = 0; at < 20; at += 1) {
    tokens.push(await shop.store('u', `{"number":"${at}"}`, { reference: `order-${at}` }));
  }
  file = join(folder, 'vault.backup');
  await commandJson(vault, 'backup', file);
}, MS_MAX);
afterAll(async () => {
  raw.disconnect();
  await vault.close();
  await Promise.all([source.stop(), empty.stop()]);
  rmSync(folder, { recursive: true, force: true });
}, MS_MAX);
beforeEach(() => empty.flush());

function openCopy() {
  return openTestVault({ redis: empty, join: true, masterKey: MASTER_KEY });
}

/** The command line in a process of its own, which can be killed. */
function spawnVault(...args: readonly string[]) {
  const [redis, target] = args[0] === 'restore' ? [empty, empty.target] : [source, source.target];
  const url = target.kind === 'cluster' ? target.urls.join(',') : `unix:${redis.socketPath}`;
  return Bun.spawn([process.execPath, 'server/cli.ts', ...args], {
    cwd: join(import.meta.dir, '../../..'),
    env: {
      PATH: process.env['PATH'],
      VAULT_REDIS_URL: url,
      VAULT_MASTER_KEY: `k1:${Buffer.from(MASTER_KEY).toString('base64')}`,
    },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
}

/** Kills a process as soon as something is so; false when the process was faster. */
async function killWhen(
  child: ReturnType<typeof spawnVault>,
  isSo: () => Promise<boolean>,
): Promise<boolean> {
  while (child.exitCode === null && !(await isSo())) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  child.kill('SIGKILL');
  await child.exited;
  return child.signalCode === 'SIGKILL';
}

/** Repeats a race until the kill has won it. */
async function untilKilled(race: (round: number) => Promise<boolean>): Promise<void> {
  for (let round = 0; !(await race(round)); round += 1) {
    if (round > 5) {
      throw new Error('the process was always faster than its end');
    }
  }
}

describe('the place', () => {
  test('must be empty: a vault, or one strange key, is left as it was', async () => {
    const there = await openCopy();
    await there.close();
    const before = await raw.hgetall('{vault}');
    expect(await restoreInto(empty.target, file, vault)).toMatchObject({ code: 1, out: '', err: TAKEN });
    expect(await raw.hgetall('{vault}')).toEqual(before);
    await empty.flush();
    await raw.set('strange', 'key');
    expect(await restoreInto(empty.target, file, vault)).toMatchObject({ code: 1, out: '', err: TAKEN });
    expect(await raw.keys('*')).toEqual(['strange']);
  });

  test('gets no new master key: without one nothing happens', async () => {
    const config = () => ({
      ...configOn(empty.target, vault),
      masterKey: undefined,
      dataDir: join(folder, 'data'),
    });
    const ran = await runCommand(['restore', file], { config });
    expect(ran.code).toBe(1);
    expect(ran.err).toStartWith('There is no master key here.');
    expect(readdirSync(folder)).not.toContain('data');
  });

  test('a server that starts in the middle of it makes no vault of its own', async () => {
    await raw.hset('{vault}', 'restoring', 'somebody');
    await expect(openCopy()).rejects.toThrow(HALF);
    expect(await raw.hgetall('{vault}')).toEqual({ restoring: 'somebody' });
  });
});

/** What servers, another file and the same file make of a half restored vault. */
async function expectHalf(): Promise<void> {
  await expect(openCopy()).rejects.toThrow(HALF);
  others += 1;
  const other = join(folder, `other-${others}.backup`);
  await commandJson(vault, 'backup', other);
  expect((await restoreInto(empty.target, other, vault)).err).toStartWith('This Redis holds a half-restored');
  expect((await restoreInto(empty.target, file, vault)).err).toBe('');
  const copy = await openCopy();
  const there = shop.via(copy.handle);
  for (const [at, token] of tokens.entries()) {
    expect(await there.open('u', token, { reference: `order-${at}` })).toBe(`{"number":"${at}"}`);
  }
  expect((await there.sdk.vault.list({ user: 'u' })).data['u']).toHaveLength(tokens.length);
  await copy.close();
}

describe('a restore that was interrupted', () => {
  test(
    'by SIGKILL is recognised, and the same file ends it',
    async () => {
      await untilKilled(async () => {
        await empty.flush();
        const isHalf = async () => (await raw.hexists('{vault}', 'restoring')) === 1;
        return (await killWhen(spawnVault('restore', file), isHalf)) && (await isHalf());
      });
      await expectHalf();
    },
    MS_MAX,
  );

  test(
    'anywhere is finished by the same file, whatever part of the keys is there',
    async () => {
      const { salt } = JSON.parse(readFileSync(file, 'latin1').split('\n')[0] ?? '') as { salt: string };
      for (const part of [2, 3]) {
        await empty.flush();
        expect((await restoreInto(empty.target, file, vault)).err).toBe('');
        const names = (await raw.keys('*')).filter((name) => name !== '{vault}').sort();
        await Promise.all(names.filter((_, at) => at % part === 0).map((name) => raw.del(name)));
        await raw.hset('{vault}', 'restoring', salt);
        await raw.hdel('{vault}', 'root');
        await expectHalf();
      }
    },
    MS_MAX,
  );
});

test(
  'a backup that is killed or stopped leaves nothing under the name of its file',
  async () => {
    const [killed, stopped] = ['killed', 'stopped'].map((name) => join(folder, `${name}.backup`));
    const partsOf = () => readdirSync(folder).filter((name) => name.includes('.part-'));
    await untilKilled(async () => {
      rmSync(killed ?? '', { force: true });
      return killWhen(spawnVault('backup', killed ?? ''), async () => partsOf().length > 0);
    });
    expect(readdirSync(folder)).not.toContain('killed.backup');
    partsOf().map((name) => rmSync(join(folder, name)));

    const stopping = new AbortController();
    const { stores } = vault.opened;
    const readPair: typeof stores.keyStore.readPair = async (aid, user) => {
      stopping.abort();
      return stores.keyStore.readPair(aid, user);
    };
    const stops = { ...vault.opened, stores: { ...stores, keyStore: { ...stores.keyStore, readPair } } };
    const ran = await runCommand(['backup', stopped ?? ''], {
      vault: { ...vault, opened: stops },
      signal: stopping.signal,
    });
    expect(ran).toMatchObject({ code: 1, err: 'Stopped.\n' });
    expect(readdirSync(folder).filter((name) => name.startsWith('stopped'))).toEqual([]);
  },
  MS_MAX,
);

test('a waiting request and one under way are not sent again after a restore', async () => {
  const job = `{a:${shop.aid}}j:one`;
  const digest = '{d:0123456789012345678901}';
  await vault.raw.hset(job, { p: 'send', r: 'sealed', n: '0', f: '' });
  await vault.raw.zadd(`{a:${shop.aid}}j`, 1, 'one');
  await vault.raw.hset(`{a:${shop.aid}}j:done`, { k: '1' });
  await vault.raw.pexpire(`{a:${shop.aid}}j:done`, 60_000);
  await vault.raw.hset(digest, { f: 'print', u: '1', s: 'seed' });
  await vault.raw.pexpire(digest, 60_000);
  const path = join(folder, 'jobs.backup');
  await commandJson(vault, 'backup', path);
  await restoreInto(empty.target, path, vault);
  expect(await raw.hgetall(job)).toEqual({ p: 'send', r: 'sealed', n: '1', f: 'restored' });
  expect(await raw.hgetall(`{a:${shop.aid}}j:done`)).toEqual({ k: '1' });
  expect(await raw.hgetall(digest)).toEqual({ f: 'print', u: '1', s: 'seed', o: 'restored' });
  expect(await raw.keys('{jobs}*')).toEqual([]);
});
