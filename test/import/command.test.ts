/** `vault import`: what it stores, what it says of rows that it refuses, and how it goes on. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { VaultError } from '../../server/core/errors.ts';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import type { AccountClient } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import type { TestVault } from '../helpers/vault.ts';
import { cards, errorsOf, openImports } from './files.ts';

let imports: Awaited<ReturnType<typeof openImports>>;
let vault: TestVault;
let account: AccountClient;
const fileOf: typeof imports.fileOf = (...given) => imports.fileOf(...given);
const into: typeof imports.into = (...given) => imports.into(...given);
const itemsOf: typeof imports.itemsOf = (...given) => imports.itemsOf(...given);

beforeAll(async () => {
  imports = await openImports();
  ({ vault, account } = imports);
});
afterAll(() => imports.close());

describe('a CSV file', () => {
  test('becomes items, with the parts that the map names; empty fields are left out', async () => {
    const path = fileOf(
      '\ufeffCustomer ID;PAN;"Exp; date";Name;Plan;Unused\r\n' +
        'c-1;4111111111111111;12/29;"Ada ""L"" é";gold;x\r\n' +
        '\r\n' +
        'c-2;5555555555554444;;;;\r\n',
    );
    const map = 'card_number=PAN,reference=Customer ID,expiry=Exp; date,card_holder=Name,metadata.plan=Plan';
    const { user, line } = await into(path, '--delimiter', ';', '--map', map);
    const { code, out, err } = await runCommand(line, { vault });
    expect([code, out, err]).toEqual([0, 'Imported 2 items.\n', '']);
    const [first, second] = (await itemsOf(user)).toSorted((a, b) =>
      (a.reference ?? '').localeCompare(b.reference ?? ''),
    );
    expect(first).toMatchObject({
      reference: 'c-1',
      metadata: { plan: 'gold' },
      data: { card_number: '4111111111111111', expiry: '12/29', card_holder: 'Ada "L" é' },
    });
    expect(second).toMatchObject({ reference: 'c-2', data: { card_number: '5555555555554444' } });
    expect(second?.metadata).toBeUndefined();
    expect(existsSync(`${path}.errors`)).toBe(false);
    expect(statSync(`${path}.import`).mode & 0o777).toBe(0o600);
  });

  test('may have columns whose names have commas and quotes', async () => {
    const path = fileOf('"Number, full","Name ""as printed"", if any",Plan\n4111111111111111,Ada,gold\n');
    const map = [
      'card_number="Number, full" , card_holder="Name ""as printed"", if any"',
      'metadata.plan="Plan"',
    ].flatMap((pairs) => ['--map', pairs]);
    const { user, line } = await into(path, ...map);
    expect((await runCommand(line, { vault })).out).toBe('Imported 1 item.\n');
    expect(await itemsOf(user)).toMatchObject([
      { metadata: { plan: 'gold' }, data: { card_number: '4111111111111111', card_holder: 'Ada' } },
    ]);
  });

  test('needs no map where its columns have the names of parts', async () => {
    const path = fileOf('number,reference,ttl,algorithm,metadata.a\n4111111111111111,r,P1D,uuid,b\n');
    const { user, line } = await into(path);
    expect(await commandJson<object>(vault, ...line)).toEqual({
      items: 1,
      replaced: 0,
      refused: 0,
      skipped: 0,
      complete: true,
    });
    const [item] = await itemsOf(user);
    expect(item).toMatchObject({
      reference: 'r',
      metadata: { a: 'b' },
      expires_at: expect.any(String),
      data: { number: '4111111111111111' },
    });
    expect(item?.token).toHaveLength(36);
  });

  test('is stored as by single requests: logged, counted, and in the security log once', async () => {
    const client = await vault.account();
    await client.key('u');
    const path = fileOf(cards(1_500));
    const line = [
      'import',
      path,
      '--account',
      client.name,
      '--key',
      'u',
      '--passphrase-file',
      imports.passphraseFile,
    ];
    expect((await runCommand(line, { vault })).out).toBe('Imported 1,500 items.\n');
    expect((await vault.usage(client))['store']).toBe(1_500);
    const { data: tree } = await client.sdk.vault.list({ user: 'u', reference_prefix: 'r-1234' });
    const token = tree['u']?.[0]?.token ?? '';
    const log = await client.sdk.vault.log({ user: 'u', token, reference: 'r-1234' });
    expect(log.data).toMatchObject([
      { action: 'encrypt', source: 'vault', ip_address: 'local', actor: client.name },
    ]);
    expect((await entriesOf(client, { action: 'vault.import' })).map(lineOf)).toEqual([
      'vault.import success key/u',
    ]);
  });

  test('has its faulty lines told by number, without what is in them; the others are imported', async () => {
    const path = fileOf(
      [
        'number,reference,metadata.card',
        '4111111111111111,r-1,',
        'secret,,',
        `4012888888881881,${'r'.repeat(256)},`,
        '"4012888888881881","two',
        'lines",',
        '4222222222222,r-3,4222222222222',
        '4012888888881881',
        '"4012888888881881"4,r-4,',
        '5555555555554444,r-5,',
        '4222222222222,"r-6,',
      ].join('\n'),
    );
    const { user, line } = await into(path);
    const { code, out } = await runCommand(line, { vault });
    expect([code, out]).toEqual([1, `Imported 3 items.\n6 rows refused: see ${path}.errors.\n`]);
    expect(errorsOf(path).map(({ line: at, code: why, field }) => [at, why, field])).toEqual([
      [3, 'number_missing', undefined],
      [4, 'invalid_request', 'reference'],
      [7, 'metadata_sensitive', 'metadata.card'],
      [8, 'invalid_csv', undefined],
      [9, 'invalid_csv', undefined],
      [11, 'invalid_csv', undefined],
    ]);
    expect(readFileSync(`${path}.errors`, 'utf8')).not.toMatch(/\d{6}|secret|rrr/);
    expect(errorsOf(path)[1]?.['error']).toBe('`reference` must have 1 to 255 characters.');
    expect(statSync(`${path}.errors`).mode & 0o777).toBe(0o600);
    expect(await itemsOf(user)).toHaveLength(3);
  });

  test('was rounded by a spreadsheet: such a line is refused', async () => {
    const path = fileOf('number,note\n4.11111E+15,\n"4,11111E+15",\n4E+15,\n4111111111111111,E+15\n');
    const { user, line } = await into(path);
    expect((await runCommand(line, { vault })).out).toStartWith('Imported 1 item.\n3 rows refused');
    expect(errorsOf(path).map(({ code }) => code)).toEqual(Array(3).fill('invalid_csv'));
    expect(await itemsOf(user)).toMatchObject([{ data: { number: '4111111111111111', note: 'E+15' } }]);
  });

  test('may have quotes that never end: what follows is read all the same', async () => {
    const path = fileOf(`number,name\n1,"a\n2,b\n3,"c"d\n${'4,e\n'.repeat(3)}`);
    const { line } = await into(path, '--dry-run');
    const { out } = await runCommand(line, { vault });
    expect(out).toStartWith('2 rows of 6 rows would be refused:\n');
    expect(
      out
        .split('\n')
        .filter((row) => row.includes('invalid_csv'))
        .map((row) => row.trim().split(' ')[0]),
    ).toEqual(['2', '4']);
  });

  test.each([
    ['no names', '4111111111111111,12/29\n', 'Without --map the first line of FILE must name parts'],
    ['nothing', '', 'The first line of FILE must name the columns.'],
    ['another delimiter', 'number;ttl\n4111111111111111;P1D\n', 'The first line of FILE is one column: give'],
    ['another encoding', new Uint8Array([0x61, 0x0a, 0xe9, 0x0a]), 'FILE is not UTF-8: convert it'],
    ['the same column twice', 'number,number\n1,2\n', 'The first line of FILE names 2 columns number.'],
  ])('is refused with %s', async (_, text, said) => {
    const path = fileOf(text);
    const { user, line } = await into(path);
    const { code, err } = await runCommand(line, { vault });
    expect([code, err.slice(0, said.length)]).toEqual([1, said]);
    expect(err).not.toContain('4111');
    expect(await itemsOf(user)).toEqual([]);
    expect(existsSync(`${path}.import`)).toBe(false);
  });

  test('is refused without a column of the map', async () => {
    const { line } = await into(fileOf('number\n1\n'), '--map', 'number=PAN');
    expect((await runCommand(line, { vault })).err).toBe('The first line of FILE names no column PAN.\n');
  });
});

test('an import that never began can be asked for in another way', async () => {
  const path = fileOf('number;reference\n4111111111111111;r\n');
  const { user, line } = await into(path);
  const wrong = fileOf('not the passphrase\n');
  const delimited = [...line, '--delimiter', ';'];
  for (const [args, said] of [
    [line, 'The first line of FILE is one column'],
    [[...delimited, '--map', 'number=PAN'], 'The first line of FILE names no column PAN.'],
    [[...delimited, '--passphrase-file', wrong], 'The passphrase does not match this key.'],
    [[...delimited, '--key', 'nothing'], new VaultError('key_not_found').message],
  ] as const) {
    const { code, err } = await runCommand(args, { vault });
    expect([code, err.slice(0, said.length)]).toEqual([1, said]);
  }
  expect(await runCommand(delimited, { vault })).toMatchObject({ code: 0, out: 'Imported 1 item.\n' });
  expect(await itemsOf(user)).toHaveLength(1);
});

describe('an import that goes on', () => {
  test('stores nothing twice, and keeps the errors in order', async () => {
    const path = fileOf(
      `${cards(2_000)},no\n${cards(1_500).split('\n').slice(1).join('\n').replaceAll(',r-', ',s-')},no\n`,
    );
    const { user, line } = await into(path);
    const { itemStore } = vault.opened.stores;
    const writeMany = itemStore.writeMany.bind(itemStore);
    let left = 20;
    itemStore.writeMany = (...given) => {
      left -= 1;
      return left < 0 ? Promise.reject(new VaultError('internal')) : writeMany(...given);
    };
    const { code: failed, err } = await runCommand(line, { vault });
    itemStore.writeMany = writeMany;
    expect([failed, err]).toEqual([1, `${new VaultError('internal').message}\n`]);
    const { items: before } = JSON.parse(readFileSync(`${path}.import`, 'utf8'));
    expect(before % 1_000).toBe(0);
    const { code, out } = await runCommand(line, { vault });
    expect([code, out]).toEqual([1, `Imported 3,500 items.\n2 rows refused: see ${path}.errors.\n`]);
    expect(errorsOf(path).map(({ line: at }) => at)).toEqual([2_002, 3_503]);
    const items = await itemsOf(user);
    expect(items).toHaveLength(3_500);
    const { token, reference } = items[0] ?? { token: '' };
    const log = await account.sdk.vault.log({
      user,
      token,
      ...(reference === undefined ? {} : { reference }),
    });
    expect(log.data.filter(({ action }) => action === 'encrypt')).toHaveLength(1);
  });

  test('waits for a store that is away, and stores nothing twice', async () => {
    const { user, line } = await into(fileOf(cards(1_100)));
    const { itemStore } = vault.opened.stores;
    const writeMany = itemStore.writeMany.bind(itemStore);
    let failures = 3;
    itemStore.writeMany = async (...given) => {
      const outcomes = await writeMany(...given);
      failures -= 1;
      return failures < 0 ? outcomes : Promise.reject(new VaultError('store_unavailable'));
    };
    const { code, out } = await runCommand(line, { vault });
    itemStore.writeMany = writeMany;
    expect([code, out]).toEqual([0, 'Imported 1,100 items.\n']);
    expect(await itemsOf(user)).toHaveLength(1_100);
  });

  test('is refused for a file of other lines, and with other options', async () => {
    const path = fileOf(cards(1_200));
    const { user, line } = await into(path);
    expect((await runCommand(line, { vault })).code).toBe(0);
    expect((await runCommand(line, { vault })).err).toMatch(
      /^FILE was imported at .*Z\. To import it once more, remove/,
    );
    const state = JSON.parse(readFileSync(`${path}.import`, 'utf8'));
    writeFileSync(`${path}.import`, JSON.stringify({ ...state, ended_at: undefined }));
    expect((await runCommand([...line, '--delimiter', ';'], { vault })).err).toStartWith(
      `${path}.import is of an import with other options`,
    );
    writeFileSync(path, cards(1_200).replace('r-7\n', 'r-seven\n'));
    expect((await runCommand(line, { vault })).err).toStartWith('FILE is not the one whose import');
    writeFileSync(`${path}.import`, 'other');
    expect((await runCommand(line, { vault })).err).toBe(`${path}.import is not the state of an import.\n`);
    rmSync(`${path}.import`);
    writeFileSync(`${path}.errors`, 'mine');
    expect((await runCommand(line, { vault })).err).toBe(
      `${path}.errors is there already: move it away first.\n`,
    );
    expect(readFileSync(`${path}.errors`, 'utf8')).toBe('mine');
    expect(await itemsOf(user)).toHaveLength(1_200);
  });
});

test('a dry run tells what would be refused, and leaves nothing', async () => {
  const path = fileOf(`${cards(30)},no\n`);
  const { user, line } = await into(path, '--dry-run');
  const { code, out } = await runCommand(line, { vault });
  expect(code).toBe(1);
  expect(out).toStartWith('1 row of 31 rows would be refused:\n\nLine');
  expect(out).toContain('32  number_missing');
  expect([existsSync(`${path}.import`), existsSync(`${path}.errors`)]).toEqual([false, false]);
  expect(await itemsOf(user)).toEqual([]);
  const clean = await into(fileOf(cards(30)), '--dry-run');
  expect(await runCommand(clean.line, { vault })).toMatchObject({
    code: 0,
    out: 'All 30 rows can be imported. Nothing was stored.\n',
  });
});

/** Imports a file into a new key. */
async function run(path: string) {
  return runCommand((await into(path)).line, { vault });
}

test('a link beside the file leads to no other file', async () => {
  const other = fileOf('precious', 'txt');
  const path = fileOf('number\n881\n');
  symlinkSync(other, `${path}.import.part`);
  expect((await run(path)).out).toBe('Imported 1 item.\n');
  expect(readFileSync(other, 'utf8')).toBe('precious');

  const missing = imports.place('txt');
  const faulty = fileOf('number\nx\n');
  symlinkSync(missing, `${faulty}.errors`);
  expect((await run(faulty)).err).toContain('is there already');
  expect(existsSync(missing)).toBe(false);
});

test('what another has written as the state of an import does not reach the terminal', async () => {
  const path = fileOf('number\n881\n');
  const counts = { rows: 0, items: 0, replaced: 0, refused: 0, error_bytes: 0 };
  const state = { version: 1, id: 'i', asked: 'a', layout: '', ...counts, ended_at: '\u001b[2J' };
  writeFileSync(`${path}.import`, JSON.stringify(state));
  expect((await run(path)).err).toEndWith('is not the state of an import.\n');
});

describe('a command line is refused', () => {
  test.each([
    ['without a format', ['cards.txt'], 'Give the format with --format csv, ndjson or age.'],
    [
      'with another one',
      ['cards.csv', '--format', 'xml'],
      'Give the format with --format csv, ndjson or age.',
    ],
    ['without an identity', ['cards.age'], 'Give --identity FILE with an age file, and only with one.'],
    ['with a delimiter of no CSV', ['cards.ndjson', '--delimiter', ';'], '--delimiter is for CSV files.'],
    ['with a long delimiter', ['cards.csv', '--delimiter', ';;'], '--delimiter must be one character'],
    ['with other tokens', ['cards.csv', '--tokens', 'new'], '--tokens must be keep.'],
    ['with half a map', ['cards.csv', '--map', 'number'], '--map must be NAME=COLUMN'],
    [
      'with a comma outside of quotes',
      ['cards.csv', '--map', 'number=PAN, full'],
      '--map must be NAME=COLUMN',
    ],
    ['with an open quote', ['cards.csv', '--map', 'number="PAN, full'], '--map must be NAME=COLUMN'],
    ['with a comma at its end', ['cards.csv', '--map', 'number=PAN,'], '--map must be NAME=COLUMN'],
    ['with an empty column', ['cards.csv', '--map', 'number=""'], '--map must be NAME=COLUMN'],
    ['with a part twice', ['cards.csv', '--map', 'a=b,a=c'], '--map must be NAME=COLUMN'],
    [
      'with a number as a part',
      ['cards.csv', '--map', '4111111111111111=b'],
      '--map must name parts of an item',
    ],
    ['with deep parts', ['cards.csv', '--map', 'a.b=c'], '--map must name parts of an item'],
    ['with standard input twice', ['-', '--format', 'csv'], 'Give --passphrase-file FILE: standard input is'],
    [
      'with nowhere to keep its state',
      ['-', '--format', 'csv', '--passphrase-file', 'x'],
      'Give --state PATH',
    ],
    ['with no file', ['/nowhere/cards.csv', '--passphrase-file', '-file-'], 'FILE cannot be read (ENOENT).'],
  ])('%s', async (_, args, said) => {
    const given = args.map((arg) => (arg === '-file-' ? imports.passphraseFile : arg));
    const { code, err } = await runCommand(['import', ...given, '--account', account.name, '--key', 'u'], {
      vault,
    });
    expect([code > 0, err.slice(0, said.length)]).toEqual([true, said]);
  });
});
