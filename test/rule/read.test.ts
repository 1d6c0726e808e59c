import { afterAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../sdk/index.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { capture, createCapture } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';

const STORED =
  '{"number":"4111111111111111","amount":1.10,"big":12345678901234567890,"s":"","holder":"Ada Lovelace"}';

let rulesMade = 0;

const vault = await openTestVault();
const [account, masked] = [await vault.account(), await vault.account({ unmasked: false })];
await Promise.all([account.key('u'), masked.key('u')]);
const token = await account.store('u', STORED);
await masked.store('u', STORED);
afterAll(() => vault.close());

async function rule(client: AccountClient, ...operations: object[]): Promise<string> {
  rulesMade += 1;
  const id = `rule-${rulesMade}`;
  expect((await client.send('POST', '/rule', { query: { id }, body: operations })).outcome).toBe('200');
  return id;
}
function read(query: Query, client = account): Promise<Answer> {
  return client.send('GET', '/vault', { query: { user: 'u', ...query }, passphrase: PASSPHRASE });
}
async function tokenOf(client: AccountClient): Promise<string> {
  return (await client.sdk.vault.list({ user: 'u' })).data['u']?.[0]?.token ?? '';
}

/** What rules make of the stored object, opened alone; opened with the whole key it must be the same. */
async function seen(query: Query, client = account): Promise<string> {
  const alone = await read({ ...query, token: await tokenOf(client) }, client);
  expect(alone.outcome).toBe('200');
  expect((await read({ ...query, decrypt_all: true }, client)).text).toContain(`"data":${alone.text}}`);
  return alone.text;
}
function append(text: string, order_position = 1) {
  return {
    name: 'format',
    input_field: '*',
    output_field: 's',
    order_position,
    arguments: { format_string: `%v${text}`, keys: ['s'] },
  };
}

describe('rules on what is read', () => {
  test('change the reply alone', async () => {
    const id = await rule(account, { name: 'template', arguments: { template: '{"n":"{{number}}!"}' } });
    expect(await seen({ rules: id })).toBe('{"n":"4111111111111111!"}');
    expect(await seen({})).toBe(STORED);
  });

  test('run in the order of the list, whatever the positions in them say', async () => {
    const [a, b] = [
      await rule(account, append('a', 2), append('A', 1)),
      await rule(account, append('b', -5)),
    ];
    for (const [rules, s] of [
      [`${a},${b}`, 'aAb'],
      [`${b},${a}`, 'baA'],
      [`${b},${b}`, 'bb'],
      [`${a} , ${b}`, 'aAb'],
      ['', ''],
    ] as const) {
      expect(JSON.parse(await seen({ rules }))).toMatchObject({ s });
    }
  });

  test('may be 64, and each may have 64 operations', async () => {
    const id = await rule(account, append('x'));
    expect(JSON.parse(await seen({ rules: Array(64).fill(id).join() }))).toMatchObject({ s: 'x'.repeat(64) });
    const refused = await read({ token, rules: Array(65).fill(id).join() });
    expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.rules']);
  });

  test('come after the masks of the account and before mask_fields, which know names and not values', async () => {
    const copies = [
      { name: 'noop', input_field: 'number', output_field: 'copy' },
      { name: 'noop', input_field: 'holder', output_field: 'name' },
    ];
    for (const [client, number] of [
      [account, '4111111111111111'],
      [masked, '************1111'],
    ] as const) {
      const rules = await rule(client, ...copies);
      expect(JSON.parse(await seen({ rules, mask_fields: 'holder' }, client))).toMatchObject({
        number,
        copy: number,
        holder: '*** ****lace',
        name: 'Ada Lovelace',
      });
      expect(JSON.parse(await seen({ rules, mask_fields: 'name,copy' }, client))).toMatchObject({
        number,
        copy: '************1111',
        holder: 'Ada Lovelace',
        name: '*** ****lace',
      });
    }
  });

  test('do nothing in a listing without data', async () => {
    const id = await rule(account, append('x'));
    const plain = await account.send('GET', '/vault', { query: { user: 'u' } });
    expect((await account.send('GET', '/vault', { query: { user: 'u', rules: id } })).text).toBe(plain.text);
  });

  test('go over each item of a whole key by itself', async () => {
    await account.key('many');
    const count = 150;
    await Promise.all(
      Array.from({ length: count }, (_, n) => account.store('many', { number: `${n}`, s: '' })),
    );
    const rules = await rule(account, append('!'), {
      name: 'format',
      output_field: 'id',
      arguments: { format_string: '%v%v', keys: ['number', 's'] },
    });
    const all = await read({ user: 'many', decrypt_all: true, rules });
    const data = (all.as<Tree>()['many'] ?? []).map((item) => item.data ?? {});
    expect(data).toHaveLength(count);
    expect(data.every(({ id, number }) => id === `${number}!`)).toBe(true);
  });
});

describe('a rule that is missing', () => {
  const state = async (): Promise<unknown> => {
    const { log: _, list: __, rule: ___, api_requests: ____, ...usage } = await vault.usage(account);
    const { data } = await account.sdk.vault.log({ user: 'u', token });
    return [data.filter(({ outcome }) => outcome === 'ok').length, usage];
  };

  test('is a 404 with nothing shown, logged as done or counted, alone or among others', async () => {
    const here = await rule(account, append('x'));
    const before = await state();
    for (const rules of ['missing', `${here},missing`, `missing,${here}`]) {
      for (const query of [{ token }, { decrypt_all: true }, { decrypt_all: true, limit: -1 }]) {
        const refused = await read({ ...query, rules });
        expect(refused.outcome).toBe('404 rule_not_found');
        expect(refused.text).not.toContain('missing');
        expect(refused.text).not.toContain('4111');
      }
    }
    expect(await state()).toEqual(before);
  });

  test('is so from the moment that it is deleted, on every server, and no longer when it is made again', async () => {
    const id = await rule(account, append('x'));
    const second = await vault.secondServer();
    const there = account.via(second.handle);
    expect((await read({ token, rules: id }, there)).outcome).toBe('200');
    await account.send('DELETE', '/rule', { query: { id } });
    expect((await read({ token, rules: id })).outcome).toBe('404 rule_not_found');
    expect((await read({ token, rules: id }, there)).outcome).toBe('404 rule_not_found');
    await account.send('POST', '/rule', { query: { id }, body: [append('y')] });
    expect((await read({ token, rules: id })).json).toMatchObject({ s: 'y' });
    expect((await read({ token, rules: id }, there)).json).toMatchObject({ s: 'y' });
    await second.close();
  });

  test('is what another account’s is', async () => {
    const theirs = await rule(masked, append('x'));
    expect((await read({ token, rules: theirs })).outcome).toBe('404 rule_not_found');
    expect((await read({ decrypt_all: true, rules: theirs })).outcome).toBe('404 rule_not_found');
  });
});

const SHORTEN = { name: 'substr', input_field: 'year', output_field: 'short', arguments: { start: -2 } };

function tryRule(body: unknown, client = account): Promise<Answer> {
  return client.send('POST', '/rule/test', { body });
}

test('trying a rule: each operation is told, in order, and digits are kept', async () => {
  const operations = [
    SHORTEN,
    { name: 'substr', input_field: 'gone', arguments: { start: 1 } },
    { name: 'parse_json', input_field: 'year', output_field: 'copy' },
    { name: 'parse_json', input_field: 'object', output_field: 'other' },
  ];
  const answer = await tryRule(
    `{"operations":${JSON.stringify(operations)},"input":{"year":"2031","amount":1.10,"object":{"a":[]}}}`,
  );
  expect(answer.text).toContain('"amount":1.10');
  const copied = 'The operation does not support this input, which was copied unchanged.';
  expect(answer.json).toEqual({
    output: { year: '2031', amount: 1.1, object: { a: [] }, short: '31', copy: 2031, other: { a: [] } },
    steps: [
      { name: 'substr', output_field: 'short', skipped: false },
      { name: 'substr', output_field: 'gone', skipped: true, reason: 'The input field does not exist.' },
      { name: 'parse_json', output_field: 'copy', skipped: false },
      { name: 'parse_json', output_field: 'other', skipped: true, reason: copied },
    ],
  });
});

test('trying a rule: a stored rule is tried by its id, with the SDK too, and counts as a request', async () => {
  await account.send('POST', '/rule', { query: { id: 'shorten' }, body: [SHORTEN] });
  const before = await vault.usage(account);
  const { output, steps } = await account.sdk.rules.test({ id: 'shorten', input: { year: '2031' } });
  expect([output, steps.length]).toEqual([{ year: '2031', short: '31' }, 1]);
  const stranger = await vault.account();
  expect((await tryRule({ id: 'shorten', input: {} }, stranger)).outcome).toBe('404 rule_not_found');
  expect((await vault.usage(account))['rule']).toBe((before['rule'] ?? 0) + 1);
});

test('trying a rule: an account that sees numbers masked gets what a capture would store, as it would see it', async () => {
  const masked = await vault.account({ unmasked: false });
  await masked.key('u');
  const operations = [
    { name: 'noop', input_field: 'card.number', output_field: 'card_number' },
    {
      name: 'template',
      input_field: '*',
      output_field: 'text',
      arguments: { template: '<{{card.number}}>' },
    },
  ];
  const input = { card: { number: '4111111111111111' }, cvv: '123' };
  const tried = await tryRule({ operations, input }, masked);
  expect(tried.outcome).toBe('200');
  expect(tried.text).not.toContain('4111111111111111');
  expect(tried.text).not.toContain('"123"');
  await masked.send('POST', '/rule', { query: { id: 'flat' }, body: operations });
  const endpoint = await createCapture(masked, 'u', { rules: 'flat', reference: 'r' });
  const { token } = (await capture(vault, endpoint, { body: input })).as<{ token: string }>();
  const stored = JSON.parse(await masked.open('u', token, { reference: 'r' }));
  expect(tried.as<{ output: object }>().output).toEqual(stored);
});

test('trying a rule: nothing of it is stored or logged', async () => {
  const keys = async () =>
    (await vault.raw.keys('*')).filter((name) => !/\}u:|\{s:|\}m$|\{servers\}/.test(name)).sort();
  const before = await keys();
  const lines = vault.lines.length;
  const secret = 'nobody may read this';
  expect((await tryRule({ operations: [SHORTEN], input: { year: secret } })).outcome).toBe('200');
  expect(await keys()).toEqual(before);
  expect(JSON.stringify(vault.lines.slice(lines))).not.toContain(secret);
});

const WRONG: readonly (readonly [unknown, string, string | undefined])[] = [
  [[], '400 invalid_request', 'body'],
  ['{', '400 invalid_json', 'body'],
  [{ input: {} }, '400 invalid_request', 'body'],
  [{ id: 'a', operations: [SHORTEN], input: {} }, '400 invalid_request', 'body'],
  [{ operations: [SHORTEN] }, '400 invalid_request', 'body.input'],
  [{ operations: [SHORTEN], input: [] }, '400 invalid_request', 'body.input'],
  [{ operations: [], input: {} }, '400 invalid_request', 'body.operations'],
  [{ operations: [{ name: 'nothing' }], input: {} }, '400 invalid_request', 'body.operations[0].name'],
  [{ id: '', input: {} }, '400 invalid_request', 'body.id'],
  [{ id: 'never made', input: {} }, '400 invalid_request', 'body.id'],
  [{ id: 'never-made', input: {} }, '404 rule_not_found', 'body.id'],
  [{ operations: [SHORTEN], inputs: {} }, '400 unknown_parameter', 'body.inputs'],
];
test.each(WRONG)('trying %j is refused', async (body, outcome, field) => {
  const refused = await tryRule(body);
  expect([refused.outcome, refused.field]).toEqual([outcome, field]);
});

test('trying a rule: the limits of rules hold', async () => {
  const operations = Array.from({ length: 64 }, (_, n) => ({
    name: 'format',
    input_field: '*',
    output_field: `m${n}`,
    arguments: { format_string: '%v%v', keys: ['big', 'big'] },
  }));
  expect((await tryRule({ operations, input: { big: 'x'.repeat(100_000) } })).outcome).toBe('400 rule_limit');
});
