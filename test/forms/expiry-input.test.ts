import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  editExpiry,
  expiryParts,
  expiryState,
  parseExpiry,
  showExpiry,
} from '../../forms/fields/expiry-input.ts';

/** Types one key after the other at the end; `<` deletes. */
function type(keys: string, start = ''): string {
  let held = start;
  for (const key of keys) {
    const remove = key === '<';
    const value = remove ? held.slice(0, -1) : held + key;
    const kind = remove ? 'deleteContentBackward' : 'insertText';
    held = editExpiry({ before: held, value, caret: value.length, kind }).value;
  }
  return held;
}

function fillIn(value: string, kind = ''): string {
  return editExpiry({ before: '', value, caret: value.length, kind }).value;
}

describe('typing', () => {
  test.each([
    ['0', '0'],
    ['01', '01/'],
    ['0130', '01/30'],
    ['01/30', '01/30'],
    ['1/30', '01/30'],
    ['2', '02/'],
    ['930', '09/30'],
    ['01/2030', '01/30'],
    ['012030', '01/30'],
    ['01305', '01/30'],
    ['ab', ''],
    ['/', ''],
    ['٠١٣٠', '01/30'],
  ])('%s gives %s', (keys, shown) => {
    expect(type(keys)).toBe(shown);
  });
});

describe('deleting', () => {
  test.each([
    ['01/30', '<', '01/3'],
    ['01/', '<', '0'],
    ['0', '<', ''],
    ['01/30', '<<<', '0'],
    ['01/', '<2', '02/'],
  ])('%s and %s gives %s', (start, keys, shown) => {
    expect(type(keys, start)).toBe(shown);
  });

  test('a month can be corrected at its front', () => {
    const value = editExpiry({ before: '01/30', value: '1/30', caret: 0, kind: 'deleteContentBackward' });
    expect(value).toEqual({ value: '1/30', caret: 0 });
    const again = editExpiry({ before: '1/30', value: '11/30', caret: 1, kind: 'insertText' });
    expect(again).toEqual({ value: '11/30', caret: 1 });
  });
});

test.each(['2030-01', '01/2030', '1/30', '0130', '012030', '01/30', '2030-01-31', ' 01/30 '])(
  'filled in or pasted as %j it is 01/30',
  (text) => {
    expect(fillIn(text)).toBe('01/30');
    expect(fillIn(text, 'insertFromPaste')).toBe('01/30');
    expect(fillIn(text, 'insertText')).toBe('01/30');
    expect(parseExpiry(text)).toEqual({ month: 1, year: 2030 });
  },
);

test.each(['', '1', '01/', '13/30', '00/30', '01/3', '01/203', 'ab/cd', '1/2/3'])('%j is no date', (text) => {
  expect(parseExpiry(text)).toBeUndefined();
  expect(expiryParts(text)).toEqual({});
});

test('a date is posted whole and in parts', () => {
  expect(expiryParts('08/29')).toEqual({
    expiry: '08/29',
    expiry_month: '08',
    expiry_year: '2029',
    expiry_year_short: '29',
  });
});

describe('the state of a date', () => {
  const now = new Date(2026, 6, 31);
  test.each([
    ['06/26', 'past'],
    ['07/26', 'good'],
    ['08/26', 'good'],
    ['07/76', 'good'],
    ['08/76', 'far'],
  ] as const)('%s is %s in July 2026', (text, state) => {
    expect(expiryState(parseExpiry(text) ?? { month: 0, year: 0 }, now)).toBe(state);
  });
});

test('every month of the century survives being typed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 2000, max: 2099 }), (month, year) => {
      const shown = showExpiry({ month, year });
      expect(type(shown)).toBe(shown);
      expect(parseExpiry(shown)).toEqual({ month, year });
    }),
  );
});

test('any change leaves at most month, slash and year, with the caret inside', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.nat(12),
      fc.constantFrom('insertText', 'deleteContentBackward', ''),
      (before, value, at, kind) => {
        const shown = editExpiry({ before, value, caret: Math.min(at, value.length), kind });
        expect(shown.value).toMatch(/^\d{0,2}(?:\/\d{0,3})?$/);
        expect(shown.caret).toBeLessThanOrEqual(shown.value.length);
      },
    ),
  );
});
