import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Cursors } from '../../server/core/cursors.ts';

const cursors = new Cursors(() => [new Uint8Array(32).fill(1)]);
const scope = ['account', 'route', 'user', undefined, 5];

describe('cursors', () => {
  test('open for their own scope and for no other', () => {
    const signed = cursors.sign(scope, { at: [1, 2] });
    expect(cursors.verify([...scope], signed)).toEqual({ at: [1, 2] });
    for (const other of [
      ['other', ...scope.slice(1)],
      scope.slice(0, -1),
      [...scope, undefined],
      ['account', 'route', 'user', 5, undefined],
    ]) {
      expect(() => cursors.verify(other, signed)).toThrow('next_token');
    }
    expect(() => new Cursors(() => [new Uint8Array(32).fill(2)]).verify(scope, signed)).toThrow('next_token');
  });

  test('no other text opens', () => {
    const signed = cursors.sign(scope, { at: 7 });
    fc.assert(
      fc.property(fc.nat(signed.length - 1), fc.constantFrom(...'AZaz09-_='), (at, character) => {
        const changed = signed.slice(0, at) + character + signed.slice(at + 1);
        if (changed !== signed) {
          expect(() => cursors.verify(scope, changed)).toThrow('next_token');
        }
      }),
    );
    for (const text of ['', 'A', signed.slice(1), `${signed}A`, `${signed}=`, ` ${signed}`]) {
      expect(() => cursors.verify(scope, text)).toThrow('next_token');
    }
  });
});
