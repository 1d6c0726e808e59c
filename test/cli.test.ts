import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProgress } from '../server/cli/progress.ts';
import { ConfigError } from '../server/config/reader.ts';
import { VaultError } from '../server/core/errors.ts';
import { commandJson, runCommand } from './helpers/command.ts';
import { openTestVault, type TestVault } from './helpers/vault.ts';

let vault: TestVault;
beforeAll(async () => {
  vault = await openTestVault();
  await run(['account', 'create', 'taken']);
});
afterAll(() => vault.close());

function run(args: readonly string[]) {
  return runCommand(args, { vault });
}

describe('account create', () => {
  test('prints the password once', async () => {
    const { code, out, err } = await run(['account', 'create', 'shop']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^Account shop was created\. Its password, shown only once:\n[\w-]{43}\n$/);
  });

  test('takes settings wherever they stand, and prints JSON without internal ids', async () => {
    const reply = await commandJson(
      vault,
      ...['account', 'create', '--unmasked', 'options', '--paying=false', '--allow-host', 'API.example'],
      '--allow-host=10.0.0.1,::1,*.shop.example',
    );
    expect(reply).toEqual({
      name: 'options',
      unmasked: true,
      paying: false,
      hosts: ['api.example', '10.0.0.1', '::1', '*.shop.example'],
      suspended: false,
      created_at: expect.any(String),
      password: expect.any(String),
    });
  });

  test('fails on a name that is taken', async () => {
    expect(await run(['account', 'create', 'taken'])).toMatchObject({
      code: 1,
      out: '',
      err: 'An account with this name already exists.\n',
    });
  });
});

describe('account list, set, delete', () => {
  test('list has a row for each account, in columns', async () => {
    await run(['account', 'create', 'listed', '--unmasked', '--allow-host', 'a.example,b.example']);
    const { out } = await run(['account', 'list']);
    const [heading = '', ...rows] = out.split('\n');
    expect(heading).toMatch(/^Account +Numbers +Paying +Hosts +Rate +Suspended +Created$/);
    const row = rows.find((line) => line.startsWith('listed ')) ?? '';
    expect(row).toMatch(/^listed +unmasked +no +a\.example,b\.example +none +no +\d{4}-\S+Z$/);
    expect(row.indexOf('unmasked')).toBe(heading.indexOf('Numbers'));
    expect(await commandJson<unknown[]>(vault, 'account', 'list')).toHaveLength(rows.length - 1);
  });

  test('set changes what is given and nothing else', async () => {
    await run(['account', 'create', 'set', '--unmasked', '--allow-host', 'a.example']);
    expect(await commandJson(vault, 'account', 'set', 'set', '--unmasked=false')).toMatchObject({
      ...{ unmasked: false, paying: false },
      hosts: ['a.example'],
    });
    expect(
      await commandJson(vault, 'account', 'set', 'set', '--paying', '--allow-host', 'any'),
    ).toMatchObject({
      ...{ unmasked: false, paying: true },
      hosts: [],
    });
    expect(await run(['account', 'set', 'nobody', '--paying'])).toMatchObject({
      code: 1,
      err: 'No account has this name.\n',
    });
  });

  test('delete asks for --yes', async () => {
    await run(['account', 'create', 'gone']);
    expect(await run(['account', 'delete', 'gone'])).toMatchObject({ code: 2, opened: 0 });
    expect(await run(['account', 'delete', 'gone', '--yes'])).toMatchObject({
      code: 0,
      out: 'Account gone was deleted.\n',
    });
  });
});

describe('account password', () => {
  test('prints the new password, once', async () => {
    const plain = await run(['account', 'password', 'taken']);
    expect(plain.code).toBe(0);
    expect(plain.out).toMatch(/^The new password of taken, shown only once:\n[\w-]{43}\n$/);
    const asJson = await commandJson(vault, 'account', 'password', 'taken');
    expect(asJson).toEqual({ name: 'taken', password: expect.stringMatching(/^[\w-]{43}$/) });
  });

  test('of an account that is not there fails', async () => {
    const { code, err } = await run(['account', 'password', 'nobody']);
    expect([code, err]).toEqual([1, 'No account has this name.\n']);
  });
});

describe('bin load and health', () => {
  test('bin load tells what it loaded, or the line that was refused', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cv-cli-'));
    const path = join(folder, 'bins.csv');
    const header = 'bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level\n';
    writeFileSync(path, `${header}411111,411113,VISA,A Bank,,,\n411112,411112,VISA,B Bank,,,\n`);
    expect(await run(['bin', 'load', path])).toMatchObject({ code: 0, out: 'Loaded 2 rows (3 ranges).\n' });
    writeFileSync(path, `${header}411111,411113,VISA,A Bank,,,\nx\n`);
    const refused = await run(['bin', 'load', path]);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/^Line 3 of FILE is invalid; nothing was loaded: .+\n$/);
    writeFileSync(path, Uint8Array.of(0xff));
    expect((await run(['bin', 'load', path])).err).toBe('FILE cannot be read, or is not UTF-8 text.\n');
    rmSync(folder, { recursive: true });
    expect((await run(['bin', 'load', path])).code).toBe(1);
  });

  test('health has an exit code', async () => {
    expect(await run(['health'])).toMatchObject({ code: 0, out: 'ready, redis ok\n' });
    const ill: TestVault = {
      ...vault,
      opened: { ...vault.opened, probe: () => Promise.reject(new Error()) },
    };
    expect(await runCommand(['health'], { vault: ill })).toMatchObject({
      code: 1,
      out: 'not ready, redis failing\n',
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

  test('is also a word, before the command', async () => {
    expect(await run(['help'])).toEqual(await run(['--help']));
    expect(await run(['help', 'import'])).toEqual(await run(['import', '--help']));
    expect(await run(['help', 'frobnicate'])).toMatchObject({ code: 2, opened: 0 });
  });

  test('comes by itself, as a failure, where the command is not complete', async () => {
    expect(await run([])).toMatchObject({ code: 2, out: '', opened: 0 });
    expect((await run(['account'])).err).toContain('vault account create NAME');
  });
});

describe('a wrong command line is one line, exit code 2, and opens nothing', () => {
  const lines: ReadonlyArray<readonly string[]> = [
    ['frobnicate'],
    ['account', 'create'],
    ['account', 'create', 'a', 'b'],
    ['account', 'create', 'a:b'],
    ['account', 'create', 'a', '--frobnicate'],
    ['account', 'create', 'a', '--yes'],
    ['account', 'create', 'a', '--unmasked=maybe'],
    ['account', 'create', 'a', '--allow-host'],
    ['account', 'create', 'a', '--allow-host', 'https://x'],
    ['account', 'create', 'a', '--allow-host', 'x,any'],
    ['account', 'set', 'a'],
    ['account', 'list', 'a'],
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
    expect(await runCommand(['health'], { open: () => Promise.reject(fails) })).toMatchObject({
      code: 1,
      out: '',
      err: `${text}\n`,
    });
  });
});

describe('progress', () => {
  const show = (isTerminal: boolean, total?: number): string => {
    let now = 1_000;
    const shown: string[] = [];
    const progress = startProgress(
      { err: (text) => shown.push(text), isTerminal, now: () => now },
      ...(['Copying', 'items', total] as const),
    );
    for (let done = 0; done <= 12_000; done += 1) {
      progress.at(done);
      now += 1;
    }
    progress.end();
    return shown.join('');
  };

  test('is a bar on a terminal, drawn ten times a second', () => {
    const drawings = show(true, 24_000).split('\r\u001b[K');
    expect(drawings).toHaveLength(123);
    expect(drawings[61]).toBe(
      'Copying  [######..................]  25 %  6,000 of 24,000 items  (1,000 items a second, 0:18 left)',
    );
    expect(drawings.at(-1)).toEndWith(' 50 %  12,000 of 24,000 items  (1,000 items a second, 0:12 left)\n');
  });

  test('is a line every five seconds elsewhere, and none for a short work', () => {
    const rate = '  (1,000 items a second)\n';
    expect(show(false)).toBe(
      `Copying  5,000 items${rate}Copying  10,000 items${rate}Copying  12,000 items${rate}`,
    );
    const shown: string[] = [];
    const screen = { err: (text: string) => shown.push(text), isTerminal: false, now: () => 0 };
    const progress = startProgress(screen, 'Copying', 'items');
    progress.at(1);
    progress.end();
    expect(shown).toEqual([]);
  });
});

test('a command that is stopped lets go of the vault and fails', async () => {
  const stopping = new AbortController();
  const hangs: TestVault = {
    ...vault,
    opened: {
      ...vault.opened,
      probe: async () => {
        stopping.abort();
        await new Promise(() => undefined);
      },
    },
  };
  const ran = await runCommand(['health'], { vault: hangs, signal: stopping.signal });
  expect(ran).toEqual({ code: 1, out: '', err: 'Stopped.\n', opened: 1 });
});

test('options before the command are told so, and nothing is opened', async () => {
  for (const args of [['--json', 'health'], ['--version']]) {
    expect(await run(args)).toMatchObject({
      code: 2,
      out: '',
      err: 'The command must be before its options; see bun run vault --help.\n',
      opened: 0,
    });
  }
});
