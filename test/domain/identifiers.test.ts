import { expect, test } from 'bun:test';
import { countCharacters, isIdentifier } from '../../server/domain/text/identifiers.ts';

test('isIdentifier', () => {
  for (const text of ['a', 'A-z_0.9@x:y', 'iframe2', 'Iframe', 'x'.repeat(128), '..']) {
    expect(isIdentifier(text)).toBe(true);
  }
  for (const text of ['', 'iframe', 'x'.repeat(129), 'a b', 'a/b', 'a\n', 'é', 'a%20', '\u0000', 'a+b']) {
    expect(isIdentifier(text)).toBe(false);
  }
});

test('countCharacters counts a pair of surrogates once, and a lone one too', () => {
  const units = ['a', 'é', '\ud83d', '\ude00', '\ud83d\ude00', '\uffff'];
  for (const first of units) {
    for (const second of units) {
      for (const third of ['', ...units]) {
        const text = first + second + third;
        expect(countCharacters(text)).toBe([...text].length);
      }
    }
  }
  expect(countCharacters('')).toBe(0);
});
