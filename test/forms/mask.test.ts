import { describe, expect, test } from 'bun:test';
import { readConfig } from '../../forms/config.ts';
import { hiddenText, shownText, storedValues } from '../../forms/mask.ts';

const config = (given: unknown) => readConfig(JSON.stringify(given));
const CARD = { card_number: '4111111111111111', card_holder: 'Ada', expiry: '08/29', cvv: '123', extra: 'x' };

const names = (item: Record<string, unknown>, given: unknown): string[] =>
  storedValues(item, config(given)).map(({ name }) => name);

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
    const [date] = storedValues({ expiry_month: '8', expiry_year: 2029 }, config({}));
    expect(date?.text).toBe('08/29');
  });

  test('of other data every text and number, or what was added alone', () => {
    const item = { a: 'x', n: 3, list: [1], none: null, card_number: '1' };
    const shown = storedValues(item, config({ form_type: 'custom' }));
    expect(shown.map(({ name, label, text }) => [name, label, text])).toEqual([
      ['a', 'a', 'x'],
      ['n', 'n', '3'],
      ['card_number', undefined, '1'],
    ]);
    expect(names(item, { form_type: 'custom', settings: { additional_fields: [{ name: 'n' }] } })).toEqual([
      'n',
    ]);
  });

  test('no member that the object only inherits', () => {
    expect(names(Object.create({ card_number: '4111111111111111' }), {})).toEqual([]);
  });
});

describe('how it looks', () => {
  const value = (name: string, text: string) => ({ name, text, secret: true });
  test.each([
    ['card_number', '4111111111111111', '•••• •••• •••• 1111', '4111 1111 1111 1111'],
    ['card_number', '3782 822463 10005', '•••• •••••• •0005', '3782 822463 10005'],
    ['card_number', '411111******1111', '•••• •••• •••• 1111', '411111******1111'],
    ['cvv', '1234', '•••', '1234'],
    ['account_number', '000123456789', '•••• 6789', '000123456789'],
    ['account_number', '12345', '••••••', '12345'],
    ['note', 'secret text', '••••••', 'secret text'],
  ])('%s %s', (name, text, hidden, shown) => {
    expect(hiddenText(value(name, text))).toBe(hidden);
    expect(shownText(value(name, text))).toBe(shown);
  });
});
