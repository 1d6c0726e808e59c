import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { VaultError } from '../../sdk/transport/errors.ts';
import { baseOf, urlOf } from '../../sdk/transport/path.ts';

describe('the base URL', () => {
  test.each([
    ['https://vault.example', 'https://vault.example/v1'],
    ['https://vault.example/', 'https://vault.example/v1'],
    ['https://vault.example/v1', 'https://vault.example/v1'],
    ['https://vault.example/v1/', 'https://vault.example/v1'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/v1'],
    ['https://example.com/cards/', 'https://example.com/cards/v1'],
    ['https://example.com/cards/v1', 'https://example.com/cards/v1'],
  ])('%s is %s', (given, settled) => {
    expect(baseOf(given)).toBe(settled);
  });

  test.each([
    '',
    'vault.example',
    'ftp://vault.example',
    'javascript:alert(1)',
    'https://user:canary-password@vault.example',
    'https://vault.example/?a=canary-password',
    'https://vault.example/#canary-password',
  ])('%j is refused without being repeated', (given) => {
    expect(() => baseOf(given)).toThrow(VaultError);
    expect(() => baseOf(given)).not.toThrow(/canary/);
  });
});

describe('a path', () => {
  const base = 'https://vault.example/v1';

  test('cannot be left by any segment', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (id) => {
        fc.pre(id !== '.' && id !== '..');
        const { pathname } = new URL(urlOf(base, ['capture', id]));
        expect(pathname.split('/')).toHaveLength(4);
        expect(decodeURIComponent(pathname.slice('/v1/capture/'.length))).toBe(id);
      }),
    );
  });

  test.each(['', '.', '..', '\ud800'])('refuses the segment %j', (id) => {
    expect(() => urlOf(base, ['capture', id])).toThrow(VaultError);
  });
});

describe('a query', () => {
  test('leaves out what is undefined, joins lists, and escapes everything else', () => {
    const url = new URL(
      urlOf('https://vault.example/v1', ['vault'], {
        user: 'a&b=c d+e',
        token: undefined,
        limit: -1,
        decrypt_all: true,
        mask_fields: ['cvv', 'card.pan'],
      }),
    );
    expect([...url.searchParams]).toEqual([
      ['user', 'a&b=c d+e'],
      ['limit', '-1'],
      ['decrypt_all', 'true'],
      ['mask_fields', 'cvv,card.pan'],
    ]);
  });

  test('refuses a list entry that would become two', () => {
    expect(() => urlOf('https://vault.example/v1', ['vault'], { rules: ['a,b'] })).toThrow(VaultError);
  });
});
