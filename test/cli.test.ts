import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Operator } from '../server/cli-commands.ts';
import { runCommandLine } from '../server/cli-run.ts';
import { ConfigError } from '../server/config.ts';
import { VaultError } from '../server/errors.ts';
import { Secret } from '../server/secret.ts';
import type { AccountInfo, AccountSettings } from '../server/services/account.ts';

const account = (name: string, settings: AccountSettings = {}): AccountInfo => ({
  name,
  aid: 'internal-id',
  unmasked: settings.unmasked ?? false,
  paying: settings.paying ?? false,
  hosts: settings.hosts ?? [],
  created_at: '2026-01-02T03:04:05Z',
});

/** A vault with the account `taken`, which writes down what it is asked for. */
const fakeOperator = (calls: unknown[], ready = true): Operator => ({
  createAccount: async (name, settings) => {
    calls.push(['create', name, settings]);
    return name === 'taken'
      ? undefined
      : { account: account(name, settings), password: new Secret('pass-word') };
  },
  listAccounts: async () => [
    account('one', { hosts: ['a.example', 'b.example'] }),
    account('two', { unmasked: true }),
  ],
  setAccount: async (name, settings) => {
    calls.push(['set', name, settings]);
    return name === 'taken' ? account(name, settings) : undefined;
  },
  renewPassword: async (name) => {
    calls.push(['password', name]);
    return name === 'taken' ? new Secret('new-pass-word') : undefined;
  },
  deleteAccount: async (name) => {
    calls.push(['delete', name]);
    return name === 'taken' ? account(name) : undefined;
  },
  loadBins: async (text) =>
    text === 'bad' ? { error: { line: 3, reason: 'A cell is missing.' } } : { rows: 2, segments: 3 },
  health: async () => ({ ready, checks: { redis: ready ? 'ok' : 'failing', workers: 'ok' } }),
});

const run = async (
  args: readonly string[],
  { ready = true, fails }: { ready?: boolean; fails?: Error } = {},
) => {
  const calls: unknown[] = [];
  const out: string[] = [];
  const err: string[] = [];
  let opened = 0;
  const closed: string[] = [];
  const code = await runCommandLine(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    open: async () => {
      opened += 1;
      if (fails !== undefined) {
        throw fails;
      }
      return { operator: fakeOperator(calls, ready), close: async () => void closed.push('closed') };
    },
  });
  expect(closed).toHaveLength(fails === undefined ? opened : 0);
  return { code, out: out.join(''), err: err.join(''), opened, calls };
};

describe('account create', () => {
  test('prints the password once', async () => {
    const { code, out, calls } = await run(['account', 'create', 'shop']);
    expect(code).toBe(0);
    expect(out).toBe('Account shop was made. Its password, shown only now:\npass-word\n');
    expect(calls).toEqual([['create', 'shop', {}]]);
  });

  test('takes settings wherever they stand, and prints JSON without internal ids', async () => {
    const { out, calls } = await run([
      'account',
      'create',
      '--unmasked',
      'shop',
      '--paying=false',
      '--allow-host',
      'API.example',
      '--allow-host=10.0.0.1,::1,*.shop.example',
      '--json',
    ]);
    const hosts = ['api.example', '10.0.0.1', '::1', '*.shop.example'];
    expect(calls).toEqual([['create', 'shop', { unmasked: true, paying: false, hosts }]]);
    const reply = JSON.parse(out);
    expect(reply).toMatchObject({ name: 'shop', password: 'pass-word', unmasked: true, paying: false });
    expect(reply).not.toHaveProperty('aid');
  });

  test('fails on a name that is taken', async () => {
    expect(await run(['account', 'create', 'taken'])).toMatchObject({
      code: 1,
      out: '',
      err: 'There is already an account of this name.\n',
    });
  });
});

describe('account list, set, delete', () => {
  test('list has a line for each account', async () => {
    const { out } = await run(['account', 'list']);
    expect(out).toBe(
      'one\tmasked\tnot paying\ta.example,b.example\t2026-01-02T03:04:05Z\ntwo\tunmasked\tnot paying\tany host\t2026-01-02T03:04:05Z\n',
    );
    expect(JSON.parse((await run(['account', 'list', '--json'])).out)).toHaveLength(2);
  });

  test('set changes what is given and nothing else', async () => {
    expect((await run(['account', 'set', 'taken', '--unmasked=false'])).calls).toEqual([
      ['set', 'taken', { unmasked: false }],
    ]);
    expect((await run(['account', 'set', 'taken', '--paying', '--allow-host', 'any'])).calls).toEqual([
      ['set', 'taken', { paying: true, hosts: [] }],
    ]);
    expect(await run(['account', 'set', 'nobody', '--paying'])).toMatchObject({
      code: 1,
      err: 'There is no account of this name.\n',
    });
  });

  test('delete asks for --yes', async () => {
    expect(await run(['account', 'delete', 'taken'])).toMatchObject({ code: 2, opened: 0 });
    expect(await run(['account', 'delete', 'taken', '--yes'])).toMatchObject({
      code: 0,
      out: 'Account taken was deleted.\n',
    });
  });
});

describe('account password', () => {
  test('prints the new password, once', async () => {
    const plain = await run(['account', 'password', 'taken']);
    expect(plain.code).toBe(0);
    expect(plain.out).toEndWith('\nnew-pass-word\n');
    const asJson = await run(['account', 'password', 'taken', '--json']);
    expect(JSON.parse(asJson.out)).toEqual({ name: 'taken', password: 'new-pass-word' });
  });

  test('of an account that is not there fails', async () => {
    const { code, err } = await run(['account', 'password', 'nobody']);
    expect([code, err]).toEqual([1, 'There is no account of this name.\n']);
  });
});

describe('bin load and health', () => {
  test('bin load tells what it loaded, or the line that was refused', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cv-cli-'));
    const path = join(folder, 'bins.csv');
    writeFileSync(path, 'good');
    expect(await run(['bin', 'load', path])).toMatchObject({ code: 0, out: 'Loaded 2 rows (3 ranges).\n' });
    writeFileSync(path, 'bad');
    const refused = await run(['bin', 'load', path]);
    expect(refused).toMatchObject({
      code: 1,
      err: 'Line 3 of FILE was refused, and nothing was loaded: A cell is missing.\n',
    });
    writeFileSync(path, Uint8Array.of(0xff));
    expect((await run(['bin', 'load', path])).err).toBe('FILE cannot be read, or is not UTF-8 text.\n');
    rmSync(folder, { recursive: true });
    expect((await run(['bin', 'load', path])).code).toBe(1);
  });

  test('health has an exit code', async () => {
    expect(await run(['health'])).toMatchObject({ code: 0, out: 'ready, redis ok, workers ok\n' });
    expect(await run(['health'], { ready: false })).toMatchObject({
      code: 1,
      err: 'not ready, redis failing, workers ok\n',
    });
  });
});

describe('help', () => {
  test('lists all commands, those of a group, or the options of one', async () => {
    expect((await run(['--help'])).out).toContain('vault bin load FILE');
    expect((await run(['account', '--help'])).out).not.toContain('bin load');
    const one = await run(['account', 'create', '--help']);
    expect(one).toMatchObject({ code: 0, opened: 0 });
    expect(one.out).toContain('--allow-host HOST');
  });

  test('comes by itself, as a failure, where the command is not complete', async () => {
    expect(await run([])).toMatchObject({ code: 2, out: '', opened: 0 });
    expect((await run(['account'])).err).toContain('vault account create NAME');
  });
});

describe('a wrong command line is one line, exit code 2, and opens nothing', () => {
  const lines: ReadonlyArray<readonly string[]> = [
    ['frobnicate'],
    ['account', 'frobnicate'],
    ['account', 'create'],
    ['account', 'create', 'a', 'b'],
    ['account', 'create', 'a:b'],
    ['account', 'create', 'a b'],
    ['account', 'create', 'a', '--frobnicate'],
    ['account', 'create', 'a', '--yes'],
    ['account', 'create', 'a', '--unmasked=maybe'],
    ['account', 'create', 'a', '--unmasked='],
    ['account', 'create', 'a', '--allow-host'],
    ['account', 'create', 'a', '--allow-host', '--json'],
    ['account', 'create', 'a', '--allow-host', 'https://x'],
    ['account', 'create', 'a', '--allow-host', 'x:443'],
    ['account', 'create', 'a', '--allow-host', 'x,any'],
    ['account', 'create', 'a', '--json=1'],
    ['account', 'set', 'a'],
    ['account', 'list', 'a'],
    ['account', 'list', '--unmasked'],
    ['bin', 'load'],
    ['health', '-x'],
  ];
  test.each(lines.map((line) => [line.join(' '), line] as const))('%s', async (_name, line) => {
    const { code, out, err, opened } = await run(line);
    expect({ code, out, opened }).toEqual({ code: 2, out: '', opened: 0 });
    expect(err).toMatch(/^.+\n$/);
  });
});

describe('a failure is one line, exit code 1', () => {
  const unavailable = new VaultError('store_unavailable');
  const failures: Readonly<Record<string, readonly [Error, string]>> = {
    'a bad setting': [new ConfigError('VAULT_PORT', 'is empty'), 'VAULT_PORT is empty'],
    'a vault that refuses': [unavailable, unavailable.message],
    'an error whose message may hold data': [new Error('canary 42'), 'The command failed unexpectedly.'],
  };
  test.each(Object.keys(failures))('%s', async (name) => {
    const [fails, text] = failures[name] ?? [];
    if (fails === undefined) {
      throw new Error('no such row');
    }
    expect(await run(['health'], { fails })).toMatchObject({ code: 1, out: '', err: `${text}\n` });
  });
});
