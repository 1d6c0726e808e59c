import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { joinSad, splitSad } from '../../server/domain/card/sad.ts';
import { isSad } from '../../server/domain/card/sensitive-names.ts';
import {
  type JsonObject,
  type JsonValue,
  parseStoredObject,
  stringifyJson,
} from '../../server/domain/json/json.ts';
import { anyText, jsonObject, textOf, utf8 } from './json/arbitrary.ts';

function split(text: string): ReturnType<typeof splitSad> {
  return splitSad(parseStoredObject(utf8(text)));
}

/** What part 0 has to be, by a copy of the tree. */
function without(value: JsonValue): JsonValue {
  if (value instanceof Map) {
    const kept: JsonObject = new Map();
    for (const [name, member] of value) {
      if (!isSad(name, member)) {
        kept.set(name, without(member));
      }
    }
    return kept;
  }
  return Array.isArray(value) ? value.map(without) : value;
}

const name = fc.oneof(
  fc.constantFrom('cvv', 'CVC', 'pin', 'Track1', 'security_code', 'x_card_code', 'track'),
  fc.constantFrom('a', 'b', 'number', 'é😀', '__proto__'),
  anyText,
);

describe('splitSad', () => {
  test.each([
    ['{}', '{}', undefined],
    ['{"a":1}', '{"a":1}', undefined],
    ['{"cvv":"1"}', '{}', ['1:"cvv":"1"']],
    ['{"cvv":"1","a":1}', '{"a":1}', ['1:"cvv":"1",']],
    ['{"a":1,"cvv":"1"}', '{"a":1}', ['6:,"cvv":"1"']],
    ['{"a":1,"cvv":"1","b":2}', '{"a":1,"b":2}', ['6:,"cvv":"1"']],
    ['{"cvv":"1","pin":2}', '{}', ['1:"cvv":"1","pin":2']],
    ['{"cvv":"1","pin":2,"a":1}', '{"a":1}', ['1:"cvv":"1","pin":2,']],
    ['{"a":{"cvv":1},"PIN":2}', '{"a":{}}', ['6:"cvv":1', '7:,"PIN":2']],
    ['{"CardCode":"VI","SeriesCode":"737"}', '{"CardCode":"VI"}', ['16:,"SeriesCode":"737"']],
    ['{"é":"é","cvv":"é"}', '{"é":"é"}', ['10:,"cvv":"é"']],
    ['{"a":[{"cvv":1},{"cvv":{"cvv":2}}]}', '{"a":[{},{}]}', ['7:"cvv":1', '10:"cvv":{"cvv":2}']],
  ])('%s', (text, kept, splices) => {
    const { part0, part1 } = split(text);
    expect(textOf(part0)).toBe(kept);
    expect(part1 && splicesOf(part1)).toEqual(splices);
  });

  test('join is the whole object byte for byte, and part 0 is the object without the data', () => {
    fc.assert(
      fc.property(jsonObject(name), (object) => {
        const { part0, part1 } = splitSad(object);
        expect(textOf(part0)).toBe(stringifyJson(without(object)));
        expect(textOf(part1 ? joinSad(part0, part1) : part0)).toBe(stringifyJson(object));
      }),
      { numRuns: 2000 },
    );
  });
});

function splicesOf(part1: Uint8Array): string[] {
  const view = new DataView(part1.buffer, part1.byteOffset, part1.byteLength);
  const splices: string[] = [];
  for (let at = 4; at < part1.length; at += 8 + view.getUint32(at + 4)) {
    splices.push(`${view.getUint32(at)}:${textOf(part1.subarray(at + 8, at + 8 + view.getUint32(at + 4)))}`);
  }
  expect(splices.length).toBe(view.getUint32(0));
  return splices;
}

describe('joinSad refuses damage', () => {
  const { part0, part1 = new Uint8Array() } = split('{"a":{"cvv":"1"},"b":"x","pin":"22"}');

  test('every truncation and every added byte', () => {
    for (let length = 0; length < part1.length; length++) {
      expect(() => joinSad(part0, part1.subarray(0, length))).toThrow('damaged');
    }
    expect(() => joinSad(part0, Uint8Array.from([...part1, 0]))).toThrow('damaged');
    expect(() => joinSad(new Uint8Array(), part1)).toThrow('damaged');
  });

  test('every changed header byte is refused or moves a splice within bounds, never more', () => {
    const headers = [
      ...Array(12).keys(),
      ...Array(8)
        .keys()
        .map((at) => at + 12 + 9),
    ];
    for (const at of headers) {
      for (let bit = 0; bit < 8; bit++) {
        const changed = part1.slice();
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        let joined: Uint8Array | undefined;
        try {
          joined = joinSad(part0, changed);
        } catch (error) {
          expect(String(error)).toContain('damaged');
        }
        if (joined !== undefined) {
          expect(joined.length).toBe(part0.length + part1.length - 4 - 16);
        }
      }
    }
  });

  test('random bytes never give more than they hold', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.uint8Array({ maxLength: 60 }), (left, right) => {
        try {
          expect(joinSad(left, right).length).toBeLessThan(left.length + right.length);
        } catch (error) {
          expect(String(error)).toContain('damaged');
        }
      }),
      { numRuns: 2000 },
    );
  });
});
