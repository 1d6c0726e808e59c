/** What is sealed to X-Wing: envelopes, who waits for what, and keys that have generations of both suites. */
import { describe, expect, test } from 'bun:test';
import {
  missingExporters,
  type PartContext,
  unwrapDek,
  wrapDekSealed,
} from '../../../workers/crypto/item/envelope.ts';
import { generationOf, publicHalfOf, type UnlockedKey } from '../../../workers/crypto/key/unlocked.ts';
import { changePassphrase, parseVaultKey, unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { openWarm, sealWarm } from '../../../workers/crypto/key/warm.ts';
import {
  IntegrityError,
  utf8,
  X_WING_SUITE,
  X25519_SUITE,
} from '../../../workers/crypto/primitives/bytes.ts';
import { X_WING_PUBLIC_BYTES } from '../../../workers/crypto/primitives/x-wing.ts';
import {
  CONTEXT,
  FLOOR,
  filled,
  flipped,
  IDS,
  isRefusal,
  openNewKey,
  openOldKey,
  openWhenReady,
  PASSPHRASE,
  sealWhenReady,
  toHex,
} from '../crypto/fixture.ts';

const NEXT = utf8('a second passphrase');
const DEK = filled(32, 21);
const CTX: PartContext = { ...IDS, part: 0 };
const ENC_END = 8 + 1120;

const { record, key } = await openNewKey();
const old = await openOldKey();
const { record: changed } = await changePassphrase(CONTEXT, old, PASSPHRASE, NEXT, FLOOR);
const { key: mixed } = await unlockVaultKey(CONTEXT, changed, NEXT, FLOOR);

function newestOf(of: UnlockedKey) {
  const newest = generationOf(of);
  return { gen: newest.gen, publicHalf: publicHalfOf(newest) };
}
async function seal(of: UnlockedKey, ctx = CTX, gen = newestOf(of).gen): Promise<Uint8Array> {
  const target = { ...newestOf(of), gen };
  return await sealWhenReady(target, ctx, () => wrapDekSealed(target, ctx, DEK));
}
async function open(of: UnlockedKey, envelope: Uint8Array, ctx = CTX): Promise<string> {
  return toHex(await openWhenReady(of, ctx, [envelope], () => unwrapDek(of, ctx, envelope)));
}
/** What is refused must be so with one of the two errors that callers know. */
async function isRefused(opened: Promise<unknown>): Promise<boolean> {
  return await opened.then(() => false, isRefusal);
}

describe('an envelope', () => {
  test('opens with its key, and has the lengths of the page', async () => {
    const envelope = await seal(key);
    expect([envelope.length, envelope[2], newestOf(key).publicHalf.length]).toEqual([
      1188,
      X_WING_SUITE,
      X_WING_PUBLIC_BYTES,
    ]);
    expect(await open(key, envelope)).toBe(toHex(DEK));
  });

  test('another context, key or generation is refused', async () => {
    const { key: stranger } = await openNewKey();
    const envelope = await seal(key);
    expect(await isRefused(open(stranger, envelope))).toBe(true);
    expect(await isRefused(open(mixed, envelope))).toBe(true);
    expect(await isRefused(open(key, await seal(key, CTX, 2)))).toBe(true);
    const others = [{ env: 'production' }, { aid: 'x' }, { kid: 'x' }, { token: 'x' }, { part: 1 as const }];
    for (const other of others) {
      const ctx: PartContext = { ...CTX, ...other };
      expect(await isRefused(open({ ...key, kid: ctx.kid }, envelope, ctx))).toBe(true);
    }
  });

  test('that names the other suite is refused: no one is talked down to the weaker one', async () => {
    const envelope = await seal(mixed);
    const short = new Uint8Array(100);
    short.set(envelope.subarray(0, 8));
    short.set(envelope.subarray(ENC_END - 32, ENC_END), 8);
    short.set(envelope.subarray(ENC_END), 40);
    short[2] = X25519_SUITE;
    expect(await isRefused(open(mixed, short))).toBe(true);
    const claimed = new Uint8Array(envelope);
    claimed[7] = 1;
    expect(await isRefused(open(mixed, claimed))).toBe(true);
  });
});

describe('a set-up', () => {
  test('is waited for once, and then serves many at once', async () => {
    const target = { ...newestOf(key), gen: 1 };
    const place = { ...CTX, kid: 'waited' };
    expect(() => wrapDekSealed(target, place, DEK)).toThrow(IntegrityError);
    const first = await sealWhenReady(target, place, () => wrapDekSealed(target, place, DEK));
    const encs = Array.from({ length: 20 }, () =>
      toHex(wrapDekSealed(target, place, DEK).subarray(8, ENC_END)),
    );
    expect(new Set(encs)).toEqual(new Set([toHex(first.subarray(8, ENC_END))]));
    const others = { ...place, env: 'production' };
    const other = await sealWhenReady(target, others, () => wrapDekSealed(target, others, DEK));
    expect(toHex(other.subarray(8, ENC_END))).not.toBe(encs[0]);
  });

  test('is replaced after 1,024 envelopes', async () => {
    const target = newestOf(key);
    const place = { ...CTX, kid: 'many' };
    const encs = new Set<string>();
    for (let i = 0; i < 2100; i++) {
      const envelope = await sealWhenReady(target, place, () => wrapDekSealed(target, place, DEK));
      encs.add(toHex(envelope.subarray(8, ENC_END)));
    }
    expect(encs.size).toBe(3);
  });

  test('to a public half that is none is refused', async () => {
    const { publicHalf } = newestOf(key);
    const place = { ...CTX, kid: 'none' };
    for (const bad of [
      publicHalf.subarray(1),
      new Uint8Array(publicHalf).fill(0, 1184),
      new Uint8Array(publicHalf).fill(0xff, 0, 1184),
      filled(31, 1),
    ]) {
      const target = { gen: 1, publicHalf: bad };
      const sealed = sealWhenReady(target, place, () => wrapDekSealed(target, place, DEK));
      await expect(sealed).rejects.toBeInstanceOf(IntegrityError);
    }
  });

  test('is opened once: a later request recalls it, and none is refused for another one', async () => {
    const processKey = filled(32, 3);
    const blob = sealWarm(processKey, CONTEXT, record, PASSPHRASE, key);
    const envelope = await seal(key, { ...CTX, token: 'recalled' });
    const bad = flipped(envelope, 700);
    const place = { ...CTX, token: 'recalled' };
    {
      using opened = openWarm(processKey, CONTEXT, blob, PASSPHRASE) ?? key;
      await open(opened, envelope, place);
      expect(await isRefused(open(opened, bad, place))).toBe(true);
    }
    using later = openWarm(processKey, CONTEXT, blob, PASSPHRASE) ?? key;
    expect(missingExporters(later, place, [envelope, bad])).toBeUndefined();
    expect(toHex(unwrapDek(later, place, envelope))).toBe(toHex(DEK));
    expect(() => unwrapDek(later, place, bad)).toThrow(IntegrityError);
  });
});

describe('a key from before X-Wing', () => {
  test('keeps its record until its passphrase changes, and then says which suite each generation has', () => {
    expect([old.record[2], changed[2], record[2]]).toEqual([X25519_SUITE, X_WING_SUITE, X_WING_SUITE]);
    const suites = (of: Uint8Array) => parseVaultKey(of).publicHalves.map(({ suite }) => suite);
    expect(suites(old.record)).toEqual([X25519_SUITE]);
    expect(suites(changed)).toEqual([X25519_SUITE, X_WING_SUITE]);
  });

  test('still opens what was sealed to its X25519 half', async () => {
    const envelope = await seal(old.key);
    expect([envelope.length, await open(mixed, envelope)]).toEqual([100, toHex(DEK)]);
  });

  test('whose record claims another suite of a generation is refused', async () => {
    const at = 4 + 1 + CONTEXT.kid.length + 4;
    expect([changed[at], changed[at + 33]]).toEqual([X25519_SUITE, X_WING_SUITE]);
    for (const [place, suite] of [
      [at, X_WING_SUITE],
      [at + 33, X25519_SUITE],
      [at, 3],
    ] as const) {
      const claimed = new Uint8Array(changed);
      claimed[place] = suite;
      await expect(unlockVaultKey(CONTEXT, claimed, NEXT, FLOOR)).rejects.toBeInstanceOf(IntegrityError);
    }
  });
});
