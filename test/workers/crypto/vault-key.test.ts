import { afterEach, describe, expect, test } from 'bun:test';
import {
  changePassphrase,
  createVaultKey,
  parseVaultKey,
  setSummary,
  unlockVaultKey,
} from '../../../workers/crypto/key/vault-key.ts';
import { openWarm, sealWarm } from '../../../workers/crypto/key/warm.ts';
import { concat, IntegrityError, PassphraseError, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { ARGON2_DEFAULT, divideArgon2Memory } from '../../../workers/crypto/primitives/kdf.ts';
import { startCpuClock } from '../../helpers/cpu-clock.ts';
import { CONTEXT, damaged, FLOOR, filled, isRefusal, openNewKey, PASSPHRASE, toHex } from './fixture.ts';

const NEXT = utf8('a second passphrase, quite long');

function secretsOf(key: {
  tokenKey: Uint8Array;
  generations: readonly { privateKey: Uint8Array }[];
}): string[] {
  return [toHex(key.tokenKey), ...key.generations.map(({ privateKey }) => toHex(privateKey))];
}

describe('create and unlock', () => {
  test('a new key opens with its passphrase, at the default setting', async () => {
    const record = await createVaultKey(CONTEXT, PASSPHRASE, ARGON2_DEFAULT);
    expect(parseVaultKey(record).params).toEqual({ memoryKiB: 65_536, passes: 3, parallelism: 4 });
    const { key, upgraded } = await unlockVaultKey(CONTEXT, record, PASSPHRASE, ARGON2_DEFAULT);
    expect(upgraded).toBeUndefined();
    expect(key.kid).toBe(CONTEXT.kid);
    expect(key.generations.map(({ gen }) => gen)).toEqual([1]);
    expect(key.generations.map(({ publicKey }) => toHex(publicKey))).toEqual(
      parseVaultKey(record).publicHalves.map(({ publicKey }) => toHex(publicKey)),
    );
  });

  test('two keys with one passphrase share nothing', async () => {
    const [a, b] = await Promise.all([openNewKey(), openNewKey()]);
    const [one, other] = [parseVaultKey(a.record), parseVaultKey(b.record)];
    expect(toHex(one.salt)).not.toBe(toHex(other.salt));
    expect(new Set([...secretsOf(a.key), ...secretsOf(b.key)]).size).toBe(4);
    expect(toHex(a.record.subarray(-80))).not.toBe(toHex(b.record.subarray(-80)));
  });

  test.each([
    'correct horse battery stapl',
    'correct horse battery staple ',
    'Correct horse battery staple',
    '',
  ])('the passphrase %p is wrong', async (wrong) => {
    const { record } = await openNewKey();
    await expect(unlockVaultKey(CONTEXT, record, utf8(wrong), FLOOR)).rejects.toBeInstanceOf(PassphraseError);
  });

  test('a passphrase is its bytes: composed and decomposed forms differ, NUL counts', async () => {
    for (const [right, wrong] of [
      ['caf\u00e9 caf\u00e9', 'cafe\u0301 cafe\u0301'],
      ['abcdefgh\0', 'abcdefgh'],
      ['a b c d e f', 'a+b+c+d+e+f'],
    ] as const) {
      const record = await createVaultKey(CONTEXT, utf8(right), FLOOR);
      await unlockVaultKey(CONTEXT, record, utf8(right), FLOOR);
      await expect(unlockVaultKey(CONTEXT, record, utf8(wrong), FLOOR)).rejects.toBeInstanceOf(
        PassphraseError,
      );
    }
  });

  test('refused in another environment, account or under another id', async () => {
    const { record } = await openNewKey();
    for (const other of [{ env: 'production' }, { aid: 'account-2' }, { kid: 'key-2' }]) {
      const opened = unlockVaultKey({ ...CONTEXT, ...other }, record, PASSPHRASE, FLOOR);
      await expect(opened).rejects.toBeInstanceOf(IntegrityError);
    }
  });

  test('refuses settings under the floor or over the bounds', async () => {
    for (const bad of [
      { memoryKiB: 19_455 },
      { passes: 1 },
      { parallelism: 0 },
      { passes: 11 },
      { memoryKiB: 2 ** 21 },
    ]) {
      await expect(createVaultKey(CONTEXT, PASSPHRASE, { ...FLOOR, ...bad })).rejects.toBeInstanceOf(
        RangeError,
      );
    }
  });
});

describe('damage', () => {
  afterEach(() => divideArgon2Memory(1));

  test('every flipped byte, truncation and extension of a record of two generations is refused', async () => {
    // Most forms cost a derivation each: at its real cost the test would measure the machine.
    divideArgon2Memory(256);
    const { record } = await openNewKey();
    const { record: changed } = await changePassphrase(CONTEXT, { record }, PASSPHRASE, NEXT, FLOOR);
    const forms = [...damaged(changed)];
    let refused = 0;
    for (let at = 0; at < forms.length; at += 4) {
      const group = forms.slice(at, at + 4).map((form) => unlockVaultKey(CONTEXT, form, NEXT, FLOOR));
      for (const result of await Promise.allSettled(group)) {
        if (result.status === 'rejected' && isRefusal(result.reason)) {
          refused++;
        }
      }
    }
    expect(refused).toBe(2 * changed.length + 1);
  });

  test('a forged memory size is refused before it is paid for', async () => {
    const { record } = await openNewKey();
    const { salt } = parseVaultKey(record);
    const at = Buffer.from(record).indexOf(Buffer.from(salt)) + salt.length;
    const forged = concat([
      record.subarray(0, at),
      Uint8Array.of(4, 0, 0, 0, 255, 255, 255, 255),
      record.subarray(at + 8),
    ]);
    const cpuMs = startCpuClock();
    expect(() => parseVaultKey(forged)).toThrow(IntegrityError);
    await expect(unlockVaultKey(CONTEXT, forged, PASSPHRASE, FLOOR)).rejects.toBeInstanceOf(IntegrityError);
    // The memory that it asks for takes seconds to fill.
    expect(cpuMs()).toBeLessThan(100);
  });
});

describe('summaries', () => {
  test('are a trait of the record, which needs the passphrase and leaves all else', async () => {
    const { record, key } = await openNewKey();
    const { record: changed } = await changePassphrase(CONTEXT, { record }, PASSPHRASE, NEXT, FLOOR, true);
    expect([parseVaultKey(record).summary, parseVaultKey(changed).summary]).toEqual([false, true]);
    await expect(setSummary(CONTEXT, changed, PASSPHRASE, FLOOR, false)).rejects.toBeInstanceOf(
      PassphraseError,
    );
    const off = await setSummary(CONTEXT, changed, NEXT, FLOOR, false);
    expect([parseVaultKey(off).summary, parseVaultKey(off).gen]).toEqual([false, 2]);
    const opened = await unlockVaultKey(CONTEXT, off, NEXT, FLOOR);
    expect(secretsOf(opened.key).slice(0, 2)).toEqual(secretsOf(key));
    // The service alone cannot set it: the type is a part of what the passphrase has sealed.
    const forged = Uint8Array.from(off);
    forged[1] = changed[1] ?? 0;
    await expect(unlockVaultKey(CONTEXT, forged, NEXT, FLOOR)).rejects.toBeInstanceOf(IntegrityError);
  });
});

describe('passphrase change', () => {
  test('keeps all generations and the token key, adds one, and forgets the old passphrase', async () => {
    let { record, key } = await openNewKey();
    const first = secretsOf(key);
    const phrases = [PASSPHRASE, NEXT, utf8('third passphrase'), PASSPHRASE];
    for (let i = 1; i < phrases.length; i++) {
      const [old, next] = [phrases[i - 1] ?? PASSPHRASE, phrases[i] ?? PASSPHRASE];
      ({ record } = await changePassphrase(CONTEXT, { record }, old, next, FLOOR));
      ({ key } = await unlockVaultKey(CONTEXT, record, next, FLOOR));
      expect(key.generations.map(({ gen }) => gen)).toEqual(Array.from({ length: i + 1 }, (_, n) => n + 1));
      expect(parseVaultKey(record).gen).toBe(i + 1);
      await expect(unlockVaultKey(CONTEXT, record, old, FLOOR)).rejects.toBeInstanceOf(PassphraseError);
    }
    expect(secretsOf(key).slice(0, 2)).toEqual(first);
    expect(new Set(secretsOf(key)).size).toBe(5);
  });

  test('the old passphrase must be right', async () => {
    const { record } = await openNewKey();
    await expect(changePassphrase(CONTEXT, { record }, NEXT, NEXT, FLOOR)).rejects.toBeInstanceOf(
      PassphraseError,
    );
  });
});

describe('a risen setting', () => {
  test('rewrites the record at the next unlock, once', async () => {
    const { record, key } = await openNewKey();
    const higher = { memoryKiB: 20_480, passes: 3, parallelism: 2 };
    const first = await unlockVaultKey(CONTEXT, record, PASSPHRASE, higher);
    const upgraded = first.upgraded ?? new Uint8Array(0);
    expect(parseVaultKey(upgraded).params).toEqual(higher);
    expect(toHex(parseVaultKey(upgraded).salt)).not.toBe(toHex(parseVaultKey(record).salt));
    const second = await unlockVaultKey(CONTEXT, upgraded, PASSPHRASE, higher);
    expect(second.upgraded).toBeUndefined();
    expect(secretsOf(second.key)).toEqual(secretsOf(key));
  });

  test('a lowered setting leaves the record alone, and no value ever falls', async () => {
    const record = await createVaultKey(CONTEXT, PASSPHRASE, {
      memoryKiB: 20_480,
      passes: 3,
      parallelism: 1,
    });
    expect((await unlockVaultKey(CONTEXT, record, PASSPHRASE, FLOOR)).upgraded).toBeUndefined();
    const mixed = { memoryKiB: 21_504, passes: 2, parallelism: 1 };
    const { upgraded } = await unlockVaultKey(CONTEXT, record, PASSPHRASE, mixed);
    expect(parseVaultKey(upgraded ?? record).params).toEqual({
      memoryKiB: 21_504,
      passes: 3,
      parallelism: 1,
    });
  });
});

describe('warm blobs', async () => {
  const processKey = filled(32, 3);
  const { record, key } = await openNewKey();
  const blob = sealWarm(processKey, CONTEXT, record, PASSPHRASE, key);

  test('open with the passphrase and without the record', () => {
    const opened = openWarm(processKey, CONTEXT, blob, PASSPHRASE);
    expect(opened && secretsOf(opened)).toEqual(secretsOf(key));
    expect(opened?.generations.map(({ gen, publicKey }) => [gen, toHex(publicKey)])).toEqual(
      key.generations.map(({ gen, publicKey }) => [gen, toHex(publicKey)]),
    );
  });

  test('carry every generation', async () => {
    const { record: changed } = await changePassphrase(CONTEXT, { record }, PASSPHRASE, NEXT, FLOOR);
    const { key: two } = await unlockVaultKey(CONTEXT, changed, NEXT, FLOOR);
    const warm = sealWarm(processKey, CONTEXT, changed, NEXT, two);
    expect(secretsOf(openWarm(processKey, CONTEXT, warm, NEXT) ?? key)).toEqual(secretsOf(two));
  });

  test('undefined for another passphrase, process or context', () => {
    expect(openWarm(processKey, CONTEXT, blob, NEXT)).toBeUndefined();
    expect(openWarm(processKey, CONTEXT, blob, new Uint8Array(0))).toBeUndefined();
    expect(openWarm(filled(32, 4), CONTEXT, blob, PASSPHRASE)).toBeUndefined();
    for (const other of [{ env: 'production' }, { aid: 'account-2' }, { kid: 'key-2' }]) {
      expect(openWarm(processKey, { ...CONTEXT, ...other }, blob, PASSPHRASE)).toBeUndefined();
    }
  });
});

test('a wiped key holds zeros only', async () => {
  const { key } = await openNewKey();
  key[Symbol.dispose]();
  expect(secretsOf(key)).toEqual(['00'.repeat(32), '00'.repeat(32)]);
});
