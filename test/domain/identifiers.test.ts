import { expect, test } from 'bun:test';
import { isIdentifier, isReference } from '../../server/domain/text/identifiers.ts';

test('isIdentifier', () => {
  for (const text of ['a', 'A-z_0.9@x:y', 'iframe2', 'Iframe', 'x'.repeat(128), '..']) {
    expect(isIdentifier(text)).toBe(true);
  }
  for (const text of ['', 'iframe', 'x'.repeat(129), 'a b', 'a/b', 'a\n', 'é', 'a%20', '\u0000', 'a+b']) {
    expect(isIdentifier(text)).toBe(false);
  }
});

test('isReference counts code points and wants well-formed text', () => {
  for (const text of ['x', ' ', '\u0000\n', 'é'.repeat(255), '😀'.repeat(255)]) {
    expect(isReference(text)).toBe(true);
  }
  for (const text of ['', 'x'.repeat(256), '😀'.repeat(256), '\ud800', 'a\udc00', 'x'.repeat(1_000_000)]) {
    expect(isReference(text)).toBe(false);
  }
});
