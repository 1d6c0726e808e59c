import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { AccountClient } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { overriding } from '../helpers/hold.ts';
import { openRaw } from '../helpers/redis.ts';
import { configOn } from '../helpers/restore.ts';
import type { TestVault } from '../helpers/vault.ts';
import { masterKeyOf, useRestores } from './restores.ts';

setDefaultTimeout(60_000);

const MASTER_KEY = masterKeyOf();
const TAKEN = 'This Redis is not empty. A backup is restored into an empty one alone; nothing was changed.\n';
const HALF =
  'This Redis holds an unfinished restore. Run the restore again with the same file, or empty this Redis.';

const place = useRestores();
let raw: ReturnType<typeof openRaw>;
let vault: TestVault;
let shop: AccountClient;
let file = '';
const tokens: string[] = [];

beforeAll(async () => {
  raw = openRaw(place.empty);
  vault = await place.open({ masterKey: MASTER_KEY });
  shop = await vault.account();
  await shop.key('u');
  for (let at = 0; at < 20; at += 1) {
    tokens.push(await shop.store('u', `{"number":"${at}"}`, { reference: `order-${at}` }));
  }
  ({ file } = await place.backup());
});
afterAll(() => raw.disconnect());
beforeEach(() => place.empty.flush());

/** The command line in a process of its own, which can be killed. */
function spawnVault(...args: readonly string[]) {
  const redis = args[0] === 'restore' ? place.empty : place.source;
  const { target } = redis;
  const url = target.kind === 'cluster' ? target.urls.join(',') : `unix:${redis.socketPath}`;
  return Bun.spawn([process.execPath, 'server/cli.ts', ...args], {
    cwd: join(import.meta.dir, '../..'),
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
    const there = await place.openCopy();
    await there.close();
    const before = await raw.hgetall('{vault}');
    expect(await place.restore(file)).toMatchObject({ code: 1, out: '', err: TAKEN });
    expect(await raw.hgetall('{vault}')).toEqual(before);
    await place.empty.flush();
    await raw.set('strange', 'key');
    expect(await place.restore(file)).toMatchObject({ code: 1, out: '', err: TAKEN });
    expect(await raw.keys('*')).toEqual(['strange']);
  });

  test('gets no new master key: without one nothing happens', async () => {
    const config = () => ({
      ...configOn(place.empty.target, vault),
      masterKey: undefined,
      dataDir: join(place.folder, 'data'),
    });
    const ran = await runCommand(['restore', file], { config });
    expect(ran.code).toBe(1);
    expect(ran.err).toStartWith('There is no master key here.');
    expect(readdirSync(place.folder)).not.toContain('data');
  });

  test('a server that starts in the middle of it makes no vault of its own', async () => {
    await raw.hset('{vault}', 'restoring', 'somebody');
    await expect(place.openCopy()).rejects.toThrow(HALF);
    expect(await raw.hgetall('{vault}')).toEqual({ restoring: 'somebody' });
  });
});

/** What servers, another file and the same file make of a half restored vault. */
async function expectHalf(): Promise<void> {
  await expect(place.openCopy()).rejects.toThrow(HALF);
  const { file: other } = await place.backup();
  expect((await place.restore(other)).err).toStartWith('This Redis holds a half-restored');
  expect((await place.restore(file)).err).toBe('');
  const copy = await place.openCopy();
  const there = shop.via(copy.handle);
  for (const [at, token] of tokens.entries()) {
    expect(await there.open('u', token, { reference: `order-${at}` })).toBe(`{"number":"${at}"}`);
  }
  expect((await there.sdk.vault.list({ user: 'u' })).data['u']).toHaveLength(tokens.length);
  await copy.close();
}

describe('a restore that was interrupted', () => {
  test('by SIGKILL is recognised, and the same file ends it', async () => {
    await untilKilled(async () => {
      await place.empty.flush();
      const isHalf = async () => (await raw.hexists('{vault}', 'restoring')) === 1;
      return (await killWhen(spawnVault('restore', file), isHalf)) && (await isHalf());
    });
    await expectHalf();
  });

  test('anywhere is finished by the same file, whatever part of the keys is there', async () => {
    const { salt } = JSON.parse(readFileSync(file, 'latin1').split('\n')[0] ?? '') as { salt: string };
    for (const part of [2, 3]) {
      await place.empty.flush();
      expect((await place.restore(file)).err).toBe('');
      const names = (await raw.keys('*')).filter((name) => name !== '{vault}').sort();
      await Promise.all(names.filter((_, at) => at % part === 0).map((name) => raw.del(name)));
      await raw.hset('{vault}', 'restoring', salt);
      await raw.hdel('{vault}', 'root');
      await expectHalf();
    }
  });
});

test('a backup that is killed or stopped leaves nothing under the name of its file', async () => {
  const [killed, stopped] = ['killed', 'stopped'].map((name) => join(place.folder, `${name}.backup`));
  const partsOf = () => readdirSync(place.folder).filter((name) => name.includes('.part-'));
  await untilKilled(async () => {
    rmSync(killed ?? '', { force: true });
    return killWhen(spawnVault('backup', killed ?? ''), async () => partsOf().length > 0);
  });
  expect(readdirSync(place.folder)).not.toContain('killed.backup');
  partsOf().map((name) => rmSync(join(place.folder, name)));

  const stopping = new AbortController();
  const { stores } = vault.opened;
  const readPair: typeof stores.keyStore.readPair = async (aid, user) => {
    stopping.abort();
    return stores.keyStore.readPair(aid, user);
  };
  const stops = {
    ...vault.opened,
    stores: { ...stores, keyStore: overriding(stores.keyStore, { readPair }) },
  };
  const ran = await runCommand(['backup', stopped ?? ''], {
    vault: { ...vault, opened: stops },
    signal: stopping.signal,
  });
  expect(ran).toMatchObject({ code: 1, err: 'Stopped.\n' });
  expect(readdirSync(place.folder).filter((name) => name.startsWith('stopped'))).toEqual([]);
});

test('a waiting request and one under way are not sent again after a restore', async () => {
  const job = `{a:${shop.aid}}j:one`;
  const digest = '{d:0123456789012345678901}';
  await vault.raw.hset(job, { p: 'send', r: 'sealed', n: '0', f: '' });
  await vault.raw.zadd(`{a:${shop.aid}}j`, 1, 'one');
  await vault.raw.hset(`{a:${shop.aid}}j:done`, { k: '1' });
  await vault.raw.pexpire(`{a:${shop.aid}}j:done`, 60_000);
  await vault.raw.hset(digest, { f: 'print', u: '1', s: 'seed' });
  await vault.raw.pexpire(digest, 60_000);
  await place.restore((await place.backup()).file);
  expect(await raw.hgetall(job)).toEqual({ p: 'send', r: 'sealed', n: '1', f: 'restored' });
  expect(await raw.hgetall(`{a:${shop.aid}}j:done`)).toEqual({ k: '1' });
  expect(await raw.hgetall(digest)).toEqual({ f: 'print', u: '1', s: 'seed', o: 'restored' });
  expect(await raw.keys('{jobs}*')).toEqual([]);
});
