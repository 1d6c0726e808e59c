import { describe, expect, test } from 'bun:test';
import { readConfig } from '../../forms/base/config.ts';
import { hiddenText, NUMBERS, shownText, storedValues } from '../../forms/fields/mask.ts';
import { NUMBER_NAMES } from '../../server/domain/card/number.ts';

function config(given: unknown) {
  return readConfig(JSON.stringify(given));
}
const CARD = { card_number: '4111111111111111', card_holder: 'Ada', expiry: '08/29', cvv: '123', extra: 'x' };

function names(item: Record<string, unknown>, given: unknown): string[] {
  return storedValues(item, config(given)).map(({ name }) => name);
}

describe('what is shown', () => {
  test('of a card its four fields, in their order, and what was added', () => {
    expect(names(CARD, {})).toEqual(['card_number', 'card_holder', 'expiry', 'cvv']);
    expect(names(CARD, { settings: { additional_fields: [{ name: 'extra', label: 'More' }] } })).toEqual([
      'card_number',
      'card_holder',
      'expiry',
      'cvv',
      'extra',
    ]);
  });

  test('nothing that is missing or switched off', () => {
    expect(names({ card_number: '4111111111111111' }, {})).toEqual(['card_number']);
    expect(names(CARD, { settings: { field_options: { cvv: { visible: false } } } })).not.toContain('cvv');
  });

  test('the date of its parts', () => {
    for (const year of [{ expiry_year: '2029' }, { expiry_year_short: '29' }]) {
      const [date] = storedValues({ expiry_month: '8', ...year }, config({}));
      expect(date?.text).toBe('08/29');
    }
    expect(names({ expiry_month: '8' }, {})).toEqual(['expiry_month']);
  });

  test('the number by the names that the service knows', () => {
    expect(NUMBERS).toEqual([...NUMBER_NAMES]);
  });

  const [A, B, C, D] = ['4111111111111111', '**** **** **** 1112', '4111-1111-1111-1113', '411111******1114'];
  test.each([
    [{ number: D, n: C, account_number: B, card_number: A }, A],
    [{ number: D, n: C, account_number: B }, B],
    [{ number: D, n: C, card_number: '' }, C],
    [{ number: D, other: 'x' }, D],
    [{ number: 'x', cvv: '123' }, 'x'],
  ])('the number under any name that it can be stored by: %p', (item, number) => {
    const [shown] = storedValues(item, config({}));
    expect(shown).toEqual({ name: 'card_number', label: undefined, secret: true, text: number });
    expect(names(item, {})).not.toContainAnyValues(['number', 'n', 'account_number', 'other']);
  });

  test.each(['cvc', 'security_code'])('the code stored as %s', (name) => {
    const [, code] = storedValues({ card_number: '4', [name]: '123' }, config({}));
    expect(code).toMatchObject({ name: 'cvv', secret: true, text: '123' });
  });

  test('a bank account as one, in a form for cards too', () => {
    const account = { account_holder: 'Ada', routing_number: '110000000', number: '12345' };
    for (const form_type of ['ach', 'pcd']) {
      expect(names(account, { form_type })).toEqual(['account_number', 'routing_number', 'account_holder']);
    }
    expect(names({ ...account, card_number: '4' }, {})).toEqual(['card_number']);
    const least = { account_number: '000123456789', account_type: 'savings' };
    expect(names(least, {})).toEqual(['account_number', 'account_type']);
  });

  test.each(['pcd', 'ach'])('what is neither with all that it has: %s', (form_type) => {
    const item = { number: '1.10', iban: 'x', none: null, list: ['y'], empty: '' };
    expect(storedValues(item, config({ form_type }))).toEqual([
      { name: 'number', label: 'number', secret: true, text: '1.10' },
      { name: 'iban', label: 'iban', secret: true, text: 'x' },
    ]);
  });

  test('of other data every text and number, or what was added alone', () => {
    const item = { a: 'x', n: '3', list: [1], none: null, card_number: '1' };
    const shown = storedValues(item, config({ form_type: 'custom' }));
    expect(shown.map(({ name, label, text }) => [name, label, text])).toEqual([
      ['a', 'a', 'x'],
      ['n', 'n', '3'],
      ['card_number', undefined, '1'],
    ]);
    const only = (name: string) => ({ form_type: 'custom', settings: { additional_fields: [{ name }] } });
    expect(names(item, only('n'))).toEqual(['n']);
    expect(names(item, only('of another item'))).toEqual([]);
  });

  test('no member that the object only inherits', () => {
    expect(names(Object.create({ card_number: '4111111111111111' }), {})).toEqual([]);
  });
});

describe('how it looks', () => {
  const value = (name: string, text: string) => ({ name, label: undefined, text, secret: true });
  test.each([
    ['card_number', '4111111111111111', '•••• •••• •••• 1111', '4111 1111 1111 1111'],
    ['card_number', '3782 822463 10005', '•••• •••••• •0005', '3782 822463 10005'],
    ['card_number', '411111******1111', '•••• •••• •••• 1111', '411111******1111'],
    ['card_number', '**** **** **** 1111', '•••• •••• •••• 1111', '•••• •••• •••• 1111'],
    ['cvv', '1234', '•••', '1234'],
    ['cvv', '***', '•••', '•••'],
    ['note', 'a * b', '••••••', 'a * b'],
    ['account_number', '000123456789', '•••• 6789', '000123456789'],
    ['account_number', '12345', '••••••', '12345'],
    ['note', 'secret text', '••••••', 'secret text'],
  ])('%s %s', (name, text, hidden, shown) => {
    expect(hiddenText(value(name, text))).toBe(hidden);
    expect(shownText(value(name, text))).toBe(shown);
  });
});
