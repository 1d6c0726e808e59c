import { describe, expect, test } from 'bun:test';
import { createCipheriv } from 'node:crypto';
import fc from 'fast-check';
import { encodeReference, identityTag, tokenDigest } from '../../../workers/crypto/item/lookup.ts';
import { utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { filled, toHex } from './fixture.ts';

const KEY = filled(32, 11);
const text = fc.string({ unit: 'grapheme', maxLength: 60 });

/** The definition, block by block: c(i) = AES(byte(i) xor c(i-1)), of which two bytes are kept. */
function byDefinition(key: Uint8Array, reference: string): string {
  let previous = filled(16, 0);
  let out = '';
  for (const byte of utf8(reference)) {
    const block = previous.slice();
    block[0] = (block[0] ?? 0) ^ byte;
    const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
    previous = new Uint8Array(cipher.update(block));
    out += toHex(previous.subarray(0, 2));
  }
  return out;
}

describe('the reference index', () => {
  test('is truncated CBC', () => {
    fc.assert(
      fc.property(text, (reference) =>
        expect(toHex(encodeReference(KEY, reference, false))).toBe(byDefinition(KEY, reference)),
      ),
    );
  });

  test('the end is told from every byte that could follow', () => {
    const end = toHex(encodeReference(KEY, 'order', true));
    const followers = new Set<string>();
    for (let code = 0; code < 128; code++) {
      followers.add(toHex(encodeReference(KEY, `order${String.fromCharCode(code)}`, false)));
    }
    expect(followers.has(end)).toBe(false);
    expect(end.length).toBe(4 * 6);
    expect(toHex(encodeReference(KEY, '', true)).length).toBe(4);
    expect(encodeReference(KEY, '', false).length).toBe(0);
  });

  test('differing references, and the same under another key, have nothing in common after they part', () => {
    const [a, b] = [
      toHex(encodeReference(KEY, 'abcX12345678', false)),
      toHex(encodeReference(KEY, 'abcY12345678', false)),
    ];
    expect(a.slice(0, 12)).toBe(b.slice(0, 12));
    for (let at = 12; at < a.length; at += 4) {
      expect(a.slice(at, at + 4)).not.toBe(b.slice(at, at + 4));
    }
    expect(toHex(encodeReference(filled(32, 12), 'abcX12345678', false)).slice(0, 12)).not.toBe(
      a.slice(0, 12),
    );
  });
});

describe('token hashes', () => {
  test('the same inputs give the same digest, any other input another', () => {
    const digest = (number: string, reference: string | undefined, candidate: number, key = KEY) =>
      toHex(tokenDigest(key, number, reference, candidate));
    const all = [
      digest('4111', undefined, 0),
      digest('4111', '', 0),
      digest('4111', '0', 0),
      digest('4111', undefined, 1),
      digest('4111 ', undefined, 0),
      digest('411', '1', 0),
      digest('41', '11', 0),
      digest('4111', undefined, 0, filled(32, 12)),
      toHex(identityTag(KEY, '4111', undefined)),
      toHex(identityTag(KEY, '4111', '')),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(digest('4111', 'x', 2)).toBe(digest('4111', 'x', 2));
    expect(digest('4111', 'x', 2)).toHaveLength(64);
    expect(all.at(-1)).toHaveLength(32);
    expect(digest('4111', undefined, 0).startsWith(all.at(-2) ?? '')).toBe(false);
  });
});
