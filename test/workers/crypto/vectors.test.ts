import { describe, expect, test } from 'bun:test';
import { argon2Sync } from 'node:crypto';
import { IntegrityError } from '../../../workers/crypto/primitives/bytes.ts';
import { agree, generateKeyPair, importPrivate } from '../../../workers/crypto/primitives/hpke.ts';
import { checkStoredParams, deriveKek } from '../../../workers/crypto/primitives/kdf.ts';
import { hkdf, openSealed, sealInto, TAG_BYTES } from '../../../workers/crypto/primitives/symmetric.ts';
import { startCpuClock } from '../../helpers/cpu-clock.ts';
import gcm from '../../vectors/aes-256-gcm.json';
import argon2 from '../../vectors/argon2id.json';
import hkdfVectors from '../../vectors/hkdf-sha256.json';
import x25519 from '../../vectors/x25519.json';
import { filled, hex, toHex } from './fixture.ts';

describe('AES-256-GCM', () => {
  test.each(gcm.valid)('$name', ({ key, iv, aad, msg, ct, tag }) => {
    const out = new Uint8Array(hex(msg).length + TAG_BYTES);
    sealInto(out, 0, hex(key), hex(iv), hex(msg), hex(aad));
    expect(toHex(out)).toBe(ct + tag);
    expect(toHex(openSealed(hex(key), hex(iv), hex(ct + tag), hex(aad)))).toBe(msg);
  });

  test.each(gcm.invalid)('refuses: $name', ({ key, iv, aad, ct, tag }) => {
    expect(() => openSealed(hex(key), hex(iv), hex(ct + tag), hex(aad))).toThrow(IntegrityError);
  });
});

describe('HKDF-SHA-256', () => {
  test.each(hkdfVectors.valid)('RFC 5869, case $name', ({ ikm, salt, info, length, okm }) => {
    expect(toHex(hkdf(hex(ikm), hex(info), length, hex(salt)))).toBe(okm);
  });

  test.each(hkdfVectors.invalid)('differs: $name', ({ ikm, salt, info, length, okm }) => {
    expect(toHex(hkdf(hex(ikm), hex(info), length, hex(salt)))).not.toBe(okm);
  });
});

describe('Argon2id', () => {
  test.each(argon2.valid)('$name', ({ message, nonce, secret, associatedData, tag, ...costs }) => {
    const inputs = { message: hex(message), nonce: hex(nonce), secret: hex(secret) };
    const answer = argon2Sync('argon2id', {
      ...inputs,
      associatedData: hex(associatedData),
      ...costs,
      tagLength: 32,
    });
    expect(toHex(answer)).toBe(tag);
  });

  test.each(argon2.invalid)('refuses at once: $name', async ({ memoryKiB, passes, parallelism }) => {
    const params = { memoryKiB, passes, parallelism };
    expect(() => checkStoredParams(params)).toThrow(IntegrityError);
    const cpuMs = startCpuClock();
    await expect(deriveKek(filled(20, 1), filled(16, 2), params)).rejects.toBeInstanceOf(IntegrityError);
    expect(cpuMs()).toBeLessThan(100);
  });
});

describe('X25519', () => {
  test.each(x25519.valid)('$name', ({ privateKey, publicKey, shared }) => {
    expect(toHex(agree(importPrivate(hex(privateKey)), hex(publicKey)))).toBe(shared);
  });

  test('RFC 7748, 5.2, iterated 1,000 times', () => {
    let k = hex(x25519.iterated.start);
    let u = k;
    for (let i = 1; i <= 1000; i++) {
      [k, u] = [agree(importPrivate(k), u), k];
      if (i === 1) {
        expect(toHex(k)).toBe(x25519.iterated.after1);
      }
    }
    expect(toHex(k)).toBe(x25519.iterated.after1000);
  });

  test.each(x25519.invalid)('refuses the public key $name', ({ publicKey }) => {
    const { privateKey } = generateKeyPair();
    expect(() => agree(importPrivate(privateKey), hex(publicKey))).toThrow(IntegrityError);
  });

  test('refuses a private key of another length', () => {
    expect(() => importPrivate(filled(31, 1))).toThrow(IntegrityError);
    expect(() => importPrivate(filled(33, 1))).toThrow(IntegrityError);
  });
});
