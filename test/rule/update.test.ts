import { afterAll, describe, expect, test } from 'bun:test';
import { type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

let rulesMade = 0;
let numbers = 0;

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

async function rule(...operations: object[]): Promise<string> {
  rulesMade += 1;
  const id = `rule-${rulesMade}`;
  expect((await account.send('POST', '/rule', { query: { id }, body: operations })).outcome).toBe('200');
  return id;
}
function template(text: string, fields: object = {}): object {
  return {
    name: 'template',
    ...fields,
    arguments: { template: text },
  };
}
function update(token: string, body: unknown, query: Query): Promise<Answer> {
  return account.send('POST', '/vault/update', {
    query: { user: 'u', token, ...query },
    passphrase: PASSPHRASE,
    body,
  });
}
async function newItem(body: object): Promise<string> {
  numbers += 1;
  return account.store('u', { ...body, number: `60110009901394${numbers}` });
}
/** The text that an update with these operations leaves of an object. */
async function updated(stored: object, changes: unknown, ...operations: object[]): Promise<unknown> {
  const token = await newItem(stored);
  const rules = await rule(...operations);
  expect((await update(token, changes, { rules })).outcome).toBe('200');
  const { number: _, ...rest } = JSON.parse(await account.open('u', token));
  return rest;
}

describe('rules of an update', () => {
  test('run after the merge, over the whole object, and what they make is stored', async () => {
    const join = {
      name: 'format',
      output_field: 'both',
      arguments: { format_string: '%v-%v', keys: ['a', 'b'] },
    };
    expect(await updated({ a: 'old', b: 'kept' }, { a: 'new' }, join)).toEqual({
      a: 'new',
      b: 'kept',
      both: 'new-kept',
    });
    const replaced = await updated(
      { deep: { x: 1, y: 2 } },
      { deep: { z: 3 } },
      {
        name: 'stringify',
        input_field: 'deep',
        output_field: 'text',
      },
    );
    expect(replaced).toEqual({ deep: { z: 3 }, text: '{"z":3}' });
  });

  test('show nothing of the data in the reply', async () => {
    const token = await newItem({ a: 'secret-value' });
    const answer = await update(token, {}, { rules: await rule(template('{"b":"{{a}}"}')) });
    expect(Object.keys(answer.as<object>())).toEqual(['token', 'user', 'stored_at', 'created']);
    expect(answer.text).not.toContain('secret-value');
  });

  test('keep codes as codes: what a rule leaves under their names is still theirs', async () => {
    expect(
      await updated(
        { cvv: '123' },
        { cvv: '456' },
        { name: 'noop', input_field: 'cvv', output_field: 'card.cvc' },
      ),
    ).toEqual({ cvv: '456', card: { cvc: '456' } });
  });
});

describe('the four number fields', () => {
  const stored = { card_number: '4242424242424242', n: '1', account_number: 7, note: 'x' };
  const cases: readonly (readonly [string, object[]])[] = [
    ['a write', [{ name: 'noop', input_field: 'note', output_field: 'card_number' }]],
    ['members below it', [{ name: 'noop', input_field: 'note', output_field: 'card_number.x' }]],
    ['a template that drops them all', [template('{"note":"{{note}}"}')]],
    [
      'a template that changes them all',
      [template('{"card_number":null,"n":[],"account_number":{},"note":"x"}')],
    ],
  ];
  test.each(cases)('survive %s', async (_, operations) => {
    expect(await updated(stored, { n: '9', card_number: '9' }, ...operations)).toMatchObject({
      card_number: '4242424242424242',
      n: '1',
      account_number: 7,
    });
  });

  test('are not brought in where there were none, by no operation', async () => {
    for (const operations of [
      [{ name: 'noop', input_field: 'note', output_field: 'card_number' }],
      [template('{"note":"{{note}}","account_number":"1","n":2}')],
      [{ name: 'noop', input_field: 'note', output_field: 'n.deep' }],
    ]) {
      expect(Object.keys(Object(await updated({ note: 'x' }, {}, ...operations)))).toEqual(['note']);
    }
  });

  test('stay the token’s: it opens the same number after all of it', async () => {
    const token = await account.store('u', { number: '378282246310005', note: 'x' });
    await update(token, { number: '1' }, { rules: await rule(template('{"number":"2","note":"y"}')) });
    expect(await account.open('u', token)).toBe('{"number":"378282246310005","note":"y"}');
    expect(await account.store('u', { number: '378282246310005' })).toBe(token);
  });
});

describe('an update that its rules spoil', () => {
  const stateOf = async (token: string): Promise<unknown> => {
    const { log: _, rule: __, api_requests: ___, decrypt: ____, ...usage } = await vault.usage(account);
    const { data } = await account.sdk.vault.log({ user: 'u', token });
    const log = data.filter(({ outcome }) => outcome === 'ok');
    const [item] = (await account.sdk.vault.list({ user: 'u', token })).data['u'] ?? [];
    return [
      log.filter(({ action }) => action === 'encrypt').length,
      item,
      usage['update'],
      await account.open('u', token),
    ];
  };

  test('by a missing rule changes, logs and counts nothing', async () => {
    const token = await newItem({ a: 1 });
    const here = await rule(template('{"a":2}'));
    const before = await stateOf(token);
    for (const rules of ['missing', `${here},missing`]) {
      expect((await update(token, { b: 1 }, { rules })).outcome).toBe('404 rule_not_found');
    }
    expect(await stateOf(token)).toEqual(before);
  });

  test('by growing the object over its size or the bounds of rules changes nothing', async () => {
    const token = await newItem({ text: 'x'.repeat(100_000) });
    const grow = (new_str: string) => ({
      name: 'replace',
      input_field: 'text',
      arguments: { substr: 'x', new_str },
    });
    const [three, many] = [await rule(grow('xxx')), await rule(grow('x'.repeat(20)))];
    const before = await stateOf(token);
    expect((await update(token, { b: 1 }, { rules: three })).outcome).toBe('413 body_too_large');
    expect((await update(token, { b: 1 }, { rules: many })).outcome).toBe('400 rule_limit');
    expect(await stateOf(token)).toEqual(before);
    expect((await update(token, { text: 'x'.repeat(80_000) }, { rules: three })).outcome).toBe('200');
    expect(JSON.parse(await account.open('u', token)).text).toHaveLength(240_000);
  });
});
