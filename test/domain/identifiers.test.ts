import { expect, test } from 'bun:test';
import { isIdentifier } from '../../server/domain/text/identifiers.ts';

test('isIdentifier', () => {
  for (const text of ['a', 'A-z_0.9@x:y', 'iframe2', 'Iframe', 'x'.repeat(128), '..']) {
    expect(isIdentifier(text)).toBe(true);
  }
  for (const text of ['', 'iframe', 'x'.repeat(129), 'a b', 'a/b', 'a\n', 'é', 'a%20', '\u0000', 'a+b']) {
    expect(isIdentifier(text)).toBe(false);
  }
});
