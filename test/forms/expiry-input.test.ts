import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  editExpiry,
  expiryParts,
  expiryState,
  parseExpiry,
  showExpiry,
} from '../../forms/fields/expiry-input.ts';
import { checkExpiry } from '../../forms/fields/validate.ts';

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

test.each([
  // Of people, and of browsers that look at the placeholder.
  ...['01/30', ' 01/30 ', '1/30', '01 / 30', '01-30', '01.30', '01 30', '01\u201330', '01\uff0f30', "01/'30"],
  ...['01/2030', '1/2030', '01 - 2030', '01.2030', '1. 2030', '0130', '012030'],
  // Of the standard for forms (a month of ISO 8601), of dates and of times.
  ...[
    '2030-01',
    '2030/01',
    '2030/1',
    '203001',
    '2030-01-31',
    '20300131',
    '2030-01-01',
    '2030-01-31T23:59:59Z',
  ],
  ...['2030-01-31 00:00:00', '31.01.2030', '31/1/2030', '01/31/2030', '01/01/2030'],
  // Of password managers and voices.
  ...[
    'January 2030',
    'January,2030',
    'Jan 30',
    'JAN-2030',
    "Jan '30",
    '2030 January',
    'Jan 31, 2030',
    '1 Jan 2030',
  ],
  ...['Januar 2030', '31. Januar 2030', 'janv. 2030', 'janvier 2030', 'enero de 2030', 'ene 30'],
  ...['\u064a\u0646\u0627\u064a\u0631 2030', '2030\u5e741\u6708', '\u0660\u0661/\u0663\u0660'],
  // With a label and marks of direction.
  ...['Exp: 01/30', 'valid thru 01/30', 'EXP 0130', '\u200e01/30\u200e', '\u202a01\u202c/\u202a30\u202c'],
])('filled in or pasted as %j it is 01/30', (text) => {
  expect(fillIn(text)).toBe('01/30');
  expect(fillIn(text, 'insertFromPaste')).toBe('01/30');
  expect(fillIn(text, 'insertText')).toBe('01/30');
  expect(parseExpiry(text)).toEqual({ month: 1, year: 2030 });
});

test.each(['', '1', '01/', '13/30', '00/30', '01/3', '01/203', 'ab/cd', '1/2/3'])('%j is no date', (text) => {
  expect(parseExpiry(text)).toBeUndefined();
  expect(expiryParts(text)).toEqual({});
});

test.each([
  // Other centuries, of which two digits would make this one.
  ...['01/1930', '01/2130', '1930-01'],
  // A day or a month.
  ...['01/02/2030', '12.11.2030', '39 Dec', 'Dec 12 39', 'Dec 1930'],
  // A month that does not exist, and more than a date.
  ...[
    '1325',
    '13/2030',
    '203013',
    '2030-13-01',
    '01/30 123',
    '01/2030 123',
    '01/20301',
    'Q1 2030',
    '01/30x',
    '2039',
  ],
  ...['hello', 'Dec', '4111 1111 1111 1111'],
])('%j that came at once stays, and is an error', (text) => {
  for (const kind of ['', 'insertFromPaste', 'insertText']) {
    expect(fillIn(text, kind)).toBe(text);
  }
  expect(checkExpiry(text, new Date(2026, 6))).toBe('expiry_bad');
});

test('the abbreviations of all months in all languages are understood', () => {
  for (const language of ['en', 'de', 'fr', 'es', 'ar']) {
    const { format } = new Intl.DateTimeFormat(language, { month: 'long' });
    for (let month = 1; month <= 12; month++) {
      const name = format(new Date(2030, month - 1));
      expect(parseExpiry(`${name} 2030`)).toEqual({ month, year: 2030 });
      if (name.length > 4) {
        expect(parseExpiry(`${name.slice(0, 4)}. 2030`)).toEqual({ month, year: 2030 });
      }
    }
  }
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

test('any change leaves at most month, slash and year, or a text that is an error, with the caret inside', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.nat(12),
      fc.constantFrom('insertText', 'deleteContentBackward', ''),
      (before, value, at, kind) => {
        const shown = editExpiry({ before, value, caret: Math.min(at, value.length), kind });
        if (!/^\d{0,2}(?:\/\d{0,3})?$/.test(shown.value)) {
          expect(shown.value).toBe(value);
          expect(parseExpiry(value)).toBeUndefined();
        }
        expect(shown.caret).toBeLessThanOrEqual(shown.value.length);
      },
    ),
  );
});
