import { describe, expect, test } from 'bun:test';
import { IntegrityError, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import {
  deriveKek,
  divideArgon2Memory,
  hashGenerated,
  hashPassword,
  verifyGenerated,
  verifyPassword,
} from '../../../workers/crypto/primitives/kdf.ts';
import { createThreadContext } from '../../../workers/jobs/context.ts';
import { FLOOR, filled, toHex } from './fixture.ts';

const PEPPER = filled(32, 5);

describe('deriveKek', () => {
  test('is the same for the same inputs, and gives key and commitment that differ', async () => {
    const one = await deriveKek(utf8('passphrase'), filled(16, 1), FLOOR);
    const other = await deriveKek(utf8('passphrase'), filled(16, 1), FLOOR);
    expect(toHex(one.kek)).toBe(toHex(other.kek));
    expect(toHex(one.commitment)).toBe(toHex(other.commitment));
    expect(toHex(one.kek)).not.toBe(toHex(one.commitment));
  });

  test('another passphrase, salt or parameter gives another key', async () => {
    const all = await Promise.all([
      deriveKek(utf8('passphrase'), filled(16, 1), FLOOR),
      deriveKek(utf8('Passphrase'), filled(16, 1), FLOOR),
      deriveKek(utf8('passphrase'), filled(16, 2), FLOOR),
      deriveKek(utf8('passphrase'), filled(16, 1), { ...FLOOR, passes: 3 }),
      deriveKek(utf8('passphrase'), filled(16, 1), { ...FLOOR, parallelism: 2 }),
      deriveKek(utf8('passphrase'), filled(16, 1), { ...FLOOR, memoryKiB: 19_457 + 7 }),
    ]);
    expect(new Set(all.map(({ kek }) => toHex(kek))).size).toBe(all.length);
  });

  test.each([0, 15, 17])('refuses a salt of %p bytes', async (length) => {
    await expect(deriveKek(utf8('passphrase'), filled(length, 1), FLOOR)).rejects.toBeInstanceOf(
      IntegrityError,
    );
  });
});

describe('account passwords', () => {
  test('verify, and only with the same password and pepper', async () => {
    const phc = await hashPassword(utf8('secret word'), PEPPER);
    expect(phc).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(await verifyPassword(utf8('secret word'), PEPPER, phc)).toBe(true);
    expect(await verifyPassword(utf8('secret Word'), PEPPER, phc)).toBe(false);
    expect(await verifyPassword(utf8(''), PEPPER, phc)).toBe(false);
    expect(await verifyPassword(utf8('secret word'), filled(32, 6), phc)).toBe(false);
  });

  test('two verifiers of one password differ', async () => {
    expect(await hashPassword(utf8('secret word'), PEPPER)).not.toBe(
      await hashPassword(utf8('secret word'), PEPPER),
    );
  });

  const salt = 'A'.repeat(22);
  const tag = 'A'.repeat(43);
  test.each([
    '',
    `$argon2i$v=19$m=19456,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=16$m=19456,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=8,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=9999999,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=19456,t=99,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}A`,
    `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}\n`,
  ])('refuses the verifier %p', async (phc) => {
    await expect(verifyPassword(utf8('secret word'), PEPPER, phc)).rejects.toBeInstanceOf(IntegrityError);
  });
});

describe('generated passwords', () => {
  const password = utf8('Zq3_'.repeat(10).concat('abc'));

  test('verify, and only with the same password and pepper', () => {
    const hash = hashGenerated(password, PEPPER);
    expect(hash).toMatch(/^\$hmac-sha256\$v=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(hash).not.toBe(hashGenerated(password, PEPPER));
    expect(verifyGenerated(password, PEPPER, hash)).toBe(true);
    expect(verifyGenerated(utf8('another one'), PEPPER, hash)).toBe(false);
    expect(verifyGenerated(password, filled(32, 6), hash)).toBe(false);
  });

  test('are never those of no verifier', () => {
    expect(verifyGenerated(password, PEPPER, '')).toBe(false);
  });

  test.each([
    '$hmac-sha256$v=1$',
    `$hmac-sha256$v=2$${'A'.repeat(22)}$${'A'.repeat(43)}`,
    `$hmac-sha256$v=1$${'A'.repeat(23)}$${'A'.repeat(43)}`,
    `$hmac-sha256$v=1$${'A'.repeat(22)}$${'A'.repeat(43)}\n`,
    `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`,
  ])('refuse the verifier %p', (hash) => {
    expect(() => verifyGenerated(password, PEPPER, hash)).toThrow(IntegrityError);
  });
});

describe('cheap Argon2id', () => {
  const data = {
    env: 'staging',
    writeId: 'a',
    keys: [['a', filled(32, 1)]],
    processKey: filled(32, 2),
  } as const;

  test('changes what is derived, not what a record says', async () => {
    const real = await deriveKek(utf8('passphrase'), filled(16, 1), FLOOR);
    try {
      createThreadContext({ ...data, argon2: FLOOR, argon2Divisor: 256 });
      const cheap = await deriveKek(utf8('passphrase'), filled(16, 1), FLOOR);
      expect(toHex(cheap.kek)).not.toBe(toHex(real.kek));
      expect(await hashPassword(utf8('secret word'), PEPPER)).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$');
    } finally {
      divideArgon2Memory(1);
    }
    const again = await deriveKek(utf8('passphrase'), filled(16, 1), FLOOR);
    expect(toHex(again.kek)).toBe(toHex(real.kek));
  });

  test('is refused by a thread of a production vault', () => {
    const production = { ...data, env: 'production', argon2: FLOOR, argon2Divisor: 256 } as const;
    expect(() => createThreadContext(production)).toThrow(RangeError);
  });
});
