import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../sdk/index.ts';
import { type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const BYTES_MAX = 262_144;

let numbers = 1_000_000;

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

/** An item with a number of its own; the text is put behind the number's member. */
function newItem(rest = '', query: Query = {}): Promise<string> {
  numbers += 1;
  return account.store('u', `{"number":"${numbers}"${rest === '' ? '' : `,${rest}`}}`, query);
}
function update(token: string, body: unknown, query: Query = {}, passphrase = PASSPHRASE): Promise<Answer> {
  return account.send('POST', '/vault/update', { query: { user: 'u', token, ...query }, passphrase, body });
}
/** The item's text behind its number. */
async function rest(token: string, query: Query = {}): Promise<string> {
  return (await account.open('u', token, query)).replace(/^\{"number":"\d+",?/, '{');
}

describe('merging', () => {
  const merges: readonly (readonly [string, string, string, string])[] = [
    ['a given one takes the old one’s place', '"a":1,"b":2', '{"a":3}', '{"a":3,"b":2}'],
    [
      'every digit stays',
      '"a":1.10,"b":9007199254740993',
      '{"c":1e400}',
      '{"a":1.10,"b":9007199254740993,"c":1e400}',
    ],
  ];
  test.each(merges)('%s', async (_, stored, changes, merged) => {
    const token = await newItem(stored);
    expect((await update(token, changes)).outcome).toBe('200');
    expect(await rest(token)).toBe(merged);
  });
});

describe('the number', () => {
  test('cannot be changed under any of its names', async () => {
    const token = await newItem('"a":1');
    const before = await account.open('u', token);
    for (const name of ['card_number', 'account_number', 'n', 'number']) {
      for (const value of ['4111111111111111', 4_111, null, { x: 1 }]) {
        expect((await update(token, { [name]: value })).outcome).toBe('200');
      }
    }
    expect(await account.open('u', token)).toBe(before);
  });

  test('is not added to an item that was stored without one', async () => {
    const token = await account.store('u', { a: 1 }, { number: '999000' });
    await update(token, { number: '1', card_number: '2', b: 2 });
    expect(await account.open('u', token)).toBe('{"a":1,"b":2}');
    expect(await account.store('u', { number: '999000' })).toBe(token);
  });

  test('below the first level is data like any', async () => {
    const token = await newItem();
    await update(token, { card: { number: '4111', n: 1 }, pan: '4111' });
    expect(await rest(token)).toBe('{"card":{"number":"4111","n":1},"pan":"4111"}');
  });
});

describe('what it answers and moves', () => {
  test('is the token’s info, with the time of the update, and the item’s new place', async () => {
    await account.key('moves');
    const tokens = [];
    for (const number of ['1', '2', '3']) {
      tokens.push(await account.store('moves', { number }, { reference: 'r' }));
    }
    const before = (await account.sdk.vault.list({ user: 'moves' })).data['moves'] ?? [];
    const [first = ''] = tokens;
    const info = await account.sdk.vault.update({
      user: 'moves',
      token: first,
      reference: 'r',
      data: { a: 1 },
    });
    expect(info).toEqual({
      ...{ token: first, user: 'moves', reference: 'r' },
      ...{ stored_at: info.stored_at, created: false, version: info.version },
    });
    const was = before.find(({ token }) => token === first)?.stored_at ?? '';
    expect(Date.parse(info.stored_at)).toBeGreaterThan(Date.parse(was));
    const after = (await account.sdk.vault.list({ user: 'moves' })).data['moves'] ?? [];
    expect(after.map(({ token }) => token)).toEqual([
      ...before.filter(({ token }) => token !== first).map(({ token }) => token),
      first,
    ]);
    expect(after.at(-1)?.stored_at).toBe(info.stored_at);
    const found = await account.send('GET', '/vault', { query: { user: 'moves', reference: 'r' } });
    expect(found.as<Tree>()['moves']).toEqual(after);
  });
});

describe('size', () => {
  test('is measured again after the merge', async () => {
    const token = await newItem('"a":""');
    const { length } = await account.open('u', token);
    const room = BYTES_MAX - length;
    const fitting = JSON.stringify({ a: 'x'.repeat(room) });
    expect((await update(token, fitting)).outcome).toBe('200');
    expect((await account.open('u', token)).length).toBe(BYTES_MAX);
    expect((await update(token, { b: '' })).outcome).toBe('413 body_too_large');
    expect((await update(token, { a: 'x'.repeat(room + 1) })).outcome).toBe('413 body_too_large');
    expect((await account.open('u', token)).length).toBe(BYTES_MAX);
    expect((await update(token, { a: '', b: 'x' })).outcome).toBe('200');
    expect(await rest(token)).toBe('{"a":"","b":"x"}');
  });

  test('of what is sent has the same limit', async () => {
    const token = await newItem();
    expect((await update(token, { a: 'x'.repeat(BYTES_MAX) })).outcome).toBe('413 body_too_large');
  });
});

test('verification codes are added, replaced and kept', async () => {
  const token = await newItem('"a":1');
  await update(token, { cvv: '111', deep: { pin: '1' } });
  expect(await rest(token)).toBe('{"a":1,"cvv":"111","deep":{"pin":"1"}}');
  await update(token, { a: 2 });
  expect(await rest(token)).toBe('{"a":2,"cvv":"111","deep":{"pin":"1"}}');
  await update(token, { cvv: '222', deep: {} });
  expect(await rest(token)).toBe('{"a":2,"cvv":"222","deep":{}}');
  await update(token, { cvv: null });
  expect(await rest(token)).toBe('{"a":2,"cvv":null,"deep":{}}');
});

describe('refusals', () => {
  let token: string;
  let named: string;
  beforeAll(async () => {
    token = await newItem('"a":1');
    named = await newItem('"a":1', { reference: 'r' });
  });

  const refused: readonly (readonly [string, () => Promise<Answer>, string])[] = [
    ['a wrong passphrase', () => update(token, { a: 2 }, {}, 'not the passphrase'), '403 passphrase_wrong'],
    ['an unknown token', () => update('nothing', { a: 2 }), '404 token_not_found'],
    ['a reference that is missing', () => update(named, { a: 2 }), '400 reference_required'],
    ['a wrong reference', () => update(named, { a: 2 }, { reference: 's' }), '404 token_not_found'],
    ['a reference too many', () => update(token, { a: 2 }, { reference: 'r' }), '404 token_not_found'],
    ['an unknown key', () => update(token, { a: 2 }, { user: 'nobody' }), '404 key_not_found'],
    ['an unknown rule', () => update(token, { a: 2 }, { rules: 'x' }), '404 rule_not_found'],
    ['no object', () => update(token, '[]'), '400 invalid_request'],
  ];
  test.each(refused)('%s changes nothing', async (_, attempt, outcome) => {
    expect((await attempt()).outcome).toBe(outcome);
    expect(await rest(token)).toBe('{"a":1}');
    expect(await rest(named, { reference: 'r' })).toBe('{"a":1}');
  });
});
