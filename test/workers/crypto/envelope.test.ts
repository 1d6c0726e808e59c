import { describe, expect, test } from 'bun:test';
import { createHmac, hkdfSync } from 'node:crypto';
import {
  envelopeGeneration,
  missingSender,
  newDek,
  type PartContext,
  untilSender,
  wrapDekSealed,
} from '../../../workers/crypto/item/envelope.ts';
import {
  generationOf,
  ownerKeyOf,
  type UnlockedKey,
  unlockedKey,
} from '../../../workers/crypto/key/unlocked.ts';
import { aad } from '../../../workers/crypto/primitives/aad.ts';
import { IntegrityError, TYPE, u32, writeHeader } from '../../../workers/crypto/primitives/bytes.ts';
import { sealMessage } from '../../../workers/crypto/primitives/symmetric.ts';
import lowOrder from '../../vectors/x25519.json';
import {
  CONTEXT,
  expectRefused,
  filled,
  flipped,
  hex,
  IDS,
  openNewKey,
  openOldKey,
  sealWhenReady,
  toHex,
  unwrapReady,
  wrapReady,
  x25519Generation,
} from './fixture.ts';

const DEK = filled(32, 21);
const CTX = { ...IDS, part: 0 as const };

const { key } = await openOldKey();
/** The same key a passphrase change later, all before there was X-Wing: see `test/workers/x-wing`. */
const newer = unlockedKey(CONTEXT.kid, key.tokenKey, [...key.generations, x25519Generation(2)]);

function publicOf(of: UnlockedKey, gen: number): Uint8Array {
  return of.generations[gen - 1]?.publicKey ?? filled(0, 0);
}
function newestOf(of: UnlockedKey) {
  return { gen: of.generations.length, publicHalf: publicOf(of, of.generations.length) };
}

/** What writers with the passphrase wrote before data keys were derived. */
function wrapOwned(of: UnlockedKey, ctx: PartContext): Uint8Array {
  const newest = generationOf(of);
  const head = new Uint8Array(8);
  writeHeader(head, TYPE.ownedEnvelope);
  head.set(u32(newest.gen), 4);
  const { env, aid, kid, token, part } = ctx;
  const place = aad('cardvault envelope', [head, env, aid, kid, token, part]);
  return sealMessage(ownerKeyOf(of, newest), head, DEK, place);
}

const wraps = {
  owned: (of: UnlockedKey, ctx = CTX) => wrapOwned(of, ctx),
  sealed: (of: UnlockedKey, ctx = CTX) => wrapReady(newestOf(of), ctx, DEK),
} as const;

describe.each(Object.entries(wraps))('an %s envelope', (_, wrap) => {
  test('opens with its key, and after later passphrase changes', () => {
    const envelope = wrap(key);
    expect(toHex(unwrapReady(key, CTX, envelope))).toBe(toHex(DEK));
    expect(toHex(unwrapReady(newer, CTX, envelope))).toBe(toHex(DEK));
  });

  test('of a newer generation is shut to whoever holds the older ones', () => {
    expectRefused(() => unwrapReady(key, CTX, wrap(newer)));
    expect(toHex(unwrapReady(newer, CTX, wrap(newer)))).toBe(toHex(DEK));
  });

  test('another context is refused', () => {
    const others = [{ env: 'production' }, { aid: 'x' }, { kid: 'x' }, { token: 'x' }, { part: 1 as const }];
    for (const other of others) {
      expectRefused(() =>
        unwrapReady({ ...key, kid: other.kid ?? key.kid }, { ...CTX, ...other }, wrap(key)),
      );
    }
  });

  test('two wraps of one data key share no bytes of key material', () => {
    const [one, other] = [toHex(wrap(key)), toHex(wrap(key))];
    expect(one.slice(-96)).not.toBe(other.slice(-96));
  });

  test('a wiped key opens nothing', async () => {
    const { key: own } = await openOldKey();
    const envelope = wrap(own);
    unwrapReady(own, CTX, envelope);
    own[Symbol.dispose]();
    expectRefused(() => unwrapReady(own, CTX, envelope));
  });
});

describe('a derived envelope', () => {
  const made = newDek(newer, CTX);

  test('gives its key again, also after later passphrase changes, and names its generation', () => {
    const old = newDek(key, CTX);
    expect(toHex(unwrapReady(key, CTX, old.envelope))).toBe(toHex(old.dek));
    expect(toHex(unwrapReady(newer, CTX, old.envelope))).toBe(toHex(old.dek));
    expect([old.dek.length, old.envelope.length, envelopeGeneration(made.envelope)]).toEqual([32, 24, 2]);
    expectRefused(() => unwrapReady(key, CTX, made.envelope));
  });

  test('is what the page says', () => {
    const { env, aid, kid, token, part } = CTX;
    const place = aad('cardvault data key', [made.envelope, env, aid, kid, token, part]);
    const ownerKey = hkdfSync(
      'sha256',
      newer.generations[1]?.privateKey ?? filled(0, 0),
      filled(0, 0),
      aad('cardvault owner key', [kid, 2]),
      32,
    );
    const expected = createHmac('sha256', new Uint8Array(ownerKey)).update(place).digest('hex');
    expect(toHex(made.dek)).toBe(expected);
  });

  test('no two give one key, and no change of bytes or place gives the same', () => {
    const keys = new Set(Array.from({ length: 200 }, () => toHex(newDek(newer, CTX).dek)));
    const places = [{ env: 'production' }, { aid: 'x' }, { kid: 'x' }, { token: 'x' }, { part: 1 as const }];
    for (const other of places) {
      const moved = { ...newer, kid: other.kid ?? newer.kid };
      keys.add(toHex(unwrapReady(moved, { ...CTX, ...other }, made.envelope)));
    }
    for (let at = 8; at < made.envelope.length; at++) {
      keys.add(toHex(unwrapReady(newer, CTX, flipped(made.envelope, at))));
    }
    expect(keys.size).toBe(200 + places.length + 16);
    expect(keys.has(toHex(made.dek))).toBe(false);
    expectRefused(() => unwrapReady({ ...newer, kid: 'x' }, CTX, made.envelope));
    for (let length = 0; length < 24; length++) {
      expectRefused(() => unwrapReady(newer, CTX, made.envelope.subarray(0, length)));
    }
  });

  test('gives another key once its vault key is wiped', async () => {
    const { key: own } = await openNewKey();
    const { envelope, dek } = newDek(own, CTX);
    own[Symbol.dispose]();
    expect(toHex(unwrapReady(own, CTX, envelope))).not.toBe(toHex(dek));
  });
});

describe('sealing to a public key', () => {
  test.each(lowOrder.invalid)('refuses the point $name', async ({ publicKey }) => {
    const target = { gen: 1, publicHalf: hex(publicKey) };
    expect(() => wrapDekSealed(target, CTX, DEK)).toThrow(IntegrityError);
    await expect(missingSender(target, CTX)).rejects.toBeInstanceOf(IntegrityError);
    expect(() => wrapDekSealed(target, CTX, DEK)).toThrow(IntegrityError);
  });

  test('an opener meets many set-ups', async () => {
    const publicHalf = publicOf(key, 1);
    const envelopes: Uint8Array[] = [];
    for (let i = 0; i < 300; i++) {
      await untilSender({ gen: 2 + (i % 2), publicHalf }, CTX);
      const target = { gen: 1, publicHalf };
      envelopes.push(await sealWhenReady(target, CTX, () => wrapDekSealed(target, CTX, DEK)));
    }
    expect(new Set(envelopes.map((envelope) => toHex(envelope.subarray(8, 40)))).size).toBe(300);
    for (const envelope of [...envelopes, ...envelopes]) {
      expect(toHex(unwrapReady(key, CTX, envelope))).toBe(toHex(DEK));
    }
  });
});
