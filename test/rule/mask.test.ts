import { afterAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { Tree } from '../../sdk/index.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';

const NUMBER = '6011000990139424';
const OTHER = '378282246310005';
const CODE = '8526';
/** Every number and code in it stands under a sensitive name. */
const STORED = {
  card_number: NUMBER,
  cvv: CODE,
  holder: 'Ada Lovelace',
  card: { number: OTHER, cvc: CODE, list: [{ pan: NUMBER }] },
  cards: [{ number: NUMBER }, { n: OTHER }],
  split: { pan: ['6011', '0009', '9013', '9424'] },
};

/** What may be seen nowhere: any five digits in a row of the numbers' hidden part, whole codes, and what they encode to. */
function hiddenPieces(): string[] {
  const pieces = [NUMBER, OTHER].flatMap((number) =>
    Array.from({ length: number.length - 4 - 4 }, (_, at) => number.slice(at, at + 5)),
  );
  const whole = [NUMBER, OTHER, NUMBER.slice(0, 8), NUMBER.slice(8)];
  const encoded = whole.flatMap((text) => [
    Buffer.from(text).toString('base64').replaceAll('=', ''),
    Buffer.from(text).toString('hex'),
    ...['md5', 'sha1', 'sha256', 'sha512'].map((name) => createHash(name).update(text).digest('hex')),
  ]);
  const codes = [`"${CODE}"`, `:${CODE}`, Buffer.from(CODE).toString('base64').slice(0, 5)];
  return [...pieces, ...encoded, ...codes, 'GYYDCMJQ'];
}
const PIECES = hiddenPieces();

/** The pieces that a text shows: as it stands, without what separates digits, and decoded where it is base64. */
function leaksIn(value: unknown): string[] {
  const leaves: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node === 'object' && node !== null) {
      Object.values(node).forEach(visit);
    } else {
      leaves.push(String(node));
    }
  };
  visit(value);
  const texts = [
    JSON.stringify(value),
    // Pieces that were laid out in members of their own come together in this one.
    leaves.filter((leaf) => /^\d+$/.test(leaf)).join(''),
    leaves
      .filter((leaf) => /^[0*]{12}\d{4}$/.test(leaf))
      .map((leaf) => leaf.slice(-4))
      .join(''),
    ...leaves.map((leaf) => leaf.replaceAll(/[^0-9]/g, '')),
    ...leaves.map((leaf) => Buffer.from(leaf, 'base64').toString('latin1')),
  ];
  return PIECES.filter((piece) => texts.some((text) => text.includes(piece)));
}

/** What programs made: all but the members that are as they were stored. */
function madeIn(value: unknown): unknown {
  return Object.fromEntries(
    Object.entries(Object(value)).filter(
      ([name, member]) => !Bun.deepEquals(member, Reflect.get(STORED, name)),
    ),
  );
}

function op(name: string, input_field: string, output_field: string, args: object = {}): object {
  return {
    name,
    input_field,
    output_field,
    arguments: args,
  };
}
function template(text: string, output_field = '*', input_field = '*'): object {
  return op('template', input_field, output_field, { template: text });
}

/** Programs that bring a number or a code out to an account that may see it. */
const PROGRAMS: readonly (readonly [string, readonly object[]])[] = [
  ['a copy to another name', [op('noop', 'card_number', 'note')]],
  ['a copy out of a list', [op('noop', 'cards.0.number', 'note')]],
  ['a copy of the whole object', [op('noop', '*', 'note')]],
  ['a copy of a copy, the original dropped', [op('noop', 'card_number', 'a'), template('{"b":"{{a}}"}')]],
  ['a copy of the code', [op('noop', 'cvv', 'note')]],
  ['a template of JSON', [template('{"note":"{{card_number}}"}')]],
  ['a template of text', [template('no. {{card_number}}', 'note')]],
  ['a section', [template('{{#cards}}{{number}};{{n}};{{/cards}}', 'note')]],
  ['the object in a template', [template('{"note":{{.}}}')]],
  [
    'two halves, put together',
    [
      op('substr', 'card_number', 'a', { start: 0, end: 8 }),
      op('substr', 'card_number', 'b', { start: 8 }),
      op('format', '*', 'c', { format_string: '%v%v', keys: ['a', 'b'] }),
    ],
  ],
  ['a code under the name of a number', [op('noop', 'cvv', 'deep.n')]],
  [
    'pieces out of a list to names of numbers',
    [0, 1, 2, 3].map((at) => op('noop', `split.pan.${at}`, `w${at}.n`)),
  ],
  [
    'four quarters under names whose last four digits are shown',
    [0, 4, 8, 12].map((start) => op('substr', 'card_number', `q${start}.n`, { start, end: start + 4 })),
  ],
  [
    'four quarters at the end of numbers that are long enough',
    [0, 4, 8, 12].flatMap((start) => [
      op('substr', 'card_number', 'q', { start, end: start + 4 }),
      op('format', '*', `q${start}.n`, { format_string: '000000000000%v', keys: ['q'] }),
      op('format', '*', 'q', { format_string: '', keys: [] }),
    ]),
  ],
  ['all but the last four', [op('substr', 'card_number', 'a', { start: 0, end: -4 })]],
  [
    'a format',
    [op('format', '*', 'note', { format_string: '<%v|%v>', keys: ['card_number', 'card.number'] })],
  ],
  ['a format of the object', [op('format', '*', 'note', { format_string: '%v', keys: ['*'] })]],
  ['spaces for stars', [op('replace', 'card_number', 'note', { substr: '*', new_str: '' })]],
  ['a mask that hides nothing', [op('mask', 'card_number', 'note', { start: 0, end: 1 })]],
  ['base64', [op('encode', 'card_number', 'note', { scheme: 'base64' })]],
  ['stringify', [op('stringify', 'card_number', 'note')]],
  [
    'stringify and back',
    [op('stringify', '*', 'a'), op('parse_json', 'a', 'b'), op('noop', 'b.card_number', 'c')],
  ],
  ['an integer', [op('convert_to_int', 'card_number', 'note')]],
  ['sha-256', [op('hash', 'card_number', 'note', { algorithm: 'sha-256' })]],
  [
    'hashes of the halves',
    [op('substr', 'card_number', 'a', { end: 8 }), op('hash', 'a', 'b', { algorithm: 'sha-1' })],
  ],
  [
    'a write over the sensitive name',
    [op('noop', 'card_number', 'x'), template('', 'card_number'), op('noop', 'x', 'holder')],
  ],
];

const tokens = new Map<AccountClient, string>();

const vault = await openTestVault();
const [masked, unmasked] = [await vault.account({ unmasked: false }), await vault.account()];
for (const client of [masked, unmasked]) {
  await client.key('u');
  tokens.set(client, await client.store('u', STORED));
  for (const [at, [, operations]] of PROGRAMS.entries()) {
    const made = await client.send('POST', '/rule', { query: { id: `p${at}` }, body: operations });
    expect(made.outcome).toBe('200');
  }
}
afterAll(() => vault.close());

/** Every way to read the item through a program. */
async function readAll(client: AccountClient, rules: string): Promise<unknown[]> {
  const token = tokens.get(client);
  const query = { user: 'u', rules };
  const endpoint = await createRetrieve(client, 'u', { rules, return_card_metadata: false });
  const alone = [
    await client.send('GET', '/vault', { query: { ...query, token }, passphrase: PASSPHRASE }),
    await retrieve(vault, endpoint, { query: { token } }),
  ];
  const trees = [
    await client.send('GET', '/vault', { query: { ...query, decrypt_all: true }, passphrase: PASSPHRASE }),
    await retrieve(vault, endpoint, { query: { decrypt_all: true } }),
  ];
  expect([...alone, ...trees].map(({ outcome }) => outcome)).toEqual(Array(4).fill('200'));
  return [...alone.map(({ json }) => json), ...trees.map((answer) => answer.as<Tree>()['u']?.[0]?.data)];
}

describe('an account without unmasked output', () => {
  test.each(PROGRAMS.map(([name], at) => [name, at] as const))('gets nothing back by %s', async (_, at) => {
    const [shown, ...others] = await readAll(masked, `p${at}`);
    expect(leaksIn(shown)).toEqual([]);
    for (const other of others) {
      expect(other).toEqual(shown);
    }
    // The same program shows it where the operator allows it: the search above finds what is there.
    for (const open of await readAll(unmasked, `p${at}`)) {
      expect(leaksIn(madeIn(open)).length).toBeGreaterThan(0);
    }
  });

  test('gets nothing by all programs one after another', async () => {
    const rules = PROGRAMS.map((_, at) => `p${at}`).join();
    for (const shown of await readAll(masked, rules)) {
      expect(leaksIn(shown)).toEqual([]);
    }
  });

  test('gets nothing out of a rule that needs the real value to fail', async () => {
    const body = [
      op('convert_to_int', 'card_number', 'number_or_not'),
      op('substr', 'card_number', 'first', { start: 0, end: 1 }),
      template('{{#card_number}}there{{/card_number}}', 'there'),
    ];
    await masked.send('POST', '/rule', { query: { id: 'oracle' }, body });
    for (const shown of await readAll(masked, 'oracle')) {
      expect(shown).toMatchObject({ number_or_not: `${'*'.repeat(12)}9424`, first: '*', there: 'there' });
    }
  });
});

describe('an account without unmasked output that writes through rules', () => {
  /** The programs after which the account can read what it must not. */
  const leaky = async (write: (rules: string, at: number) => Promise<string>): Promise<string[]> => {
    const found: string[] = [];
    for (const [at, [name]] of PROGRAMS.entries()) {
      if (leaksIn(JSON.parse(await write(`p${at}`, at))).length > 0) {
        found.push(name);
      }
    }
    return found;
  };
  const newItem = async (): Promise<string> => {
    const query = { user: 'u', algorithm: 'uuid' };
    const stored = await masked.send('POST', '/vault', { query, passphrase: PASSPHRASE, body: STORED });
    return stored.as<{ token: string }>().token;
  };
  const update = async (token: string, rules: string, body: unknown): Promise<void> => {
    const query = { user: 'u', token, rules };
    const { outcome } = await masked.send('POST', '/vault/update', { query, passphrase: PASSPHRASE, body });
    expect(outcome).toBe('200');
  };

  test('gets nothing back by an update', async () => {
    const found = await leaky(async (rules) => {
      const token = await newItem();
      await update(token, rules, {});
      return masked.open('u', token);
    });
    expect(found).toEqual([]);
  });

  test('keeps what its update does not touch', async () => {
    const query = { user: 'u', algorithm: 'uuid' };
    const split = { pan: { left: '601100', right: ['0990139424', 7] }, n: [1, 'two'], number: null };
    const body = { ...STORED, ...split };
    const stored = await masked.send('POST', '/vault', { query, passphrase: PASSPHRASE, body });
    const { token } = stored.as<{ token: string }>();
    await masked.send('POST', '/rule', { query: { id: 'tag' }, body: [op('noop', 'holder', 'name')] });
    await update(token, 'tag', { a: 1 });
    await vault.opened.services.accounts.set(masked.name, { unmasked: true });
    expect(JSON.parse(await masked.open('u', token))).toEqual({ ...body, a: 1, name: 'Ada Lovelace' });
    await vault.opened.services.accounts.set(masked.name, { unmasked: false });
  });

  test('gets cards and accounts into their fields whole, for those who may see them', async () => {
    const flatten = template(
      '{"card_number":"{{card.number}}","cvv":"{{card.cvc}}","account_number":"{{bank.number}}","holder":"{{card.name}}"}',
    );
    await masked.send('POST', '/rule', { query: { id: 'flatten' }, body: [flatten] });
    const endpoint = await createCapture(masked, 'u', { rules: 'flatten', unique_id: 'forwarded' });
    const body = {
      card: { number: '6011 0009 9013 9424', cvc: 123, name: 'Ada Lovelace' },
      bank: { number: '12345678' },
    };
    const { token } = (await capture(vault, endpoint, { body })).as<{ token: string }>();
    await vault.opened.services.accounts.set(masked.name, { unmasked: true });
    expect(JSON.parse(await masked.open('u', token, { reference: 'forwarded' }))).toEqual({
      card_number: '6011 0009 9013 9424',
      cvv: '123',
      account_number: '12345678',
      holder: 'Ada Lovelace',
    });
    await vault.opened.services.accounts.set(masked.name, { unmasked: false });
  });

  test('gets nothing back of what others sent to its capture endpoint', async () => {
    const found = await leaky(async (rules, at) => {
      const endpoint = await createCapture(masked, 'u', { rules });
      const query = { reference: `captured-${at}`, number: NUMBER };
      const { token } = (await capture(vault, endpoint, { body: STORED, query })).as<{ token: string }>();
      return masked.open('u', token, { reference: query.reference });
    });
    expect(found).toEqual([]);
  });
});
