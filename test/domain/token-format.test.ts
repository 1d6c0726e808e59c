import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { passesLuhn } from '../../server/domain/card/luhn.ts';
import {
  formatToken,
  type HashedAlgorithm,
  isClashProne,
  keptAlgorithm,
  parseAlgorithm,
  type TokenAlgorithm,
} from '../../server/domain/card/token-format.ts';

function parse(text: string): HashedAlgorithm {
  const algorithm = parseAlgorithm(text);
  if (algorithm === undefined || algorithm.kind === 'uuid') {
    throw new Error(`Not a hashed algorithm: ${text}`);
  }
  return algorithm;
}

const HEX = `a1b2c3d4e5f60718${'0'.repeat(48)}`;
function digestOf(hex: string): Uint8Array {
  return Uint8Array.fromHex(hex);
}
function format(algorithm: string, number: string, hex = HEX): string | undefined {
  return formatToken(parse(algorithm), number, digestOf(hex));
}

describe('parseAlgorithm', () => {
  test.each<[string, TokenAlgorithm]>([
    ['full', { kind: 'full' }],
    ['uuid', { kind: 'uuid' }],
    ['luhn', { kind: 'luhn' }],
    ['partial_8_start', { kind: 'partial', digits: 8, side: 'start' }],
    ['partial_16_end', { kind: 'partial', digits: 16, side: 'end' }],
    ['partial_middle_6_4', { kind: 'middle', start: 6, end: 4 }],
    ['partial_middle_0_99', { kind: 'middle', start: 0, end: 99 }],
  ])('%s', (text, algorithm) => {
    expect(parseAlgorithm(text)).toEqual(algorithm);
  });

  test.each([
    '',
    'Full',
    'partial',
    'partial_7_start',
    'partial_17_end',
    'partial_8_middle',
    'partial_8',
    'partial_middle_6_04',
    'partial_middle_-1_4',
    'partial_middle_100_4',
    'partial_middle_٣_4',
    'constructor',
  ])('%j is none', (text) => {
    expect(parseAlgorithm(text)).toBeUndefined();
  });
});

describe('formatToken', () => {
  test.each([
    ['full', '4111111111111111', HEX],
    ['partial_8_start', '4111111111111234', 'a1b2c3d411111234'],
    ['partial_8_end', '4111111111111234', '41111111a1b2c3d4'],
    ['partial_16_end', '4111111111111234', 'a1b2c3d4e5f60718'],
    ['partial_16_end', '378282246310005', HEX],
    ['partial_12_start', '4111 1111-1111 1234', 'a1b2 c3d4-e5f6 1234'],
    ['partial_8_end', 'AB12 3456 7890', 'AB12 a1b2 c3d4'],
    ['partial_middle_6_4', '4111111111111234', '411111a1b2c31234'],
    ['partial_middle_6_4', '41111111111234', HEX],
    ['partial_middle_6_4', '411111111111234', '411111a1b2c1234'],
    ['partial_middle_0_0', '12345', 'a1b2c'],
    ['partial_middle_0_0', '1234', HEX],
    ['partial_middle_9_9', '4111111111111111', HEX],
    ['partial_8_start', '7'.repeat(64), `a1b2c3d4${'7'.repeat(56)}`],
    ['partial_8_start', '7'.repeat(65), HEX],
    ['partial_8_start', '12345678\n', HEX],
    ['partial_8_start', '12345678é', HEX],
    ['partial_8_start', '', HEX],
  ])('%s of %j is %s', (algorithm, number, token) => {
    expect(format(algorithm, number)).toBe(token);
  });

  test('a candidate without a letter among its digits is skipped', () => {
    const hex = `12345678a${'0'.repeat(55)}`;
    expect(format('partial_8_start', '4111111111111234', hex)).toBeUndefined();
    expect(format('partial_9_start', '4111111111111234', hex)).toBe('12345678a1111234');
    expect(format('partial_middle_6_4', '411111111111234', hex)).toBeUndefined();
    expect(format('full', '4111111111111234', hex)).toBe(hex);
    expect(format('partial_8_start', 'abc 12345678', hex)).toBeUndefined();
  });

  test('luhn tokens: sixteen digits, 9 first, Luhn passes, all free digits vary evenly', () => {
    const counts = Array.from({ length: 14 }, () => new Uint32Array(10));
    for (let round = 0; round < 4000; round++) {
      const token = format(
        'luhn',
        '4111111111111111',
        new Bun.CryptoHasher('sha256').update(`${round}`).digest('hex'),
      );
      expect(token).toMatch(/^9[0-9]{15}$/);
      expect(passesLuhn(token ?? '')).toBe(true);
      for (const [place, count] of counts.entries()) {
        const digit = Number(token?.[place + 1]);
        count[digit] = (count[digit] ?? 0) + 1;
      }
    }
    for (const count of counts) {
      for (const hits of count) {
        expect(Math.abs(hits - 400)).toBeLessThan(120);
      }
    }
  });

  test('shaped tokens keep length, other characters and the digits outside the span', () => {
    const number = fc.stringMatching(/^[0-9A-Z -]{0,40}$/);
    const algorithm = fc.oneof(
      fc
        .tuple(fc.integer({ min: 8, max: 16 }), fc.constantFrom('start' as const, 'end' as const))
        .map(([digits, side]): HashedAlgorithm => ({ kind: 'partial', digits, side })),
      fc
        .tuple(fc.nat(12), fc.nat(12))
        .map(([start, end]): HashedAlgorithm => ({ kind: 'middle', start, end })),
    );
    fc.assert(
      fc.property(
        algorithm,
        number,
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (chosen, text, digest) => {
          const token = formatToken(chosen, text, digest);
          const count = text.replace(/[^0-9]/g, '').length;
          const replaced =
            chosen.kind === 'partial'
              ? chosen.digits
              : count - (chosen.kind === 'middle' ? chosen.start + chosen.end : 0);
          const fits = chosen.kind === 'partial' ? count >= replaced : replaced >= 5;
          expect(isClashProne(chosen, text)).toBe(fits);
          if (token === undefined) {
            return expect(digest.toHex().slice(0, replaced)).toMatch(/^[0-9]+$/);
          }
          if (!fits) {
            return expect(token).toBe(digest.toHex());
          }
          expect(token).toMatch(/[a-f]/);
          expect(token.length).toBe(text.length);
          expect(token.replace(/[0-9a-f]/g, '')).toBe(text.replace(/[0-9a-f]/g, ''));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

test('isClashProne', () => {
  const number = '4111111111111111';
  expect(isClashProne({ kind: 'full' }, number)).toBe(false);
  expect(isClashProne({ kind: 'uuid' }, number)).toBe(false);
  expect(isClashProne({ kind: 'luhn' }, '1')).toBe(true);
  expect(isClashProne({ kind: 'partial', digits: 16, side: 'start' }, number)).toBe(true);
  expect(isClashProne({ kind: 'partial', digits: 16, side: 'start' }, '123')).toBe(false);
  expect(isClashProne({ kind: 'middle', start: 6, end: 4 }, number)).toBe(true);
  expect(isClashProne({ kind: 'middle', start: 6, end: 6 }, number)).toBe(false);
});

const NUMBER = '4111 1111 1111 1111';

/** Tokens of many vaults. */
function tokensOf(algorithm: HashedAlgorithm, number: string): string[] {
  return Array.from({ length: 400 }, (_, n) =>
    formatToken(algorithm, number, new Bun.CryptoHasher('sha256').update(`${n}`).digest()),
  ).filter((token) => token !== undefined);
}

describe('a token of another vault', () => {
  test.each([
    'full',
    'luhn',
    'partial_8_start',
    'partial_8_end',
    'partial_16_end',
    'partial_middle_6_4',
    'partial_middle_0_11',
    'partial_middle_11_0',
    'partial_middle_99_99',
  ])('made by %s is known, and clashes with others as before', (text) => {
    const algorithm = parse(text);
    for (const number of [NUMBER, '4111111111111111', 'DE89370400440532013000']) {
      for (const token of tokensOf(algorithm, number)) {
        const known = keptAlgorithm(token, number);
        expect(known && isClashProne(known, number)).toBe(isClashProne(algorithm, number));
      }
    }
  });

  test('may be random', () => {
    expect(keptAlgorithm('2f1e0c3a-0000-4000-8000-000000000001', NUMBER)).toEqual({ kind: 'uuid' });
  });

  test.each([
    ['the number', '4111111111111111', '4111111111111111'],
    ['the number, where it looks like a token', '9000000000000001', '9000000000000001'],
    ['a number without a letter', '4111111111111111', '4111111119999999'],
    ['one character more', '4111111111111111', '4111111111a111111'],
    ['a replaced letter', 'DE89370400440532013000', 'aE89370400440532013000'],
    ['a character that is not hex', '4111111111111111', '41111111111g1111'],
    ['nothing', '4111111111111111', ''],
    ['too short a number', '123', '1a3'],
    ['a random one in capitals', '4111111111111111', '2F1E0C3A-0000-4000-8000-000000000001'],
  ])('is not %s', (_, number, token) => {
    expect(keptAlgorithm(token, number)).toBeUndefined();
  });
});
