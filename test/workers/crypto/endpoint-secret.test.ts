import { describe, expect, test } from 'bun:test';
import {
  checkEndpointSecret,
  deriveEndpointKey,
  EndpointSecretError,
  endpointKeyOf,
  endpointSecretText,
  newEndpointSecret,
  parseEndpointSecret,
  type SecretKind,
} from '../../../workers/crypto/endpoint/record.ts';
import { aad } from '../../../workers/crypto/primitives/aad.ts';
import { utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { hkdf } from '../../../workers/crypto/primitives/symmetric.ts';
import { filled, flipped, toHex } from './fixture.ts';

const PLACE = { env: 'staging', aid: 'account-1', id: 'endpoint-1', kind: 'capture' } as const;
const KINDS: readonly [SecretKind, string][] = [
  ['capture', 'vcs1_'],
  ['retrieve', 'vrs1_'],
];
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const SALT = filled(16, 3);
const SECRET = filled(32, 9);

describe.each(KINDS)('the text of a %s secret', (kind, prefix) => {
  const place = { ...PLACE, kind };
  const text = endpointSecretText(kind, SECRET);
  const parsed = (given: string) => parseEndpointSecret(kind, utf8(given));

  test('10,000 are distinct, of the alphabet, and are read back', () => {
    const texts = Array.from({ length: 10_000 }, () => newEndpointSecret(place).text);
    expect(new Set(texts).size).toBe(texts.length);
    for (const one of texts) {
      expect(one).toMatch(new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`));
      const bytes = parsed(one);
      expect(bytes?.length).toBe(32);
      expect(endpointSecretText(kind, bytes ?? SECRET)).toBe(one);
    }
    const used = new Set(texts.join('').slice(0, 48 * 1000));
    expect([...ALPHABET].filter((character) => !used.has(character))).toEqual([]);
  });

  test('one last character of four is right', () => {
    const accepted = [...ALPHABET].filter((last) => parsed(text.slice(0, -1) + last) !== undefined);
    expect(accepted).toEqual([...ALPHABET].filter((_, i) => i % 4 === 0));
  });

  test('each place takes the 64 characters of its alphabet and no other byte', () => {
    for (let at = prefix.length; at < text.length - 1; at++) {
      for (let byte = 0; byte < 256; byte++) {
        const given = utf8(text);
        given[at] = byte;
        const isAllowed = ALPHABET.includes(String.fromCharCode(byte));
        expect(parseEndpointSecret(kind, given) !== undefined).toBe(isAllowed);
      }
    }
  });

  const other = kind === 'capture' ? 'vrs1_' : 'vcs1_';
  test.each([
    ['', 'nothing'],
    [prefix, 'the prefix alone'],
    [text.slice(prefix.length), 'no prefix'],
    [other + text.slice(prefix.length), 'the prefix of the other kind'],
    [prefix.toUpperCase() + text.slice(prefix.length), 'a prefix in capitals'],
    [prefix.replace('1', '2') + text.slice(prefix.length), 'another version'],
    [text.slice(0, -1), 'a character less'],
    [`${text}A`, 'a character more'],
    [`${text}=`, 'padding'],
    [` ${text}`, 'a space before'],
    [`${text}\n`, 'a line end'],
    [`${text.slice(0, 20)}é${text.slice(22)}`, 'a character of two bytes'],
    ['A'.repeat(100_000), 'a very long text'],
  ])('%p is refused: %s', (given) => {
    expect(parsed(given)).toBeUndefined();
  });
});

describe('what derives from a secret', () => {
  test('is HKDF-SHA-256 of it over the place and the salt', () => {
    const { key, commitment } = deriveEndpointKey(PLACE, SALT, SECRET);
    const info = aad('cardvault endpoint secret', ['staging', 'account-1', 'capture', 'endpoint-1', SALT]);
    expect(toHex(key) + toHex(commitment)).toBe(toHex(hkdf(SECRET, info, 64)));
  });

  test('has nothing in common with that of another place, salt or secret', () => {
    const of = (place: Parameters<typeof deriveEndpointKey>[0], salt: Uint8Array, secret: Uint8Array) => {
      const { key, commitment } = deriveEndpointKey(place, salt, secret);
      return [toHex(key), toHex(commitment)];
    };
    const all = [
      of(PLACE, SALT, SECRET),
      of({ ...PLACE, env: 'production' }, SALT, SECRET),
      of({ ...PLACE, aid: 'account-2' }, SALT, SECRET),
      of({ ...PLACE, id: 'endpoint-2' }, SALT, SECRET),
      of({ ...PLACE, kind: 'retrieve' }, SALT, SECRET),
      of({ ...PLACE, aid: 'account-1endpoint-1', id: '' }, SALT, SECRET),
      of(PLACE, flipped(SALT, 0), SECRET),
      of(PLACE, SALT, flipped(SECRET, 31)),
    ].flat();
    expect(new Set(all).size).toBe(16);
  });
});

describe('the check', () => {
  const { text, salt, commitment, key } = newEndpointSecret(PLACE);
  const check = { salt, commitment };

  test('takes the right secret and gives the key', () => {
    expect(checkEndpointSecret(PLACE, check, utf8(text))).toBe(true);
    expect(toHex(endpointKeyOf(PLACE, check, utf8(text)))).toBe(toHex(key));
  });

  test.each([
    ['another secret', PLACE, check, newEndpointSecret(PLACE).text],
    ['the secret of the other kind', PLACE, check, text.replace('vcs1_', 'vrs1_')],
    ['another kind of endpoint', { ...PLACE, kind: 'retrieve' as const }, check, text],
    [
      'its bytes under the other kind',
      { ...PLACE, kind: 'retrieve' as const },
      check,
      `vrs1_${text.slice(5)}`,
    ],
    ['another endpoint', { ...PLACE, id: 'endpoint-2' }, check, text],
    ['another account', { ...PLACE, aid: 'account-2' }, check, text],
    ['another environment', { ...PLACE, env: 'production' }, check, text],
    ['another salt', PLACE, { ...check, salt: flipped(salt, 0) }, text],
    ['another commitment', PLACE, { ...check, commitment: flipped(commitment, 31) }, text],
    ['a cut commitment', PLACE, { ...check, commitment: commitment.subarray(0, 31) }, text],
    ['the key as commitment', PLACE, { ...check, commitment: key }, text],
    ['no secret', PLACE, check, ''],
  ])('refuses %s', (_, place, given, secret) => {
    expect(checkEndpointSecret(place, given, utf8(secret))).toBe(false);
    expect(() => endpointKeyOf(place, given, utf8(secret))).toThrow(EndpointSecretError);
  });

  test('refuses a malformed secret even where the commitment is that of what stands in for it', () => {
    const zeros = deriveEndpointKey(PLACE, salt, new Uint8Array(32));
    const planted = { salt, commitment: zeros.commitment };
    expect(checkEndpointSecret(PLACE, planted, utf8('malformed'))).toBe(false);
    expect(checkEndpointSecret(PLACE, planted, utf8(endpointSecretText('capture', new Uint8Array(32))))).toBe(
      true,
    );
    expect(checkEndpointSecret(PLACE, planted, utf8('malformed'))).toBe(false);
  });
});
