import { describe, expect, test } from 'bun:test';
import { parseFormLink } from '../../../server/domain/form/link.ts';

const FILE = 'https://cdn.example/form.css';

describe('the hash of a link', () => {
  test.each([
    ['sha256', Buffer.alloc(32, 1).toString('base64')],
    ['sha384', Buffer.alloc(48, 1).toString('base64')],
    ['sha512', Buffer.alloc(64, 1).toString('base64')],
  ])('%s is as long as it must be', (name, hash) => {
    expect(parseFormLink(`${FILE}#${name}-${hash}`)).toEqual({
      href: FILE,
      origin: 'https://cdn.example',
      integrity: `${name}-${hash}`,
    });
    const digits = hash.replaceAll('=', '');
    const padding = hash.slice(digits.length);
    for (const wrong of [
      `${digits.slice(1)}${padding}`,
      `A${digits}${padding}`,
      `${digits}${padding}=`,
      `${digits.slice(1)}-${padding}`,
      '',
    ]) {
      expect(parseFormLink(`${FILE}#${name}-${wrong}`)).toBeUndefined();
    }
    for (const other of ['sha256', 'sha384', 'sha512', 'sha1', 'SHA256'].filter((each) => each !== name)) {
      expect(parseFormLink(`${FILE}#${other}-${hash}`)).toBeUndefined();
    }
  });
});
