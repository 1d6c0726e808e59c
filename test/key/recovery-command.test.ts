/** `vault recovery make|status|recover`, with the stock age between them. */
import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { openTestVault } from '../helpers/vault.ts';
import { createCustodians, NEW, open, type ShownRecovery } from './recovery-steps.ts';

const folder = mkdtempSync(join(tmpdir(), 'vault-recovery-'));
const vault = await openTestVault();
const [account, custodians] = await Promise.all([vault.account(), createCustodians(3)]);
afterAll(async () => {
  for (const { close } of custodians) {
    close();
  }
  await vault.close();
  rmSync(folder, { recursive: true });
});

function place(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
function recovery(word: string, user: string, ...others: readonly string[]): string[] {
  return ['recovery', word, '--account', account.name, '--key', user, ...others];
}
function recipients(): string[] {
  return custodians.flatMap(({ recipient }) => ['--recipient', recipient]);
}

test('a key is recovered from the command line, and logs say so', async () => {
  await account.key('u');
  const token = await account.store('u', { number: '4111111111111111' });
  const passphrase = ['--passphrase-file', place('old', `${PASSPHRASE}\n`)];
  const make = recovery('make', 'u', ...recipients(), '--threshold', '2', ...passphrase);
  const made = await commandJson<ShownRecovery>(vault, ...make);
  expect(await commandJson<ShownRecovery>(vault, ...recovery('status', 'u'))).toEqual(made);
  const shown = await runCommand(recovery('status', 'u'), { vault });
  expect(shown.out).toStartWith('Any 2 of these 3 shares open the key.\n');
  expect(shown.out).toContain(made.shares[2]?.share ?? '?');
  const texts = await Promise.all(
    custodians.map((custodian, i) => custodian.open(new TextEncoder().encode(made.shares[i]?.share))),
  );
  const files = texts.slice(1).flatMap(({ text }, i) => ['--share', place(`share-${i}`, text)]);
  const next = ['--new-passphrase-file', place('new', NEW)];
  expect(await runCommand(recovery('recover', 'u', ...files, ...next), { vault })).toMatchObject({
    code: 0,
    out: 'Key u has its new passphrase. Its endpoints have stopped.\n',
  });
  expect((await open(account, 'u', token, NEW)).outcome).toBe('200');
  const refused = await runCommand(recovery('recover', 'u', ...files.slice(0, 2), ...next), { vault });
  expect(refused).toMatchObject({ code: 1, out: '', err: 'These shares do not open this key.\n' });
  const lines = (await entriesOf(account)).map(lineOf).filter((line) => line.includes('recover'));
  expect(lines.toReversed()).toEqual([
    'key.recovery.create success key/u',
    'key.recover success key/u',
    'key.recover failed key/u',
  ]);
});

test('what is wrong with a call is said before anything is opened, or changed', async () => {
  await account.key('other');
  const old = ['--passphrase-file', place('old', PASSPHRASE)];
  const [one = ''] = custodians.map(({ recipient }) => recipient);
  const wrong: readonly (readonly [string[], string])[] = [
    [['recovery', 'make', '--key', 'u'], 'Give the account with --account NAME.\n'],
    [['recovery', 'status', '--account', 'x'], 'Give the vault key with --key NAME.\n'],
    [
      recovery('make', 'other', '--threshold', '2', ...old),
      '`recipients` is missing, and must be a list of 2 to 16 recipients of age.\n',
    ],
    [
      recovery('make', 'other', '--threshold', '1', ...recipients(), ...old),
      '--threshold must be a whole number from 2 to 16.\n',
    ],
    [
      recovery('recover', 'other'),
      'Give --share FILE or --new-passphrase-file FILE: standard input is one of them.\n',
    ],
  ];
  for (const [args, err] of wrong) {
    expect(await runCommand(args, { vault })).toMatchObject({ code: 2, out: '', err, opened: 0 });
  }
  const twice = recovery('make', 'other', '--recipient', one, '--recipient', one, '--threshold', '2', ...old);
  expect(await runCommand(twice, { vault })).toMatchObject({
    code: 1,
    err: '`recipients[1]` must not be there twice.\n',
  });
  const short = ['--share', place('share', 'x'), '--new-passphrase-file', place('short', 'short')];
  expect(await runCommand(recovery('recover', 'other', ...short), { vault })).toMatchObject({
    code: 1,
    err: '`new_passphrase` must have 8 to 4096 characters.\n',
  });
  expect(await runCommand(recovery('status', 'other'), { vault })).toMatchObject({
    code: 1,
    err: 'The key has no recovery.\n',
  });
});

test('a passphrase that a person types is not shown, and can be corrected', async () => {
  let shown = '';
  const program = `const { readPassphrase } = await import('./server/cli/file.ts');
    const secret = await readPassphrase(undefined, 'New passphrase: ');
    process.stdout.write('read ' + Buffer.from(secret.expose()).toString('hex'));`;
  const asked = Promise.withResolvers<void>();
  const child = Bun.spawn([process.execPath, '-e', program], {
    cwd: join(import.meta.dir, '../..'),
    terminal: {
      cols: 200,
      data: (_, bytes) => {
        shown += new TextDecoder().decode(bytes);
        if (shown.includes('New passphrase: ')) {
          asked.resolve();
        }
      },
    },
  });
  await asked.promise;
  child.terminal?.write('dréi Kännchenx\u007f\r');
  expect(await child.exited).toBe(0);
  expect(shown).toContain(`read ${Buffer.from('dréi Kännchen').toString('hex')}`);
  expect(shown).not.toContain('Kännchen');
});
