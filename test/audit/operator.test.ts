import { afterAll, describe, expect, test } from 'bun:test';
import type { AuditEntry } from '../../server/audit/schema.ts';
import { COMMANDS } from '../../server/commands.ts';
import { lineOf } from '../helpers/audit.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { openTestVault } from '../helpers/vault.ts';

/** Commands that neither change the vault nor show what it keeps. */
const UNLOGGED = [
  'account list',
  'credential list',
  'person list',
  'recovery status',
  'job list',
  'job show',
  'health',
  'verify',
  'audit verify',
  'audit key',
];

const vault = await openTestVault();
afterAll(() => vault.close());

function run(...args: readonly string[]) {
  return runCommand(args, { vault });
}
async function exported(...args: readonly string[]): Promise<AuditEntry[]> {
  const { code, out, err } = await run('audit', 'export', ...args);
  expect([code, err]).toEqual([0, '']);
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditEntry);
}

test('every command that opens a vault declares what it leaves in the log, or is known to leave nothing', () => {
  const silent = COMMANDS.filter(({ opens, audit }) => opens === 'vault' && audit === undefined);
  expect(silent.map(({ words }) => words.join(' ')).filter((name) => !UNLOGGED.includes(name))).toEqual([]);
});

test('what the operator does is on the log of the operator and on that of the account, done and refused', async () => {
  await run('account', 'create', 'shop');
  await run('account', 'create', 'shop');
  await run('account', 'set', 'shop', '--unmasked');
  await run('account', 'password', 'shop');
  await run('account', 'password', 'nobody');
  const { aid } = (await vault.opened.services.accounts.lookUp('shop')) ?? { aid: '' };
  const own = await exported('--account', 'shop');
  expect(own.map(lineOf)).toEqual([
    'password.change success account/shop',
    'account.change success account/shop',
    'account.create failed account/shop',
    'account.create success account/shop',
  ]);
  expect(own[0]).toMatchObject({ actor: 'operator', source_ip: 'local' });
  expect(own[0]?.user_agent).toMatch(/^cardvault-cli\/\S+ \(\S+\)$/);
  await run('account', 'delete', 'shop', '--yes');
  expect((await exported('--account-id', aid)).map(lineOf)[0]).toBe('account.delete success account/shop');
  expect((await exported()).map(lineOf)).toEqual([
    'audit.read success',
    'account.delete success account/shop',
    'audit.read success',
    'password.change failed account/nobody',
    ...own.map(lineOf),
  ]);
  // One id in 64 begins with a dash.
  expect(await exported('--account-id', '-no-such-account-AAAAA')).toEqual([]);
  expect(await exported('--account-id=-no-such-account-AAAAA')).toEqual([]);
});

describe('audit', () => {
  test('verify tells of every log, and ends with 1 where one is wrong', async () => {
    await run('account', 'create', 'checked');
    const { aid } = (await vault.opened.services.accounts.lookUp('checked')) ?? { aid: '' };
    const whole = await run('audit', 'verify');
    expect(whole.code).toBe(0);
    expect(whole.out).toContain('valid');
    await vault.raw.hdel(`{a:${aid}}log`, '1');
    const { code, out } = await run('audit', 'verify');
    expect(code).toBe(1);
    expect(out).toMatch(/checked +1 +1 +0 +entry 1 is missing/);
    const reports = JSON.parse((await run('audit', 'verify', '--json')).out) as { account: string }[];
    expect(reports.find(({ account }) => account === aid)).toMatchObject({
      fault: { sequence: 1, reason: 'missing' },
    });
  });

  test('key prints the public key that checkpoints verify under', async () => {
    const { public_key } = await commandJson<{ public_key: string }>(vault, 'audit', 'key');
    expect(public_key).toStartWith('-----BEGIN PUBLIC KEY-----\n');
  });

  test.each([
    [['--account', 'nobody'], 1, 'No account has this name.'],
    [['--after', 'yesterday'], 2, '--after must be a time such as 2026-01-31T12:00:00Z.'],
    [['--account', 'a', '--account-id', 'b'], 2, 'Give --account or --account-id, not both.'],
  ])('export %p is refused', async (args, code, said) => {
    expect(await run('audit', 'export', ...args)).toMatchObject({ code, err: `${said}\n` });
  });
});
