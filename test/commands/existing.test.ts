/** Commands make no vault, and those that only look write nothing. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureFirstAccount } from '../../server/boot/first-account.ts';
import { openConfigured } from '../../server/boot/open.ts';
import { COMMANDS, openForCommand } from '../../server/commands.ts';
import { type Config, loadConfig } from '../../server/config/config.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { type Ran, runCommand } from '../helpers/command.ts';
import { freePort } from '../helpers/free-port.ts';
import { openRaw, startTestRedis, takeTestRedis } from '../helpers/redis.ts';
import { configOn } from '../helpers/restore.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const root = mkdtempSync(join(tmpdir(), 'cv-existing-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let places = 0;
let place = '';
beforeEach(() => {
  places += 1;
  place = join(root, `${places}`);
  mkdirSync(place);
});

const KEY = Buffer.from('an operator chose these 32 bytes').toString('base64');
const [FILE, PASSPHRASE_FILE] = [join(root, 'file.csv'), join(root, 'passphrase')];
writeFileSync(FILE, 'number\n4111111111111111\n');
writeFileSync(PASSPHRASE_FILE, PASSPHRASE);

/** The settings of a command whose data folder is `data` in the place of this test. */
function configOf(settings: Readonly<Record<string, string>> = {}): Config {
  const own = { VAULT_DATA_DIR: join(place, 'data'), VAULT_WORKERS: '1', VAULT_ARGON2: 'm=19456,t=2,p=1' };
  return loadConfig({ ...own, ...settings }, []);
}

/** Runs a command on the vault of its settings, as the command line does. */
function run(args: readonly string[], config: Config): Promise<Ran> {
  return runCommand(args, { config: () => config, open: openForCommand });
}

const OF_KEY = ['--account', 'a', '--key', 'u', '--passphrase-file', PASSPHRASE_FILE];
const ADA = 'age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj';
const GRACE = 'age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg';
const OF_ACCOUNT = ['--account', 'a'];

/** The arguments of each command that opens a vault. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  'account create': ['a'],
  'account list': [],
  'account set': ['a', '--paying'],
  'account password': ['a'],
  'account delete': ['a', '--yes'],
  'credential create': ['c', ...OF_ACCOUNT, '--scope', 'vault:list'],
  'credential list': OF_ACCOUNT,
  'credential roll': ['c', ...OF_ACCOUNT],
  'credential delete': ['c', ...OF_ACCOUNT],
  'person list': OF_ACCOUNT,
  'person invite': ['p', ...OF_ACCOUNT],
  'person delete': ['p', ...OF_ACCOUNT],
  'job list': OF_ACCOUNT,
  'job show': ['j', ...OF_ACCOUNT],
  'job redeliver': ['j', ...OF_ACCOUNT],
  'job redeliver-many': OF_ACCOUNT,
  'job cancel': ['j', ...OF_ACCOUNT],
  'recovery make': [...OF_KEY, '--threshold', '2', '--recipient', ADA, '--recipient', GRACE],
  'recovery status': ['--account', 'a', '--key', 'u'],
  'recovery recover': ['--account', 'a', '--key', 'u', '--new-passphrase-file', PASSPHRASE_FILE],
  erase: ['--account', 'a', '--key', 'u', '--reference', 'r', '--yes'],
  export: [...OF_KEY, '--recipient', ADA],
  import: [FILE, ...OF_KEY],
  'bin load': [FILE],
  'certificate load': [FILE],
  backup: [join(root, 'backup')],
  compact: [],
  verify: [],
  'rotate-master': [],
  'rotate-root': [],
  health: [],
  'audit export': [],
  'audit stream': [],
  'audit verify': [],
  'audit key': [],
};
const LINES = Object.entries(ARGUMENTS).map(([name, args]) => [name, [...name.split(' '), ...args]] as const);

const NO_KEY =
  'There is no master key here. Set VAULT_MASTER_KEY, or VAULT_DATA_DIR to a folder with the master-key file of the vault. Only a server makes a new vault.\n';
const NO_FILES =
  'There is no vault here: VAULT_DATA_DIR has no data. Set it to the folder of the vault, or VAULT_REDIS_URL to its Redis. Only a server or a restore makes a vault.\n';
const NO_VAULT =
  'There is no vault in this Redis. Check VAULT_REDIS_URL and VAULT_DATA_DIR. Only a server or a restore makes a vault.\n';

test('the table has every command that opens a vault', () => {
  const names = COMMANDS.filter(({ opens }) => opens === 'vault').map(({ words }) => words.join(' '));
  expect(Object.keys(ARGUMENTS).toSorted()).toEqual(names.toSorted());
});

describe('where there is no vault, a command says so in one line and writes nothing', () => {
  test.each(LINES)('%s, without a master key', async (_, args) => {
    expect(await run(args, configOf())).toEqual({ code: 1, out: '', err: NO_KEY, opened: 1 });
    expect(readdirSync(place)).toEqual([]);
  });

  test.each(LINES)('%s, without data', async (_, args) => {
    const ran = await run(args, configOf({ VAULT_MASTER_KEY: KEY }));
    expect(ran).toEqual({ code: 1, out: '', err: NO_FILES, opened: 1 });
    expect(readdirSync(place)).toEqual([]);
  });

  test('with the data and without its key', async () => {
    mkdirSync(join(place, 'data', 'redis', 'appendonlydir'), { recursive: true });
    const { code, err } = await run(['health'], configOf());
    expect(code).toBe(1);
    expect(err).toStartWith('master-key in VAULT_DATA_DIR is missing, but the folder contains data');
    expect(readdirSync(join(place, 'data'))).toEqual(['redis']);
  });

  test('and no Redis', async () => {
    const { code, err } = await run(
      ['health'],
      configOf({ VAULT_MASTER_KEY: KEY, VAULT_REDIS_URL: `redis://127.0.0.1:${freePort()}` }),
    );
    expect([code, err]).toEqual([
      1,
      'Redis does not answer: the connection was refused; nothing listens on this address. Check VAULT_REDIS_URL.\n',
    ]);
    expect(readdirSync(place)).toEqual([]);
  }, 20_000);

  test.each(LINES.filter(([name]) => /^(?:health|verify|account create|import|backup)$/.test(name)))(
    '%s, in an empty Redis',
    async (_, args) => {
      const redis = await takeTestRedis();
      const raw = openRaw(redis);
      await redis.flush();
      const ring = { writeId: 'default', keys: new Map([['default', Buffer.from(KEY, 'base64')]]) };
      const ran = await run(args, configOn(redis.target, { ring }, { VAULT_WORKERS: '1' }));
      expect(ran).toEqual({ code: 1, out: '', err: NO_VAULT, opened: 1 });
      expect(await raw.keys('*')).toEqual([]);
      raw.disconnect();
      await redis.stop();
    },
    20_000,
  );
});

test('a data folder of others is rejected, and stays as it is', async () => {
  mkdirSync(join(place, 'data'), { mode: 0o755 });
  expect((await run(['health'], configOf())).err).toBe(NO_KEY);
  Bun.spawnSync(['chmod', '777', join(place, 'data')]);
  expect((await run(['health'], configOf())).err).toBe(
    'VAULT_DATA_DIR is a folder that other users can write to\n',
  );
});

/** Commands that only look: those that are in no security log. */
const LOOKING = COMMANDS.filter(({ opens, audit }) => opens === 'vault' && audit === undefined).map(
  ({ words }) => words.join(' '),
);

/** The content of a key of Redis; the order of hashes and sets has no meaning. */
async function contentOf(raw: TestVault['raw'], name: string): Promise<unknown> {
  switch (await raw.type(name)) {
    case 'hash':
      return Object.entries(await raw.hgetall(name)).toSorted();
    case 'set':
      return (await raw.smembers(name)).toSorted();
    default:
      return (await raw.dumpBuffer(name)).toString('hex');
  }
}

test('commands that only look leave every key of Redis as it is', async () => {
  const redis = await startTestRedis();
  const vault = await openTestVault({ redis, alone: true });
  const account = await vault.account();
  await account.key('u');
  await account.store('u', { number: '4111111111111111' }, { reference: 'r' });
  // Counts of this process and entries of its logs are written first.
  await vault.opened.sweep();
  await vault.opened.checkpoint();
  const contents = async () => {
    const names = (await vault.raw.keys('*')).toSorted();
    return Promise.all(names.map(async (name) => [name, await contentOf(vault.raw, name)]));
  };
  const before = await contents();
  for (const name of LOOKING) {
    const args = (ARGUMENTS[name] ?? []).map((arg) => (arg === 'a' ? account.name : arg));
    const { code, err } = await runCommand([...name.split(' '), ...args], { vault });
    // There is neither a job nor a recovery.
    expect([name, code, err === '']).toEqual([name, expect.anything(), !/^(?:job show|recovery)/.test(name)]);
    expect([name, await contents()]).toEqual([name, before]);
  }
  expect(LOOKING.length).toBeGreaterThan(6);
  await vault.close();
}, 30_000);

test('after a look at the new place, a backup is restored there', async () => {
  const at = (folder: string): Config => configOf({ VAULT_DATA_DIR: join(place, folder) });
  const old = at('old');
  const opened = await openConfigured(old);
  await ensureFirstAccount(opened.vault, { account: undefined, unmasked: true });
  await opened.close();
  const file = join(place, 'vault.backup');
  expect(await run(['backup', file], old)).toMatchObject({ code: 0, err: '' });

  const fresh = at('new');
  expect(await run(['health'], fresh)).toMatchObject({ code: 1, err: NO_KEY });
  mkdirSync(join(place, 'new'), { mode: 0o700 });
  copyFileSync(join(place, 'old', 'master-key'), join(place, 'new', 'master-key'));
  expect(await run(['health'], fresh)).toMatchObject({ code: 1, err: NO_FILES });
  expect(readdirSync(join(place, 'new'))).toEqual(['master-key']);
  expect(await run(['restore', file], fresh)).toMatchObject({ code: 0, err: '' });
  expect(await run(['health'], fresh)).toMatchObject({ code: 0, out: 'ready, redis ok\n' });
  const listed = await run(['account', 'list', '--json'], fresh);
  expect(JSON.parse(listed.out)).toMatchObject([{ name: 'admin' }]);
}, 60_000);
