/** `vault export`: what it writes where, and what it refuses. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReader, type Reader, readExport } from '../helpers/age.ts';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import { type AccountClient, createAccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { holdNext } from '../helpers/hold.ts';
import { handleOf, OWNER, portOf, spawnServer, spawnVaultCommand } from '../helpers/server-process.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const ITEMS = 90;

let folder: string;
let vault: TestVault;
let account: AccountClient;
let ada: Reader;
let passphraseFile: string;
let token: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vault-export-'));
  passphraseFile = join(folder, 'passphrase');
  writeFileSync(passphraseFile, `${PASSPHRASE}\n`);
  vault = await openTestVault();
  ada = await createReader();
  account = await vault.account();
  await account.key('u');
  const numbers = Array.from({ length: ITEMS }, (_, n) => n);
  const tokens = await Promise.all(
    numbers.map((n) => account.store('u', { number: `${n}` }, { reference: n < 20 ? 'r-1' : `s-${n}` })),
  );
  token = tokens[0] ?? '';
});
afterAll(async () => {
  ada.close();
  await vault.close();
  rmSync(folder, { recursive: true });
});

function place(name: string): string {
  return join(folder, name);
}
function files(): string[] {
  return readdirSync(folder).sort();
}
function args(out: string, ...others: readonly string[]): string[] {
  return [
    ...['export', '--account', account.name, '--key', 'u', '--recipient', ada.recipient],
    ...['--passphrase-file', passphraseFile, '--out', place(out), ...others],
  ];
}
async function itemsOf(name: string): Promise<number> {
  const { code, text } = await ada.open(readFileSync(place(name)));
  const { count, isWhole } = readExport(text);
  expect([code, isWhole]).toEqual([0, true]);
  return count;
}

describe('vault export', () => {
  test('writes a new file for its owner alone, and is in the logs of operator, account and items', async () => {
    const { code, out, err } = await runCommand(args('all.age'), { vault });
    expect([code, out, err]).toEqual([0, `Exported ${ITEMS} items to ${place('all.age')}.\n`, '']);
    expect(await itemsOf('all.age')).toBe(ITEMS);
    expect(statSync(place('all.age')).mode & 0o777).toBe(0o600);
    expect((await entriesOf(account, { action: 'vault.export' })).map(lineOf)).toEqual([
      'vault.export success key/u',
    ]);
    const log = await account.sdk.vault.log({ user: 'u', token, reference: 'r-1', limit: 1 });
    expect(log.data).toMatchObject([
      { action: 'decrypt', source: 'vault', ip_address: 'local', actor: account.name },
    ]);
    expect(log.data[0]?.user_agent).toStartWith('cardvault-cli/');
    expect((await vault.usage(account))['decrypt']).toBe(ITEMS);
  });

  test('takes filters, several recipients, and --json', async () => {
    const other = await createReader();
    const filters = [
      '--reference-prefix',
      'r-',
      '--stored-after',
      '2020-01-01T00:00:00Z',
      '--recipient',
      other.recipient,
    ];
    const data = await commandJson<object>(vault, ...args('some.age', ...filters));
    expect(data).toEqual({ file: place('some.age'), items: 20 });
    expect(await itemsOf('some.age')).toBe(20);
    expect((await other.open(readFileSync(place('some.age')))).code).toBe(0);
    other.close();
    await runCommand(args('none.age', '--stored-before', '2020-01-01T00:00:00Z'), { vault });
    expect(await itemsOf('none.age')).toBe(0);
  });

  test('shows progress', async () => {
    const { err } = await runCommand(args('shown.age'), { vault, isTerminal: true });
    expect(err).toContain(`Exporting  ${ITEMS} items`);
  });

  test('never overwrites a file', async () => {
    writeFileSync(place('kept.age'), 'mine');
    const { code, err } = await runCommand(args('kept.age'), { vault });
    expect([code, err]).toEqual([1, 'FILE already exists; it is never overwritten.\n']);
    expect(readFileSync(place('kept.age'), 'utf8')).toBe('mine');
  });
});

describe('nothing stays of what is not complete', () => {
  test('where the key is changed meanwhile', async () => {
    const client = await vault.account();
    await client.key('u');
    await Promise.all(Array.from({ length: 200 }, (_, n) => client.store('u', { number: `${n}` })));
    const before = files();
    const held = holdNext(vault.opened.stores.itemStore, 'readMany', { skip: 1 });
    const running = runCommand([...args('broken.age'), '--account', client.name], { vault });
    await held.reached;
    expect(files().some((name) => name.startsWith('broken.age.part-'))).toBe(true);
    await client.send('DELETE', '/key', { query: { user: 'u', safe: false } });
    held.release();
    const { code, err } = await running;
    expect([code, err]).toEqual([1, 'Another request changed the key at the same time.\n']);
    expect(files()).toEqual(before);
    expect((await entriesOf(client, { action: 'vault.export' })).map(lineOf)).toEqual([
      'vault.export failed key/u',
    ]);
  });

  test('where it is stopped', async () => {
    const before = files();
    const held = holdNext(vault.opened.stores.itemStore, 'readMany');
    const stopping = new AbortController();
    const running = runCommand(args('stopped.age'), { vault, signal: stopping.signal });
    await held.reached;
    stopping.abort();
    expect(await running).toMatchObject({ code: 1, err: 'Stopped.\n' });
    held.release();
    expect(files()).toEqual(before);
  });
});

describe('it refuses', () => {
  test.each([
    ['no account', { account: undefined }, 2, 'Give the account with --account NAME.'],
    ['no key', { user: undefined }, 2, '`user` is missing, and must have'],
    ['no recipient', { recipient: undefined }, 2, '`recipients` is missing, and must be a list'],
    ['one that is none', { recipient: 'age1' }, 2, '`recipients[0]` must be a recipient'],
    ['an unknown account', { account: 'nobody' }, 1, 'No account has this name.'],
    ['an unknown key', { user: 'nobody' }, 1, 'The key does not exist.'],
    ['a time that is none', { 'stored-after': 'monday' }, 1, '`stored_after` must be a time'],
    ['a file that is not there', { 'passphrase-file': '/nowhere' }, 1, 'FILE cannot be read'],
  ] as const)('%s', async (_, changed, code, said) => {
    const given: Readonly<Record<string, string | undefined>> = {
      ...{ account: account.name, user: 'u', recipient: ada.recipient },
      ...{ 'passphrase-file': passphraseFile, out: place('refused.age') },
      ...changed,
    };
    const line = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    );
    const ran = await runCommand(['export', ...line], { vault });
    expect(ran).toMatchObject({ code, out: '' });
    expect(ran.err).toStartWith(said);
    expect(files().filter((name) => name.startsWith('refused'))).toEqual([]);
  });

  test('a wrong passphrase, an empty one and several lines', async () => {
    for (const [text, said] of [
      ['not the passphrase of it', 'The passphrase does not match this key.\n'],
      ['\n', 'The passphrase must be one line that is not empty.\n'],
      [`${PASSPHRASE}\nand more\n`, 'The passphrase must be one line that is not empty.\n'],
    ] as const) {
      writeFileSync(place('wrong'), text);
      const { code, err } = await runCommand(args('refused.age', '--passphrase-file', place('wrong')), {
        vault,
      });
      expect([code, err]).toEqual([1, said]);
    }
  });
});

test('beside a server, the passphrase from standard input, the file to standard output', async () => {
  const data = { VAULT_DATA_DIR: place('data') };
  const server = spawnServer(data, folder);
  try {
    const port = portOf(server, []);
    const owner = createAccountClient(
      handleOf(() => port),
      OWNER,
    );
    await owner.key('u');
    await owner.store('u', { card_number: '4111111111111111' });
    const line = ['export', '--account', OWNER.name, '--key', 'u', '--recipient', ada.recipient];
    const child = spawnVaultCommand(line, data, folder, new Blob([PASSPHRASE]));
    const [file, err] = await Promise.all([child.stdout.bytes(), child.stderr.text()]);
    expect([await child.exited, err]).toEqual([0, '']);
    const { items, isWhole } = readExport((await ada.open(file)).text);
    expect([items.map(({ data }) => Object(data).card_number), isWhole]).toEqual([
      ['4111111111111111'],
      true,
    ]);
  } finally {
    server.kill('SIGTERM');
    await server.exited;
  }
});
