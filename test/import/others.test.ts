/** `vault import` of files that other programs have written: other names, marks, separators, empty and rounded numbers. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandJson, runCommand } from '../helpers/command.ts';
import type { TestVault } from '../helpers/vault.ts';
import { errorsOf, type Item, openImports } from './files.ts';

let imports: Awaited<ReturnType<typeof openImports>>;
let vault: TestVault;
beforeAll(async () => {
  imports = await openImports();
  ({ vault } = imports);
});
afterAll(() => imports.close());

/** Imports a file into a new key; returns what was printed, and the items by reference. */
async function imported(path: string, ...options: readonly string[]) {
  const { user, line } = await imports.into(path, ...options);
  const { code, out, err } = await runCommand(line, { vault });
  const items = (await imports.itemsOf(user)).toSorted((a, b) =>
    (a.reference ?? '').localeCompare(b.reference ?? ''),
  );
  return { code, out, err, items };
}

function dataOf(items: readonly Item[]): readonly unknown[] {
  return items.map(({ data }) => data);
}

const lines = (...objects: readonly unknown[]): string =>
  imports.fileOf(objects.map((object) => `${JSON.stringify(object)}\n`).join(''), 'ndjson');

/** A copy of a file, next to which the files of the import may be written. */
function copyOf(name: string): string {
  const [, extension] = name.split('.');
  return imports.fileOf(readFileSync(join(import.meta.dir, 'exports', name)), extension);
}

describe('an export of a payment service', () => {
  test('as lines of JSON is mapped by dotted names', async () => {
    const map =
      'card_number=number,expiry_month=month,expiry_year=year,card_holder=full_name,reference=token,metadata.customer=data.customer_id';
    const { code, out, items } = await imported(copyOf('methods.ndjson'), '--map', map);
    expect([code, out]).toEqual([
      0,
      'Imported 3 items.\nFILE has no last line with a count: it may have been cut.\n',
    ]);
    const item = (
      reference: string,
      card_number: string,
      expiry_month: number,
      expiry_year: number,
      card_holder: string,
    ) => ({
      reference,
      metadata: { customer: `sp-${reference}` },
      data: { card_number, expiry_month, expiry_year, card_holder },
    });
    expect(items).toMatchObject([
      item('5rt1', '4111111111111111', 9, 2027, 'Jon Doe'),
      item('9bq7', '5454545454545454', 1, 2031, 'Ann Marie Lee'),
      item('c3pp', '36227206271667', 12, 2028, 'Zoë Brandt'),
    ]);
    expect(items.map(({ data }) => Object.keys(data ?? {}).length)).toEqual([4, 4, 4]);
  });

  test('as CSV is mapped by the names of its columns, which may have dots', async () => {
    const map =
      'card_number=card.number,expiry_month=card.exp_month,expiry_year=card.exp_year,card_holder=card.name,reference=id,metadata.old_card=card.id';
    const { code, out, items } = await imported(copyOf('cards.csv'), '--map', map);
    expect([code, out]).toEqual([0, 'Imported 3 items.\n']);
    expect(items).toMatchObject([
      {
        reference: 'cus_A1',
        metadata: { old_card: 'card_1a' },
        data: {
          card_number: '4000002500003155',
          expiry_month: '4',
          expiry_year: '2029',
          card_holder: 'Iris Novak',
        },
      },
      { reference: 'cus_B2', data: { card_number: '5200828282828210', card_holder: 'O DIAZ' } },
      { reference: 'cus_C3', data: { card_number: '371449635398431', expiry_year: '2030' } },
    ]);
    expect(items[2]?.data).not.toHaveProperty('card_holder');
  });
});

describe('a map of lines of JSON', () => {
  test('reads members, items of lists and names with dots, and keeps values digit by digit', async () => {
    const path = imports.fileOf(
      '{"card":{"pans":["4111111111111111"]},"a.b":"dotted","c,d":"parted","id":12345678901234567890,"amount":1.10,"on":true,"none":null}\n',
      'ndjson',
    );
    const map =
      'number=card.pans.0,dotted=a.b,parted="c,d",amount=amount,reference=id,metadata.on=on,metadata.id=id,none=none,more=card';
    const { user, line } = await imports.into(path, '--map', map);
    expect((await runCommand(line, { vault })).code).toBe(0);
    const [item] = await imports.itemsOf(user);
    expect(item).toMatchObject({
      reference: '12345678901234567890',
      metadata: { on: 'true', id: '12345678901234567890' },
    });
    const { token = '', reference = '' } = item ?? {};
    expect(await imports.account.open(user, token, { reference })).toBe(
      '{"number":"4111111111111111","dotted":"dotted","parted":"parted","amount":1.10,"more":{"pans":["4111111111111111"]}}',
    );
  });

  test('refuses lines that are no objects, and parts that are no texts', async () => {
    const path = imports.fileOf(
      '[]\nno json\n{"n":"4111111111111111","id":{}}\n{"id":"r"}\n{"n":"4111111111111111","id":"r"}\n',
      'ndjson',
    );
    const { code, items } = await imported(path, '--map', 'n=n,reference=id');
    expect([code, items.length]).toEqual([1, 1]);
    expect(errorsOf(path).map(({ line, code: why, field }) => [line, why, field])).toEqual([
      [1, 'invalid_request', undefined],
      [2, 'invalid_json', undefined],
      [3, 'invalid_request', 'reference'],
      [4, 'number_missing', undefined],
    ]);
  });

  test('tells which of its names no line has', async () => {
    const map = ['--map', 'number=n,expiry=card.expirey,reference=id'];
    const path = lines(
      { n: '4111111111111111', card: { expiry: '12/29' } },
      { n: '5555555555554444', id: 'r' },
    );
    const said = 'No line of FILE has card.expirey: check --map.\n';
    expect((await imported(path, ...map, '--dry-run')).out).toStartWith(said);
    expect((await imported(path, ...map)).out).toContain(said);
  });

  test('applies to the lines of an export, whose last line is compared as without it', async () => {
    const sum = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex');
    const text =
      '{"token":"old","stored_at":"2026-01-01T00:00:00Z","data":{"number":"4111111111111111","a":1}}\n';
    const path = imports.fileOf(`${text}{"count":1,"sha256":"${sum(text)}"}`, 'ndjson');
    const { out, items } = await imported(path, '--map', 'card_number=data.number,metadata.old_token=token');
    expect(out).toBe('Imported 1 item.\n');
    expect(items).toMatchObject([
      { metadata: { old_token: 'old' }, data: { card_number: '4111111111111111' } },
    ]);
  });
});

describe('a byte order mark', () => {
  const line = '{"data":{"number":"4111111111111111"}}\n';

  test('before lines of JSON is no part of the first one, nor of the checksum of an export', async () => {
    const sum = new Bun.CryptoHasher('sha256').update(line).digest('hex');
    for (const text of [
      `\ufeff${line}`,
      `\ufeff${line.trimEnd()}`,
      `\ufeff${line}{"count":1,"sha256":"${sum}"}\n`,
    ]) {
      const { code, out, items } = await imported(imports.fileOf(text, 'ndjson'));
      expect([code, out.split('\n')[0]]).toEqual([0, 'Imported 1 item.']);
      expect(dataOf(items)).toEqual([{ number: '4111111111111111' }]);
    }
  });

  test('of another encoding is told', async () => {
    for (const [encoding, mark] of [
      ['utf-16le', [0xff, 0xfe]],
      ['utf-16be', [0xfe, 0xff]],
    ] as const) {
      const text = Buffer.from(line, 'utf16le');
      const bytes = Buffer.concat([Uint8Array.from(mark), encoding === 'utf-16le' ? text : text.swap16()]);
      const { code, err, items } = await imported(imports.fileOf(bytes, 'ndjson'));
      expect([code, items]).toEqual([1, []]);
      expect(err).toStartWith('FILE is not UTF-8: convert it');
    }
  });
});

/** A number that was written as a fraction or with an exponent. */
const FLOATING = [
  ...['4.11111E+15', '4.11111E+015', '4,11111E+15', '4E+15', '4.11e15', '4.11E15', '4.11111111111111E+0015'],
  ...['411111111111111e1', '4111111111111111E0', '41111111111111110e-1', '+4.11E+15', ' 4.11E+15 '],
  ...['4111111111111111.0', '4111111111111111.', '4111111111111111,00', '.4111111111111111E16'],
  ...['4,111,111,111,111,111.00', '4.111.111.111.111.111,00'],
];

describe('a number in floating notation', () => {
  test('in CSV is refused, by its line', async () => {
    const rows = FLOATING.map((number) => `"${number}",\n`);
    const path = imports.fileOf(
      `number,note\n${rows.join('')}4111111111111111,4.11E1\n4012888888881881,"1.50"\n`,
    );
    const { code, items } = await imported(path);
    expect(code).toBe(1);
    expect(errorsOf(path).map(({ line, code: why }) => [line, why])).toEqual(
      FLOATING.map((_, at) => [at + 2, 'invalid_csv']),
    );
    expect(dataOf(items)).toContainEqual({ number: '4111111111111111', note: '4.11E1' });
    expect(dataOf(items)).toContainEqual({ number: '4012888888881881', note: '1.50' });
    expect(readFileSync(`${path}.errors`, 'utf8')).not.toContain('4111');
  });

  test('in lines of JSON is refused, as a text and as a number, also where another name has a whole one', async () => {
    const numbers = [
      '4.11111E+15',
      '411111111111111e1',
      '4111111111111111.0',
      '4.11E15',
      '4.111111111111111e15',
    ];
    const path = imports.fileOf(
      [
        ...numbers.map((number) => `{"data":{"card_number":${number},"n":"77"}}\n`),
        ...FLOATING.map((number) => `${JSON.stringify({ data: { card_number: number } })}\n`),
        '{"data":{"a":1},"number":"4.11E+15"}\n',
        '{"data":{"number":4111111111111111,"amount":1.50,"a":"4.11E+15"}}\n',
      ].join(''),
      'ndjson',
    );
    const { code, items } = await imported(path);
    expect(code).toBe(1);
    const fields = errorsOf(path).map(({ code: why, field }) => [why, field]);
    expect(fields).toEqual([
      ...Array(numbers.length + FLOATING.length).fill(['invalid_request', 'data.card_number']),
      ['invalid_request', 'number'],
    ]);
    expect(items).toHaveLength(1);
    expect(readFileSync(`${path}.errors`, 'utf8')).not.toContain('4111');
  });

  test('of a mapped member is refused too', async () => {
    const path = imports.fileOf('{"pan":4.111111111111111e15}\n{"pan":"4.11E+15"}\n', 'ndjson');
    expect((await imported(path, '--map', 'card_number=pan')).code).toBe(1);
    expect(errorsOf(path).map(({ field }) => field)).toEqual(['data.card_number', 'data.card_number']);
  });
});

describe('--skip-empty', () => {
  test('counts rows of CSV without a number apart, and refuses nothing for them', async () => {
    const path = imports.fileOf(
      'number,card_number,reference\n4111111111111111,,a\n,,b\n" ",-,c\n,5555555555554444,d\n',
    );
    const { line } = await imports.into(path, '--skip-empty');
    expect(await commandJson<object>(vault, ...line)).toEqual({
      ...{ items: 2, replaced: 0, refused: 0, skipped: 2, complete: true },
    });
    expect(await Bun.file(`${path}.errors`).exists()).toBe(false);
    const dry = await imported(path, '--skip-empty', '--dry-run');
    expect([dry.code, dry.out]).toEqual([
      0,
      '2 rows without a number were skipped.\n\nAll 2 rows can be imported. Nothing was stored.\n',
    ]);
  });

  test('refuses what stands in the place of a number', async () => {
    const path = imports.fileOf('number\nn/a\n4111111111111111\n');
    const { code, out } = await imported(path, '--skip-empty');
    expect([code, out.split('\n')[0]]).toEqual([1, 'Imported 1 item.']);
    expect(errorsOf(path)).toMatchObject([{ line: 2, code: 'number_missing' }]);
  });

  test('works on lines of JSON, with a map and without', async () => {
    const own = lines(
      { data: { number: '4111111111111111' } },
      { data: { number: '' } },
      { data: { number: null, a: 1 } },
      { data: { a: 1 }, number: '5555555555554444' },
      { reference: 'r', data: {} },
    );
    const without = await imported(own, '--skip-empty');
    expect([without.code, without.out.split('\n').slice(0, 2)]).toEqual([
      0,
      ['Imported 2 items.', '3 rows without a number were skipped.'],
    ]);
    const mapped = lines({ pan: '4111111111111111' }, { pan: '' }, { other: 1 });
    const withMap = await imported(mapped, '--skip-empty', '--map', 'number=pan');
    expect([withMap.code, withMap.out.split('\n').slice(0, 2)]).toEqual([
      0,
      ['Imported 1 item.', '2 rows without a number were skipped.'],
    ]);
  });

  test('needs a part that is the number', async () => {
    const said = 'With --skip-empty a part must be the number: card_number, account_number, n, number.\n';
    for (const path of [imports.fileOf('PAN\n4111111111111111\n'), lines({ PAN: '4111111111111111' })]) {
      expect(await imported(path, '--skip-empty', '--map', 'pan=PAN')).toMatchObject({ code: 1, err: said });
    }
  });
});

describe('--compact', () => {
  const spaced = ['4111 1111 1111 1111', '5555-5555-5555-4444', '4012\u00a08888\u20118888\u200b1881'];
  const plain = ['4111111111111111', '5555555555554444', '4012888888881881'];

  test('removes spaces and dashes from the numbers of CSV, and from nothing else', async () => {
    const rows = spaced.map((number, at) => `${number},r ${at}-x,a - b\n`).join('');
    const { code, items } = await imported(imports.fileOf(`number,reference,note\n${rows}`), '--compact');
    expect(code).toBe(0);
    expect(items).toMatchObject(
      plain.map((number, at) => ({ reference: `r ${at}-x`, data: { number, note: 'a - b' } })),
    );
  });

  test('works on lines of JSON, with a map and without', async () => {
    const without = await imported(
      lines(
        ...spaced.map((card_number, at) => ({ reference: `${at}`, data: { card_number, note: 'a - b' } })),
      ),
      '--compact',
    );
    expect(dataOf(without.items)).toEqual(plain.map((card_number) => ({ card_number, note: 'a - b' })));
    const mapped = await imported(
      lines(...spaced.map((pan, at) => ({ at, pan }))),
      ...['--compact', '--map', 'number=pan,reference=at'],
    );
    expect(dataOf(mapped.items)).toEqual(plain.map((number) => ({ number })));
  });

  test('gives the tokens that the same numbers have without separators', async () => {
    const tokensOf = async (numbers: readonly string[], ...options: readonly string[]) => {
      const { line } = await imports.into(imports.fileOf(`number\n${numbers.join('\n')}\n`), ...options);
      const own = line.map((word, at) => (line[at - 1] === '--key' ? 'k-compact' : word));
      expect((await runCommand(own, { vault })).code).toBe(0);
      return (await imports.itemsOf('k-compact')).map(({ token }) => token).toSorted();
    };
    await imports.account.key('k-compact');
    const tokens = await tokensOf(plain);
    expect(await tokensOf(spaced, '--compact')).toEqual(tokens);
  });

  test('hides no floating notation', async () => {
    const path = imports.fileOf('number\n4.1111 E+15\n');
    expect((await imported(path, '--compact')).code).toBe(1);
    expect(errorsOf(path)).toMatchObject([{ line: 2 }]);
  });
});

test('an import that goes on has the same options', async () => {
  const path = imports.fileOf('number\n4111111111111111\n\n');
  const { line } = await imports.into(path);
  expect((await runCommand(line, { vault })).code).toBe(0);
  const state = JSON.parse(readFileSync(`${path}.import`, 'utf8'));
  await Bun.write(`${path}.import`, JSON.stringify({ ...state, ended_at: undefined }));
  for (const option of ['--compact', '--skip-empty']) {
    expect((await runCommand([...line, option], { vault })).err).toContain('with other options');
  }
});
