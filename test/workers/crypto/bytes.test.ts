import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { aad, type Field } from '../../../workers/crypto/primitives/aad.ts';
import {
  concat,
  equalBytes,
  IntegrityError,
  PassphraseError,
  readBytes,
  readU8,
  readU32,
  readU64,
  textOf,
  u32,
  utf8,
  wipe,
  writeU32,
  writeU64,
} from '../../../workers/crypto/primitives/bytes.ts';
import { hex, toHex } from './fixture.ts';

const wellFormed = fc.string({ unit: 'grapheme' });
const field: fc.Arbitrary<Field> = fc.oneof(
  wellFormed,
  fc.uint8Array({ maxLength: 40 }),
  fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
);
const fields = fc.array(field, { maxLength: 6 });

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
      fc.property(fc.constantFrom('a', 'ab', ''), fields, (label, list) => {
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

  test('results do not share memory', () => {
    const first = aad('label', ['first']);
    const copy = toHex(first);
    aad('other', ['second', 'third']);
    expect(toHex(first)).toBe(copy);
  });

  test.each([-1, 1.5, Number.NaN, 2 ** 53])('refuses the number %p', (value) => {
    expect(() => aad('label', [value])).toThrow(RangeError);
  });
});

describe('integers', () => {
  test('round trip', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), fc.maxSafeNat(), (small, large) => {
        const bytes = new Uint8Array(12);
        writeU32(bytes, 0, small);
        writeU64(bytes, 4, large);
        expect(readU32(bytes, 0)).toBe(small);
        expect(readU64(bytes, 4)).toBe(large);
        expect(toHex(u32(small))).toBe(small.toString(16).padStart(8, '0'));
      }),
    );
    expect(readU32(hex('ffffffff'), 0)).toBe(0xffff_ffff);
  });

  test.each([-1, 0.5, 2 ** 32])('writeU32 refuses %p', (value) => {
    expect(() => u32(value)).toThrow(RangeError);
  });

  test('readers refuse to read past the end, and numbers over 2^53', () => {
    const three = Uint8Array.of(1, 2, 3);
    expect(readU8(three, 2)).toBe(3);
    expect(() => readU8(three, 3)).toThrow(IntegrityError);
    expect(() => readU32(three, 0)).toThrow(IntegrityError);
    expect(() => readBytes(three, 1, 3)).toThrow(IntegrityError);
    expect(readBytes(three, 1, 2)).toEqual(Uint8Array.of(2, 3));
    expect(() => readU64(hex('0020000000000000'), 0)).toThrow(IntegrityError);
    expect(readU64(hex('001fffffffffffff'), 0)).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('text and comparison', () => {
  test('text round trip, byte order mark and all', () => {
    fc.assert(fc.property(wellFormed, (text) => expect(textOf(utf8(text))).toBe(text)));
    expect(textOf(utf8('\ufeffx'))).toBe('\ufeffx');
    expect(() => textOf(Uint8Array.of(0xc3))).toThrow(IntegrityError);
  });

  test('equalBytes takes any two lengths', () => {
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true);
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false);
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1))).toBe(false);
    expect(equalBytes(new Uint8Array(0), new Uint8Array(0))).toBe(true);
  });

  test('concat and wipe', () => {
    const parts = [Uint8Array.of(1), new Uint8Array(0), Uint8Array.of(2, 3)];
    expect(concat(parts)).toEqual(Uint8Array.of(1, 2, 3));
    wipe(...parts, undefined);
    expect(concat(parts)).toEqual(new Uint8Array(3));
  });

  test('errors have constant texts', () => {
    expect(new IntegrityError().message).toBe('A stored record failed its integrity check.');
    expect(new PassphraseError().message).toBe('The passphrase does not open this key.');
  });
});
