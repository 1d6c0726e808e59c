import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  equalBytes,
  IntegrityError,
  readBytes,
  readU8,
  readU32,
  readU64,
  textOf,
  u32,
  utf8,
  writeU32,
  writeU64,
} from '../../../workers/crypto/primitives/bytes.ts';
import { hex, toHex } from './fixture.ts';

const wellFormed = fc.string({ unit: 'grapheme' });

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
});
