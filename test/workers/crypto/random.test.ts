import { describe, expect, test } from 'bun:test';
import {
  fillRandom,
  formatUuid,
  randomBytes,
  randomPassphrase,
  UUID_BYTES,
} from '../../../workers/crypto/primitives/random.ts';
import { toHex } from './fixture.ts';

/** Chi-square of how often each symbol came, against an even spread. */
function chiSquare(text: string, symbols: number): number {
  const counts = new Map<string, number>();
  for (const symbol of text) {
    counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  }
  const expected = text.length / symbols;
  const found = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  return found + (symbols - counts.size) * expected;
}

describe('random bytes', () => {
  test('any length, each time others', () => {
    for (const length of [0, 1, 12, 16, 32, 8191, 8192, 8193, 100_000]) {
      const bytes = randomBytes(length);
      expect(bytes.length).toBe(length);
      if (length >= 12) {
        expect(toHex(bytes)).not.toBe(toHex(randomBytes(length)));
      }
    }
  });

  test('never repeats over refills of the pool, and fills only what was asked for', () => {
    const seen = new Set<string>();
    for (let i = 0; i < 20_000; i++) {
      const bytes = new Uint8Array(20);
      fillRandom(bytes, 2, 16);
      expect(bytes[0] === 0 && bytes[1] === 0 && bytes[18] === 0 && bytes[19] === 0).toBe(true);
      seen.add(toHex(bytes));
    }
    expect(seen.size).toBe(20_000);
  });

  test('results do not change when more is drawn', () => {
    const bytes = randomBytes(32);
    const copy = toHex(bytes);
    for (let i = 0; i < 1000; i++) {
      randomBytes(32);
    }
    expect(toHex(bytes)).toBe(copy);
  });
});

describe('names', () => {
  test('UUIDs', () => {
    const uuids = new Set<string>();
    for (let i = 0; i < 10_000; i++) {
      const uuid = formatUuid(randomBytes(UUID_BYTES));
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      uuids.add(uuid);
    }
    expect(uuids.size).toBe(10_000);
  });

  test('a passphrase has exactly the characters asked for, all unreserved', () => {
    for (const length of [0, 1, 2, 3, 4, 5, 31, 32, 64, 4096]) {
      const passphrase = randomPassphrase(length);
      expect(passphrase.length).toBe(length);
      expect(passphrase).toMatch(/^[A-Za-z0-9_-]*$/);
      expect(encodeURIComponent(passphrase)).toBe(passphrase);
    }
  });

  test('each of the 64 symbols comes as often as any other, in the last place too', () => {
    // 63 degrees of freedom: 131 is exceeded once in a million runs.
    expect(chiSquare(randomPassphrase(400_000), 64)).toBeLessThan(131);
    let last = '';
    for (let i = 0; i < 20_000; i++) {
      last += randomPassphrase(5).slice(-1);
    }
    expect(chiSquare(last, 64)).toBeLessThan(131);
  });
});
