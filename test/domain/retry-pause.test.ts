import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseRetryAfter, pauseMs, webhookPauseMs } from '../../server/call/outcome.ts';

const NOW = Date.UTC(2026, 0, 31, 12, 0, 0);
const ALMOST_ONE = 1 - 2 ** -53;

const attempts = fc.integer({ min: 1, max: 5000 });
const chance = fc.double({ min: 0, max: ALMOST_ONE, noNaN: true });

describe('a pause', () => {
  test('begins with half a second and doubles, up to the bound', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 9, 16].map((attempt) => pauseMs(attempt, 0));
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 40_000, 40_000, 40_000]);
  });

  test('is lengthened by up to a half', () => {
    const pauses = [1, 2, 7, 8, 16].map((attempt) => pauseMs(attempt, ALMOST_ONE));
    expect(pauses).toEqual([750, 1500, 48_000, 60_000, 60_000]);
    expect(pauseMs(1, 0.5)).toBe(625);
  });

  test('grows until the bound, whatever chance says, and is never over it', () => {
    fc.assert(
      fc.property(attempts, chance, chance, (attempt, one, other) => {
        const [pause, next] = [pauseMs(attempt, one), pauseMs(attempt + 1, other)];
        expect(pause).toBeGreaterThanOrEqual(500);
        expect(next).toBeLessThanOrEqual(60_000);
        expect(Number.isInteger(pause)).toBe(true);
        if (attempt < 7) {
          expect(next).toBeGreaterThan(pause);
        }
      }),
    );
  });

  test('is what the other side asked for where that is more, up to the bound', () => {
    expect(pauseMs(1, 0, 12_345)).toBe(12_345);
    expect(pauseMs(1, 0.5, 0)).toBe(625);
    expect(pauseMs(5, 0.5, 1000)).toBe(10_000);
    expect(pauseMs(1, 0, 60_001)).toBe(60_000);
    expect(pauseMs(16, ALMOST_ONE, Number.POSITIVE_INFINITY)).toBe(60_000);
  });
});

describe('a pause between calls of a webhook', () => {
  test('grows, and the eighth call is about a day after the first', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7].map((attempt) => webhookPauseMs(attempt, 0));
    expect(pauses.slice(0, 3)).toEqual([1_000, 5_000, 30_000]);
    expect(pauses.toSorted((a, b) => a - b)).toEqual(pauses);
    const dayMs = 24 * 60 * 60 * 1_000;
    expect(pauses.reduce((sum, pause) => sum + pause, 0) / dayMs).toBeCloseTo(1, 2);
  });

  test('is lengthened by up to a tenth', () => {
    expect(webhookPauseMs(3, ALMOST_ONE)).toBe(33_000);
  });
});

describe('Retry-After is read', () => {
  test.each([
    ['0', 0],
    ['1', 1000],
    ['007', 7000],
    ['120', 120_000],
    ['9'.repeat(400), Number.POSITIVE_INFINITY],
    ['Sat, 31 Jan 2026 12:00:09 GMT', 9000],
    ['Saturday, 31-Jan-26 12:00:09 GMT', 9000],
    ['Sat Jan 31 12:00:09 2026', 9000],
    ['Sun Feb  1 12:00:00 2026', 86_400_000],
    ['Sat, 31 Jan 2026 11:59:59 GMT', 0],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
  ])('%p', (text, expected) => expect(parseRetryAfter(text, NOW)).toBe(expected));

  test('as every date of the platform', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 9 }), (seconds) => {
        const text = new Date(NOW + seconds * 1000).toUTCString();
        expect(parseRetryAfter(text, NOW)).toBe(seconds * 1000);
      }),
    );
  });
});

describe('Retry-After is no reason to wait', () => {
  test.each([
    ...['', ' ', '-1', '+1', '1.5', '1e3', '0x10', '1 ', ' 1', '1,2', '1s', '٣', '1\n'],
    ...['soon', '2026-01-31T12:00:09Z', '31 Jan 2026 12:00:09 GMT', 'Sat, 31 Jan 2026 12:00:09'],
    ...['Sat, 31 Jan 2026 12:00:09 UTC', 'Sat, 31 Jan 2026 12:00:09 +0000', 'sat, 31 jan 2026 12:00:09 gmt'],
    ...['Sat, 31 Jan 2026 24:00:00 GMT', 'Sat, 31 Foo 2026 12:00:09 GMT', 'Sat, 31 Jan 2026 12:00:09 GMT, 3'],
  ])('%p', (text) => expect(parseRetryAfter(text, NOW)).toBeUndefined());
});
