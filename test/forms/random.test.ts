import { expect, test } from 'bun:test';
import { type FillRandom, newKey, shuffle } from '../../forms/fields/random.ts';

const DIGITS = [...'0123456789'];

/** Random bytes that are these, in turn. */
function fixed(...bytes: number[]): FillRandom {
  return (target) => target.map(() => bytes.shift() ?? 0);
}

test('every item comes once', () => {
  for (let round = 0; round < 100; round++) {
    expect(shuffle(DIGITS).sort()).toEqual(DIGITS);
  }
});

test('bytes that would favour some items are thrown away', () => {
  // 256 is no multiple of 3: 255 stands for none of three items.
  expect(shuffle(['a', 'b', 'c'], fixed(255, 2, 0, 0))).toEqual(['c', 'a', 'b']);
  expect(shuffle(['a', 'b', 'c'], fixed(254, 0, 0))).toEqual(['c', 'a', 'b']);
});

test('each digit is as likely in each place', () => {
  const rounds = 10_000;
  const first = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    const digit = shuffle(DIGITS)[0] ?? '';
    first.set(digit, (first.get(digit) ?? 0) + 1);
  }
  // Ten standard deviations around the mean of 1,000: a fair shuffle never leaves them.
  for (const digit of DIGITS) {
    expect(Math.abs((first.get(digit) ?? 0) - rounds / 10)).toBeLessThan(300);
  }
});

test('keys are 128 bits in hex, and never the same', () => {
  expect(newKey()).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(Array.from({ length: 1000 }, () => newKey())).size).toBe(1000);
});
