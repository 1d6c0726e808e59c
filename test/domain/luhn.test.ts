import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { luhnCheckDigit, passesLuhn } from '../../server/domain/card/luhn.ts';

describe('passesLuhn', () => {
  test.each([
    ['4111111111111111', true],
    ['4111111111111112', false],
    ['378282246310005', true],
    ['79927398713', true],
    ['79927398710', false],
    ['0', true],
    ['00', true],
    ['', false],
    ['4111 1111 1111 1111', false],
    ['411111111111111a', false],
    ['٤١١١١١١١١١١١١١١١', false],
    ['-18', false],
  ])('%j: %p', (digits, expected) => {
    expect(passesLuhn(digits)).toBe(expected);
  });

  test('exactly one check digit fits, and every single changed digit shows', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[0-9]{1,40}$/),
        fc.nat(),
        fc.integer({ min: 1, max: 9 }),
        (body, place, by) => {
          const whole = body + luhnCheckDigit(body);
          expect([...'0123456789'].filter((digit) => passesLuhn(body + digit))).toEqual([whole.slice(-1)]);
          const at = place % whole.length;
          const changed = (Number(whole[at]) + by) % 10;
          expect(passesLuhn(whole.slice(0, at) + changed + whole.slice(at + 1))).toBe(false);
        },
      ),
    );
  });
});

test('luhnCheckDigit refuses other characters', () => {
  expect(luhnCheckDigit('7992739871')).toBe('3');
  expect(() => luhnCheckDigit('12a')).toThrow(RangeError);
});
