import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DURATION_MS_MAX, parseDuration } from '../../server/domain/text/time.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('a duration is read', () => {
  const table: ReadonlyArray<readonly [string, number | 'forever']> = [
    ['45m', 45 * MINUTE],
    ['24h60m60s', 25 * HOUR + MINUTE],
    ['1h30m', 90 * MINUTE],
    ['90s', 90 * SECOND],
    ['05m', 5 * MINUTE],
    ['2d', 2 * DAY],
    ['1w', 7 * DAY],
    ['1w1d1h1m1s', 8 * DAY + HOUR + MINUTE + SECOND],
    ['0h5m', 5 * MINUTE],
    ['PT10M', 10 * MINUTE],
    ['P1D', DAY],
    ['P1W', 7 * DAY],
    ['P1M', 30 * DAY],
    ['P1Y', 365 * DAY],
    ['P1DT12H', 36 * HOUR],
    ['PT36H', 36 * HOUR],
    ['P400D', 400 * DAY],
    ['P10Y', 3650 * DAY],
    ['3653d', DURATION_MS_MAX],
    ...['0', '0s', 'P0T', 'P0T0', 'PT0S', 'P0D', '0m', '0h0m0s', 'P0Y', 'P0DT0H'].map(
      (text) => [text, 'forever'] as const,
    ),
  ];
  test.each(table)('%s', (text, expected) => expect(parseDuration(text)).toBe(expected));
});

describe('a duration is refused', () => {
  const table = [
    ...['', ' ', '1', '-1h', '-PT1H', '-0', '1.5h', 'PT0.5S', '1e3s'],
    ...['1h ', ' 1h', '1 h', '1h 30m', '1m1h', '1s1m', 'h', '1ms', '1H', '0x10s'],
    ...['P', 'PT', 'P1', 'PT1D', 'P1DT', 'p1d', 'PT1H1D', 'P1D1W', 'P0T1'],
    ...['P1D1h', '1hPT5M', 'P1h', 'PT5m', '1h5M', 'forever', 'never', 'null', 'NaN', 'Infinity', '٣h', '１h'],
    ...['3653d1s', 'P11Y', '87673h', '999999999999w', '0000000000001s', `${'9'.repeat(400)}s`],
  ];
  test.each(table)('%j', (text) => expect(parseDuration(text)).toBeUndefined());
});

describe('for all durations', () => {
  const count = fc.nat({ max: 500 });

  test('both notations mean the same', () => {
    fc.assert(
      fc.property(count, count, count, count, (days, hours, minutes, seconds) => {
        const expected = days * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND || 'forever';
        expect(parseDuration(`${days}d${hours}h${minutes}m${seconds}s`)).toBe(expected);
        expect(parseDuration(`P${days}DT${hours}H${minutes}M${seconds}S`)).toBe(expected);
      }),
    );
  });

  test('an accepted text is never out of range, whatever it holds', () => {
    const characters = fc.constantFrom(...'0123456789PTYMWDHSdhmsw.,-+ ');
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 12 }), (text) => {
        const parsed = parseDuration(text);
        if (parsed === undefined || parsed === 'forever') {
          return;
        }
        expect(parsed).toBeGreaterThanOrEqual(SECOND);
        expect(parsed).toBeLessThanOrEqual(DURATION_MS_MAX);
        expect(text).toMatch(/^[0-9PTYMWDHSdhmsw]+$/);
      }),
      { numRuns: 2000 },
    );
  });
});
