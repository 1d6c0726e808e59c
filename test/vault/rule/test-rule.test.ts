/** Trying a rule: what it makes of an input, and what became of each operation, with nothing kept. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { AccountClient, Answer } from '../../helpers/clients.ts';
import { capture, createCapture } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const SHORTEN = { name: 'substr', input_field: 'year', output_field: 'short', arguments: { start: -2 } };

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

function tryRule(body: unknown, client = account): Promise<Answer> {
  return client.send('POST', '/rule/test', { body });
}

test('each operation is told, in order, and digits are kept', async () => {
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

test('a stored rule is tried by its id, with the SDK too, and counts as a request', async () => {
  await account.send('POST', '/rule', { query: { id: 'shorten' }, body: [SHORTEN] });
  const before = await vault.usage(account);
  const { output, steps } = await account.sdk.rules.test({ id: 'shorten', input: { year: '2031' } });
  expect([output, steps.length]).toEqual([{ year: '2031', short: '31' }, 1]);
  const stranger = await vault.account();
  expect((await tryRule({ id: 'shorten', input: {} }, stranger)).outcome).toBe('404 rule_not_found');
  expect((await vault.usage(account))['rule']).toBe((before['rule'] ?? 0) + 1);
});

test('an account that sees numbers masked gets what a capture would store, as it would see it', async () => {
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

test('nothing of it is stored or logged', async () => {
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
  ['{', '400 invalid_json', undefined],
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
test.each(WRONG)('%j is refused', async (body, outcome, field) => {
  const refused = await tryRule(body);
  expect([refused.outcome, refused.field]).toEqual([outcome, field]);
});

test('the limits of rules hold', async () => {
  const operations = Array.from({ length: 64 }, (_, n) => ({
    name: 'format',
    input_field: '*',
    output_field: `m${n}`,
    arguments: { format_string: '%v%v', keys: ['big', 'big'] },
  }));
  expect((await tryRule({ operations, input: { big: 'x'.repeat(100_000) } })).outcome).toBe('400 rule_limit');
});
