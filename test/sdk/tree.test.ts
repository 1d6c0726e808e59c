import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { VaultConnectionError } from '../../sdk/transport/errors.ts';
import { createTreeReader } from '../../sdk/transport/tree.ts';

function readAll(pieces: readonly string[]): string[] {
  const reader = createTreeReader();
  const items = pieces.flatMap((piece) => [...reader.push(piece)]);
  reader.end();
  return items;
}

/** Cuts a text at the given places. */
function cut(text: string, places: readonly number[]): string[] {
  const edges = [0, ...places.map((place) => place % (text.length + 1)).sort((a, b) => a - b), text.length];
  return edges.slice(1).map((edge, index) => text.slice(edges[index], edge));
}

const item = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }));
const tree = fc.dictionary(fc.string({ unit: 'binary' }), fc.array(item, { maxLength: 4 }), { maxKeys: 3 });

describe('reading a tree', () => {
  test('gives every item exactly as sent, wherever the text is cut', () => {
    fc.assert(
      fc.property(tree, fc.array(fc.nat(), { maxLength: 8 }), fc.boolean(), (value, places, spaced) => {
        const text = JSON.stringify(value, null, spaced ? 1 : 0);
        const items = readAll(cut(text, places)).map((each) => JSON.parse(each));
        expect(items).toEqual(JSON.parse(JSON.stringify(Object.values(value).flat())));
      }),
    );
  });

  test('keeps the text of numbers', () => {
    const exact = '{"token":"t","data":{"n":12345678901234567890,"x":1.10,"y":1e400}}';
    expect(readAll([`{"u":[${exact}]}`])).toEqual([exact]);
  });

  test('refuses every text that is cut off', () => {
    const text = '{"a":[{"token":"1","data":{"b":"]}\\""}},{"token":"2"}],"c":[]}';
    for (let length = 0; length < text.length; length += 1) {
      expect(() => readAll([text.slice(0, length)])).toThrow(VaultConnectionError);
    }
    expect(readAll([text])).toHaveLength(2);
  });

  const broken = [
    '',
    ' ',
    '[]',
    'null',
    '{"a":[1]}',
    '{"a":{"b":1}}',
    '{"a":[]}{}',
    '{"a":[]}x',
    '{"a":["b"]}',
    '<html>',
  ];
  test.each(broken)('refuses %j', (text) => {
    expect(() => readAll([text])).toThrow(VaultConnectionError);
  });

  test('gives each item as soon as it is complete', () => {
    const reader = createTreeReader();
    reader.push('{"a":[');
    for (let count = 0; count < 1000; count += 1) {
      expect(reader.push(`${count === 0 ? '' : ','}{"token":"${count}"}`)).toHaveLength(1);
    }
    reader.push(']}');
    reader.end();
  });
});
