import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { compact, createEdit, plainDigits } from '../../forms/fields/digits.ts';
import { editNumber, groupNumber, isCardNumber, pickNumber } from '../../forms/fields/number-input.ts';
import { checkCardNumber } from '../../forms/fields/validate.ts';
import { changeIn, checkAnyChange } from './change.ts';

const change = changeIn(editNumber);

describe('groups', () => {
  test.each([
    ['4111111111111111', '4111 1111 1111 1111'],
    ['4111', '4111'],
    ['378282246310005', '3782 822463 10005'],
    ['30569309025904', '3056 930902 5904'],
    ['6304000000000000000', '6304 0000 0000 0000 000'],
    ['', ''],
  ])('%s is written %s', (digits, shown) => {
    expect(groupNumber(digits)).toBe(shown);
  });
});

describe('the caret', () => {
  test.each([
    ['at the end', '411|', '4111|', 'insertText', '4111|'],
    ['over a gap', '4111|', '41111|', 'insertText', '4111 1|'],
    ['in the middle', '4111 11|11', '4111 112|11', 'insertText', '4111 112|1 1'],
    ['before a gap, where it moves on', '411|1 1111', '4115|1 1111', 'insertText', '4115 |1111 1'],
    ['deleting back', '4111 1|', '4111 |', 'deleteContentBackward', '4111|'],
    [
      'deleting a gap takes the digit before it',
      '4111 |1234',
      '4111|1234',
      'deleteContentBackward',
      '411|1 234',
    ],
    [
      'deleting a gap forward takes the digit after it',
      '4111| 1234',
      '4111|1234',
      'deleteContentForward',
      '4111| 234',
    ],
    ['deleting in the middle', '4111 12|34', '4111 1|34', 'deleteContentBackward', '4111 1|34'],
    ['deleting a gap at the start takes nothing', '| 411', '|411', 'deleteContentBackward', '|411'],
  ])('%s', (_, before, replaced, kind, shown) => {
    expect(change(before, replaced, kind)).toBe(shown);
  });

  test('a digit typed into a full number is not taken', () => {
    expect(change('5555 5|555 5555 4444', '5555 59|555 5555 4444', 'insertText')).toBe(
      '5555 5|555 5555 4444',
    );
  });

  test('letters are not taken', () => {
    expect(change('4111|', '4111x|', 'insertText')).toBe('4111|');
  });

  test.each(['insertFromPaste', 'insertFromDrop', 'insertReplacementText', 'insertText', ''])(
    'too many digits that came at once (%p) stay, and are an error',
    (kind) => {
      const shown = change('|', '55555555555544449999|', kind);
      expect(shown).toBe('5555 5555 5555 4444 9999|');
      expect(checkCardNumber(shown.replace('|', ''))).toBe('number_bad');
    },
  );

  test.each([
    'DE89370400440532013000',
    'BE68539007547034',
    '4111111111111111X',
    '4.111111111111111e15',
    '4.11111E+015',
    '4111 1111 1111 111O',
    '4111********1111',
  ])('%s that came at once stays, and is an error', (text) => {
    expect(change('|', `${text}|`, 'insertFromPaste')).toBe(`${text}|`);
    expect(checkCardNumber(text)).toBe('number_bad');
    // It is not made a number by the next key either.
    expect(change(`${text}|`, `${text}1|`, 'insertText')).toBe(`${text}1|`);
  });

  test('a number in a text that came at once is taken', () => {
    expect(change('|', 'Card 4111-1111-1111-1111|', 'insertFromDrop')).toBe('4111 1111 1111 1111|');
  });
});

describe('what is pasted', () => {
  test.each([
    ['4111-1111-1111-1111'],
    [' 4111 1111 1111 1111\n'],
    ['４１１１　１１１１　１１１１　１１１１'],
    ['۴۱۱۱۱۱۱۱۱۱۱۱۱۱۱۱'],
    ['4111 1111 1111 1111 12/29 123'],
    ['4111111111111111,2029-12,123'],
    ['Card: 4111 1111 1111 1111, exp. 12/2029, CVV 123'],
    ['1. 4111 1111 1111 1111'],
    ['Order 1001 of 03.05.2029, card 4111 1111 1111 1111, 12/29'],
  ])('%j is the number in it', (text) => {
    expect(pickNumber(text)).toBe('4111111111111111');
  });

  test('one whose network nobody knows, when there is nothing else', () => {
    expect(pickNumber('0000 0000 0000 0000 12/29')).toBe('0000000000000000');
  });

  test('the first 50 runs of digits are looked at, so that a book is pasted at once', () => {
    const book = '1 23 456 '.repeat(200_000);
    expect(pickNumber(`4111111111111111 ${book}`)).toBe('4111111111111111');
    expect(pickNumber(`${book} 4111111111111111`)).toBeUndefined();
  });

  test.each(['', 'hello', '4111', '4111 1111 1111 1112', '12/29'])('%j is no number', (text) => {
    expect(pickNumber(text)).toBeUndefined();
  });
});

test('any change leaves digits in groups, or a text that is an error', () => {
  checkAnyChange(editNumber, (value, shown) => {
    if (/^(?:\d[\d ]*\d|\d?)$/.test(shown)) {
      expect(shown).toBe(groupNumber(compact(shown)));
    } else {
      expect(shown).toBe(value);
      expect(checkCardNumber(value)).toBe('number_bad');
    }
  });
});

test('digits that came at once are all there', () => {
  const digits = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 30 }).map((list) => list.join(''));
  fc.assert(
    fc.property(digits, (value) => {
      const shown = editNumber({ before: '', value, caret: value.length, kind: '' });
      expect(compact(shown.value)).toBe(value);
    }),
  );
});

test.each([
  ['4111111111111111', true],
  ['4111111111111112', false],
  ['411111111111111', false],
  ['378282246310005', true],
  ['0000000000000000', true],
  ['', false],
])('%s is a whole card number: %p', (digits, whole) => {
  expect(isCardNumber(digits)).toBe(whole);
});

test('a field of plain digits keeps its place too', () => {
  const edit = plainDigits(() => 3);
  expect(edit({ before: '12', value: '1x2', caret: 2, kind: 'insertText' })).toEqual({
    value: '12',
    caret: 1,
  });
  expect(edit({ before: '123', value: '1423', caret: 2, kind: 'insertText' })).toEqual({
    value: '123',
    caret: 1,
  });
  for (const value of ['12345', '12a']) {
    const { length } = value;
    expect(edit({ before: '', value, caret: length, kind: 'insertFromPaste' })).toEqual({
      value,
      caret: length,
    });
  }
});

describe('a field without a shape', () => {
  const edit = createEdit({});
  test.each([
    ['DE89370400440532013000', 'DE89370400440532013000'],
    ['12345678X', '12345678X'],
    ['1100000001', '1100000001'],
    ['12345678.0', '12345678.0'],
    ['1234 5678-90', '1234567890'],
    ['\u200e\u202a1234\u202c \u00a05678', '12345678'],
    ['\u0661\u0662\u0663\u0664', '1234'],
  ])('keeps all of %j but separators', (text, kept) => {
    let typed = '';
    for (const key of text) {
      const value = typed + key;
      typed = edit({ before: typed, value, caret: value.length, kind: 'insertText' }).value;
    }
    expect(typed).toBe(kept);
    expect(edit({ before: '', value: text, caret: text.length, kind: 'insertFromPaste' }).value).toBe(kept);
  });
});
