import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseBooleanText, parseIntegerText, parseListText } from '../../server/domain/text/query-text.ts';

test('parseBooleanText takes six texts', () => {
  expect(['true', 't', '1'].map(parseBooleanText)).toEqual([true, true, true]);
  expect(['false', 'f', '0'].map(parseBooleanText)).toEqual([false, false, false]);
  for (const text of ['', 'TRUE', 'yes', ' true', '10', 'null']) {
    expect(parseBooleanText(text)).toBeUndefined();
  }
});

test('parseIntegerText reads what String writes and nothing else', () => {
  fc.assert(fc.property(fc.maxSafeInteger(), (value) => expect(parseIntegerText(String(value))).toBe(value)));
  const others = ['', '-0', '+1', '01', '1.0', '1e3', ' 1', '٣', '9007199254740992'];
  for (const text of [...others, '-9007199254740992', '9'.repeat(400), 'Infinity', 'NaN']) {
    expect(parseIntegerText(text)).toBeUndefined();
  }
});

test.each([
  ['', []],
  ['a', ['a']],
  ['a,b', ['a', 'b']],
  [' a , b.c ,a', ['a', 'b.c', 'a']],
  [',', undefined],
  ['a,', undefined],
  ['a,,b', undefined],
  ['a, ,b', undefined],
  [' ', undefined],
])('parseListText of %j', (text, entries) => {
  expect(parseListText(text)).toEqual(entries);
});
