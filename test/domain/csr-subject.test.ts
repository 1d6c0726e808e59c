import { expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { toCsrSubject } from '../../workers/crypto/certificate/csr.ts';

const BOUNDS = [
  ['cn', 64],
  ['o', 64],
  ['ou', 64],
  ['l', 128],
  ['st', 128],
] as const;

function refusalOf(subject: Record<string, string>): string | undefined {
  try {
    toCsrSubject({ cn: 'x', ...subject });
    return undefined;
  } catch (error) {
    return error instanceof VaultError ? `${error.code} ${error.field}` : String(error);
  }
}

test.each(BOUNDS)('%s holds 1 to %d characters, counted as code points', (name, max) => {
  for (const text of ['x', 'x'.repeat(max), 'é'.repeat(max), '😀'.repeat(max), ' x ', 'a, b=c+"d"\\#']) {
    expect(toCsrSubject({ cn: 'x', [name]: text })).toEqual({ cn: 'x', [name]: text });
  }
  for (const text of ['', ' ', '\u00a0\u3000', 'x'.repeat(max + 1), '😀'.repeat(max + 1), 'x'.repeat(1e6)]) {
    expect(refusalOf({ [name]: text })).toBe(`invalid_request body.${name}`);
  }
});

test.each(BOUNDS)('%s holds no control characters, line ends or halves of characters', (name) => {
  for (const bad of ['\0', '\t', '\n', '\u007f', '\u0085', '\u2028', '\ud800', '\udc00']) {
    expect(refusalOf({ [name]: `a${bad}b` })).toBe(`invalid_request body.${name}`);
    expect(refusalOf({ [name]: `ab${bad}` })).toBe(`invalid_request body.${name}`);
  }
});

test('c is two letters, and stands in capitals', () => {
  expect(toCsrSubject({ cn: 'x', c: 'DE' })).toEqual({ cn: 'x', c: 'DE' });
  expect(toCsrSubject({ cn: 'x', c: 'gB' })).toEqual({ cn: 'x', c: 'GB' });
  for (const c of ['', 'D', 'DEU', 'D1', 'D ', 'DE\n', 'ÄÖ', 'ıi', 'ſs', '😀']) {
    expect(refusalOf({ c })).toBe('invalid_request body.c');
  }
});

test('members that are no attributes are left behind, and absent ones stay absent', () => {
  const given = { cn: 'x', o: 'y', id: 'z', data: 'z', keyType: 'z' };
  expect(Object.entries(toCsrSubject(given))).toEqual([
    ['cn', 'x'],
    ['o', 'y'],
  ]);
});
