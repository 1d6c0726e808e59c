import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createCursors } from '../../server/services/common/cursor.ts';

const cursors = createCursors(new Uint8Array(32).fill(1));
const scope = ['account', 'route', 'user', undefined, 5];

describe('cursors', () => {
  test('open for their own scope and for no other', () => {
    const sealed = cursors.seal(scope, { at: [1, 2] });
    expect(cursors.open([...scope], sealed)).toEqual({ at: [1, 2] });
    for (const other of [
      ['other', ...scope.slice(1)],
      scope.slice(0, -1),
      [...scope, undefined],
      ['account', 'route', 'user', 5, undefined],
    ]) {
      expect(() => cursors.open(other, sealed)).toThrow('next_token');
    }
    expect(() => createCursors(new Uint8Array(32).fill(2)).open(scope, sealed)).toThrow('next_token');
  });

  test('no other text opens', () => {
    const sealed = cursors.seal(scope, { at: 7 });
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.constantFrom(...'AZaz09-_='), (at, character) => {
        const changed = sealed.slice(0, at) + character + sealed.slice(at + 1);
        if (changed !== sealed) {
          expect(() => cursors.open(scope, changed)).toThrow('next_token');
        }
      }),
    );
    for (const text of ['', 'A', sealed.slice(1), `${sealed}A`, `${sealed}=`, ` ${sealed}`]) {
      expect(() => cursors.open(scope, text)).toThrow('next_token');
    }
  });
});
