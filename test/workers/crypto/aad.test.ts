/** Lists of fields as bytes, and an encoder that writes over its last list: it gives the bytes of `aad`, whatever came before. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { aad, createAad, type Field } from '../../../workers/crypto/primitives/aad.ts';
import { EMPTY, textOf, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { filled, toHex } from './fixture.ts';

const text = fc.oneof(fc.string({ maxLength: 4 }), fc.string({ unit: 'binary', maxLength: 3 }));
const bytes = fc.oneof(fc.uint8Array({ maxLength: 4 }), fc.constant(EMPTY));
const number = fc.oneof(fc.nat({ max: 3 }), fc.maxSafeNat());
const field: fc.Arbitrary<Field> = fc.oneof(text, bytes, number);
/** Lists that often have the shape of the one before. */
const similar = fc.array(fc.tuple(text, bytes, number, text), { maxLength: 12 });

function expectSame(lists: readonly (readonly Field[])[], label = 'läbel'): void {
  const encode = createAad(label);
  for (const fields of lists) {
    expect(toHex(encode(fields))).toBe(toHex(aad(label, fields)));
  }
}

describe('an encoder', () => {
  test('gives what aad gives for lists of any shape', () => {
    fc.assert(
      fc.property(fc.array(fc.array(field, { maxLength: 5 }), { maxLength: 12 }), (lists) =>
        expectSame(lists),
      ),
    );
  });

  test('gives what aad gives for lists of one shape', () => {
    fc.assert(fc.property(similar, (lists) => expectSame(lists)));
  });

  test.each<[string, Field[][]]>([
    ['no bytes after some', [[filled(3, 1)], [EMPTY], [filled(3, 2)], [EMPTY]]],
    ['two bytes of text after two', [['ab'], ['ä'], ['cd'], ['ö'], ['ü']]],
    ['a lone surrogate', [['abc'], ['\ud800'], ['\ufffd'], ['abc']]],
    ['text after bytes after a number', [['12345678'], [filled(8, 49)], [7], [8], ['12345678']]],
    ['more and fewer', [['a'], ['a', 'b'], ['a'], [], ['b']]],
    ['a long text', [['x'.repeat(9000)], ['y'.repeat(9000)], ['x']]],
  ])('gives what aad gives for %s', (_name, lists) => expectSame(lists));

  test('does not keep the bytes of its caller', () => {
    const encode = createAad('label');
    const changing = filled(4, 1);
    for (const value of [1, 2, 3]) {
      changing.fill(value);
      expect(toHex(encode(['a', changing]))).toBe(toHex(aad('label', ['a', changing])));
    }
  });

  test('refuses what aad refuses, and is right after it', () => {
    const encode = createAad('label');
    for (const bad of [-1, 0.5, Number.NaN, Infinity, 2 ** 53]) {
      expect(() => encode(['a', bad])).toThrow(RangeError);
      expect(toHex(encode(['b', 1]))).toBe(toHex(aad('label', ['b', 1])));
      expect(() => encode(['c', bad])).toThrow(RangeError);
      expect(toHex(encode(['b', 1]))).toBe(toHex(aad('label', ['b', 1])));
      expect(() => encode(['longer', bad])).toThrow(RangeError);
      expect(toHex(encode(['c', 2]))).toBe(toHex(aad('label', ['c', 2])));
    }
  });
});

/** Two lists are the same when they hold the same kinds of the same values. */
function nameOf(label: string, list: readonly Field[]): string {
  return JSON.stringify([
    label,
    ...list.map((one) => [one instanceof Uint8Array ? toHex(one) : one, typeof one]),
  ]);
}

describe('aad', () => {
  test('the encoding is fixed', () => {
    expect(toHex(aad('l', ['ä', Uint8Array.of(1, 2), 7]))).toBe(
      '01000000016c' + '0100000002c3a4' + '02000000020102' + '030000000000000007',
    );
  });

  test('no two lists give the same bytes', () => {
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(fc.constantFrom('a', 'ab', ''), fc.array(field, { maxLength: 6 }), (label, list) => {
        const bytes = toHex(aad(label, list));
        const name = nameOf(label, list);
        expect(seen.get(bytes) ?? name).toBe(name);
        seen.set(bytes, name);
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    [
      ['ab', 'c'],
      ['a', 'bc'],
    ],
    [['a'], ['a', '']],
    [['1'], [1]],
    [['a'], [utf8('a')]],
    [[''], []],
    [
      [0, 1],
      [1, 0],
    ],
  ] as [Field[], Field[]][])('%p is not %p', (one, other) => {
    expect(toHex(aad('label', one))).not.toBe(toHex(aad('label', other)));
  });

  test('fields larger than its scratch space', () => {
    const long = 'é'.repeat(20_000);
    const bytes = aad('label', [long, new Uint8Array(30_000)]);
    expect(bytes.length).toBe(5 + 5 + 5 + 40_000 + 5 + 30_000);
    expect(textOf(bytes.subarray(15, 40_015))).toBe(long);
  });

  test.each([-1, 1.5, Number.NaN, 2 ** 53])('refuses the number %p', (value) => {
    expect(() => aad('label', [value])).toThrow(RangeError);
  });
});
