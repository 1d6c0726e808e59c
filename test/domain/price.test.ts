import { describe, expect, test } from 'bun:test';
import { addMoney, formatMoney, NO_MONEY, parseMoney, timesMoney } from '../../server/usage/price.ts';

describe('prices', () => {
  test.each(['0', '7', '0.0020', '0.00000001', '999999999.99999999', '10.10'])(
    '%s is kept as it is',
    (text) => {
      expect(formatMoney(parseMoney(text))).toBe(text);
    },
  );

  test.each([
    ['0.1', 3, '0.3'],
    ['0.0020', 3, '0.0060'],
    ['0.0020', 0, '0.0000'],
    ['0.07', 100, '7.00'],
    ['0.00000001', 9_007_199_254_740_991, '90071992.54740991'],
    ['999999999.99999999', 9_007_199_254_740_991, '9007199254740990909928007.45259009'],
    ['1', 12, '12'],
  ])('%s times %d is %s', (price, count, expected) => {
    expect(formatMoney(timesMoney(parseMoney(price), count))).toBe(expected);
  });

  test('sums are exact, whatever the decimals', () => {
    const sum = (texts: readonly string[]): string =>
      formatMoney(texts.map(parseMoney).reduce(addMoney, NO_MONEY));
    expect(sum([])).toBe('0');
    expect(sum(['0.1', '0.2'])).toBe('0.3');
    expect(sum(['1', '0.0001', '2.5'])).toBe('3.5001');
    expect(sum(Array.from({ length: 1_000 }, () => '0.001'))).toBe('1.000');
  });
});
