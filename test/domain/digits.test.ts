import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  asciiDigits,
  cardDigits,
  hasDigit,
  onlyDigits,
  withoutSeparators,
} from '../../server/domain/card/digits.ts';
import { anyText } from './json/arbitrary.ts';

test('onlyDigits and hasDigit agree with a regular expression', () => {
  fc.assert(
    fc.property(fc.oneof(anyText, fc.stringMatching(/^[0-9 a-]{0,30}$/)), (text) => {
      expect(onlyDigits(text)).toBe(text.replace(/[^0-9]/g, ''));
      expect(hasDigit(text)).toBe(/[0-9]/.test(text));
    }),
  );
});

test.each([
  ['4111 1111-1111 1111', '4111111111111111'],
  ['42', '42'],
  [' 4 2- ', '42'],
  ['', undefined],
  [' - ', undefined],
  ['4111.1111', undefined],
  ['DE89 3704', undefined],
  ['٤١١١', undefined],
  ['4111\u00a01111', undefined],
])('cardDigits of %j is %j', (text, digits) => {
  expect(cardDigits(text)).toBe(digits);
});

test.each(
  Intl.supportedValuesOf('numberingSystem').filter((name) =>
    /^\p{Nd}+$/u.test(new Intl.NumberFormat(`en-u-nu-${name}`, { useGrouping: false }).format(1_023_456_789)),
  ),
)('digits of the numbering system %s are digits', (name) => {
  const shown = new Intl.NumberFormat(`en-u-nu-${name}`, { useGrouping: false }).format(1_023_456_789);
  expect(asciiDigits(shown)).toBe('1023456789');
});

test.each([
  ['4111 1111-1111', '411111111111'],
  ['\u200e4111\u00a0\u202f1111\u2011\u22121111\ufeff', '411111111111'],
  ['4111.1111', '4111.1111'],
])('%j without separators is %j', (text, bare) => {
  expect(withoutSeparators(text)).toBe(bare);
});
