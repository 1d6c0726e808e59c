import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { mergeFirstLevel } from '../../server/domain/card/number.ts';
import { parseStoredObject, stringifyJson } from '../../server/domain/json/json.ts';
import { jsonObject, utf8 } from './json/arbitrary.ts';

test.each([
  ['{"a":1,"b":2}', '{"b":3}', '{"a":1,"b":3}'],
  ['{"a":1,"b":2}', '{"c":3,"a":4}', '{"a":4,"b":2,"c":3}'],
  ['{"a":{"x":1,"y":2}}', '{"a":{"z":3}}', '{"a":{"z":3}}'],
  ['{"a":1}', '{"a":null}', '{"a":null}'],
  [
    '{"card_number":"1"}',
    '{"card_number":"2","account_number":"3","n":"4","number":5}',
    '{"card_number":"1"}',
  ],
  ['{"a":{"number":"1"}}', '{"a":{"number":"2"},"pan":"3"}', '{"a":{"number":"2"},"pan":"3"}'],
  ['{}', '{"__proto__":{"x":1}}', '{"__proto__":{"x":1}}'],
  ['{"a":1}', '{}', '{"a":1}'],
])('%s and %s make %s', (stored, changes, merged) => {
  expect(
    stringifyJson(mergeFirstLevel(parseStoredObject(utf8(stored)), parseStoredObject(utf8(changes)))),
  ).toBe(merged);
});

test('neither argument changes, and no number does', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'card_number', 'n');
  fc.assert(
    fc.property(jsonObject(name), jsonObject(name), (stored, changes) => {
      const before = stringifyJson(stored) + stringifyJson(changes);
      const merged = mergeFirstLevel(stored, changes);
      expect(stringifyJson(stored) + stringifyJson(changes)).toBe(before);
      expect(merged.get('n')).toBe(stored.get('n'));
      expect([...merged.keys()].slice(0, stored.size)).toEqual([...stored.keys()]);
    }),
  );
});
