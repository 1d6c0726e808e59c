import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatStoredAt, parseFilterTime } from '../../server/domain/text/time.ts';

describe('parseFilterTime', () => {
  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['2022-08-16T00:00:00Z', 1660608000000],
    ['2024-02-29T23:59:59Z', 1709251199000],
    ['1969-12-31T23:59:59Z', -1000],
    ['0000-01-01T00:00:00Z', -62167219200000],
    ['9999-12-31T23:59:59Z', 253402300799000],
    ['2022-08-16T00:00:00.999999999Z', 1660608000000],
    ['2022-08-16t00:00:00z', 1660608000000],
    ['2022-08-16 00:00:00Z', 1660608000000],
    ['2022-08-16T02:30:00+02:30', 1660608000000],
    ['2022-08-16T02:30:00 02:30', 1660608000000],
    ['2022-08-15T19:00:00.5-05:00', 1660608000000],
  ])('%s is %d', (text, ms) => {
    expect(parseFilterTime(text)).toBe(ms);
  });

  test.each([
    '',
    '2023-02-29T00:00:00Z',
    '2024-02-30T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-01-32T00:00:00Z',
    '2024-01-01T24:00:00Z',
    '2016-12-31T23:59:60Z',
    '2024-01-01T00:00:00',
    '2024-01-01T00:00:00+24:00',
    '2024-01-01T00:00:00+0000',
    '2024-1-1T00:00:00Z',
    '2024-01-01T00:00:00Z\n',
    '+02024-01-01T00:00:00Z',
    '٢٠٢٤-01-01T00:00:00Z',
  ])('%j is refused', (text) => {
    expect(parseFilterTime(text)).toBeUndefined();
  });
});

test('formatStoredAt has milliseconds and reads back', () => {
  expect(formatStoredAt(1709251199007)).toBe('2024-02-29T23:59:59.007Z');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4102444800 }), (seconds) => {
      expect(parseFilterTime(formatStoredAt(seconds * 1000).replace('.000Z', 'Z'))).toBe(seconds * 1000);
    }),
  );
});
