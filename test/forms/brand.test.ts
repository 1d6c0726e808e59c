import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { brandName, brandOf, codeLengthsOf, gapsOf, lengthsOf } from '../../forms/fields/brand.ts';
import { BRAND_STRETCHES, cardBrand } from '../../server/domain/card/brand.ts';

test('at both ends of every stretch it is what the service says', () => {
  const starts = BRAND_STRETCHES.flatMap(({ start }) => [start - 1, start]).filter((start) => start >= 0);
  for (const start of [...starts, 99_999_999]) {
    const digits = String(start).padStart(8, '0');
    expect([digits, brandOf(digits)]).toEqual([digits, cardBrand(digits) ?? '']);
  }
});

test('of any eight to nineteen digits it is what the service says', () => {
  const number = fc.stringMatching(/^[2-6]\d{7,18}$/);
  fc.assert(fc.property(number, (digits) => brandOf(digits) === (cardBrand(digits) ?? '')));
});

test('of up to four digits as well', () => {
  for (let lead = 0; lead < 10_000; lead++) {
    const digits = String(lead);
    expect(brandOf(digits)).toBe(cardBrand(digits) ?? '');
  }
});

describe('shapes', () => {
  test.each([
    ['visa', [16, 18, 19], [4, 8, 12], [3]],
    ['american-express', [15], [4, 10], [4]],
    ['mastercard', [16], [4, 8, 12], [3]],
  ])('%s', (brand, lengths, gaps, code) => {
    expect(lengthsOf(brand)).toEqual(lengths);
    expect(gapsOf(brand).slice(0, 3)).toEqual(gaps);
    expect(codeLengthsOf(brand)).toEqual(code);
  });

  test('an unknown network may be anything that a card can be', () => {
    expect(lengthsOf('')).toEqual([12, 13, 14, 15, 16, 17, 18, 19]);
    expect(codeLengthsOf('')).toEqual([3, 4]);
  });
});

test('no digits have no network, and every network has a name', () => {
  expect(brandOf('')).toBe('');
  expect(brandName('american-express')).toBe('American Express');
  expect(brandName('troy')).toBe('Troy');
});
