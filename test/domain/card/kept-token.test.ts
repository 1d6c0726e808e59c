import { describe, expect, test } from 'bun:test';
import {
  formatToken,
  isClashProne,
  keptAlgorithm,
  parseAlgorithm,
  type TokenAlgorithm,
} from '../../../server/domain/card/token-format.ts';

const NUMBER = '4111 1111 1111 1111';

/** Tokens of many vaults. */
function tokensOf(algorithm: Exclude<TokenAlgorithm, { kind: 'uuid' }>, number: string): string[] {
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
    const algorithm = parseAlgorithm(text);
    if (algorithm === undefined || algorithm.kind === 'uuid') {
      throw new Error('no algorithm');
    }
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
    ['one character less', '4111111111111111', '41111111111a111'],
    ['another separator', '4111 1111 1111 1111', '4111-1111-11aa-1111'],
    ['a replaced letter', 'DE89370400440532013000', 'aE89370400440532013000'],
    ['a character that is not hex', '4111111111111111', '41111111111g1111'],
    ['capitals', '4111111111111111', '411111111AAA1111'],
    ['any text', '4111111111111111', 'card-1'],
    ['nothing', '4111111111111111', ''],
    ['too short a number', '123', '1a3'],
    ['63 hex digits', '4111111111111111', 'a'.repeat(63)],
    ['a random one in capitals', '4111111111111111', '2F1E0C3A-0000-4000-8000-000000000001'],
  ])('is not %s', (_, number, token) => {
    expect(keptAlgorithm(token, number)).toBeUndefined();
  });
});
