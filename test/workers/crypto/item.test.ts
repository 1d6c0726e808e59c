import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type OpenedMeta, openMeta, sealMeta } from '../../../workers/crypto/item/meta.ts';
import type { UnlockedKey } from '../../../workers/crypto/key/unlocked.ts';
import { utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import {
  expectDamageRefused,
  expectRefused,
  filled,
  IDS,
  openItemReady,
  openOldKey,
  sealerOf,
  sealItemReady,
  toHex,
} from './fixture.ts';

const sealer = sealerOf();
const { key } = await openOldKey();
const NOW = 1_700_000_000_000;
const PART0 = utf8('{"card_number":"4111111111111111"}');
const PART1 = utf8('{"cvv":"123"}');

function publicOwner(of: UnlockedKey) {
  return {
    gen: 1,
    publicHalf: of.generations[0]?.publicKey ?? filled(0, 0),
  };
}
const owners = { 'passphrase in hand': key, 'public key only': publicOwner(key) } as const;

function sealBoth(
  owner: (typeof owners)[keyof typeof owners],
  expiresAtMs = 0,
  reference: string | undefined = 'ref',
) {
  return sealItemReady({
    ...IDS,
    ...(reference === undefined ? {} : { reference }),
    owner,
    part0: PART0,
    part1: { bytes: PART1, expiresAtMs },
    sealer,
  });
}

function open(
  sealed: { readonly item: Uint8Array; readonly meta: Uint8Array; readonly sad?: Uint8Array },
  changes: {
    readonly meta?: OpenedMeta;
    readonly item?: Uint8Array;
    readonly sad?: Uint8Array | null;
    readonly nowMs?: number;
  } = {},
) {
  const sad = changes.sad === null ? undefined : (changes.sad ?? sealed.sad);
  return openItemReady({
    ...IDS,
    key,
    item: changes.item ?? sealed.item,
    meta: changes.meta ?? openMeta(sealer, IDS, sealed.meta),
    ...(sad ? { sad } : {}),
    nowMs: changes.nowMs ?? NOW,
  });
}

describe.each(Object.entries(owners))('an item sealed with the %s', (_, owner) => {
  test('round trip of anything', () => {
    const reference = fc.option(fc.string({ unit: 'grapheme', maxLength: 60 }), { nil: undefined });
    const part = fc.uint8Array({ maxLength: 6000 });
    fc.assert(
      fc.property(part, fc.option(part, { nil: undefined }), reference, (part0, bytes, text) => {
        const sealed = sealItemReady({
          ...IDS,
          owner,
          part0,
          ...(bytes ? { part1: { bytes, expiresAtMs: NOW + 1 } } : {}),
          ...(text === undefined ? {} : { reference: text }),
          sealer,
        });
        const meta = openMeta(sealer, IDS, sealed.meta);
        expect(meta.reference).toBe(text);
        expect(meta.gen).toBe(sealed.gen);
        const opened = open(sealed);
        expect(toHex(opened.part0)).toBe(toHex(part0));
        expect(opened.part1 && toHex(opened.part1)).toBe(bytes && toHex(bytes));
      }),
    );
  });

  test('damage is refused by the cryptography too, not by the hashes alone', () => {
    const sealed = sealBoth(owner);
    const meta = openMeta(sealer, IDS, sealed.meta);
    const hashOf = (bytes: Uint8Array) =>
      new Uint8Array(new Bun.CryptoHasher('sha256').update(bytes).digest());
    expectDamageRefused(sealed.item, (item) =>
      open(sealed, { item, meta: { ...meta, hash0: hashOf(item) } }),
    );
  });

  test('parts, metadata and revisions do not mix', () => {
    const [one, other] = [sealBoth(owner), sealBoth(owner)];
    const meta = openMeta(sealer, IDS, one.meta);
    expectRefused(() => open(one, { item: other.item }));
    expectRefused(() => open(one, { sad: other.sad ?? null }));
    expectRefused(() => open(one, { item: one.sad ?? filled(0, 0) }));
    expectRefused(() => open(one, { sad: one.item }));
    const theirs = openMeta(sealer, IDS, other.meta);
    expectRefused(() => open(one, { meta: { ...meta, revision: theirs.revision } }));
    expectRefused(() => open(one, { meta: { ...meta, gen: 2 } }));
  });

  test.each([{ token: 'token-2' }, { kid: 'key-2' }, { aid: 'account-2' }, { env: 'production' }])(
    'refused under %p',
    (other) => {
      const sealed = sealBoth(owner);
      const ids = { ...IDS, ...other };
      const meta = openMeta(sealer, IDS, sealed.meta);
      const moved = { ...key, kid: ids.kid };
      expectRefused(() => openItemReady({ ...ids, key: moved, item: sealed.item, meta, nowMs: NOW }));
      expectRefused(() => openMeta(sealerOf(ids.env), ids, sealed.meta));
    },
  );

  test.each([undefined, '', 'ref ', 'Ref'])('refused under the reference %p', (reference) => {
    const sealed = sealBoth(owner);
    const { reference: _own, ...meta } = openMeta(sealer, IDS, sealed.meta);
    expectRefused(() =>
      open(sealed, { meta: { ...meta, ...(reference === undefined ? {} : { reference }) } }),
    );
  });

  test('another vault key does not open it', async () => {
    const sealed = sealBoth(owner);
    const { key: stranger } = await openOldKey();
    const meta = openMeta(sealer, IDS, sealed.meta);
    expectRefused(() =>
      openItemReady({
        ...IDS,
        key: stranger,
        item: sealed.item,
        meta,
        sad: sealed.sad ?? filled(0, 0),
        nowMs: NOW,
      }),
    );
  });
});

test('an empty reference is not none', () => {
  const sealed = sealBoth(key, 0, '');
  expect(openMeta(sealer, IDS, sealed.meta).reference).toBe('');
  const { reference: _own, ...meta } = openMeta(sealer, IDS, sealed.meta);
  expectRefused(() => open(sealed, { meta }));
});

describe('part 1 and time', () => {
  const sealed = sealBoth(key, NOW);
  const meta = openMeta(sealer, IDS, sealed.meta);

  test('before its expiry it must be there and match', () => {
    expect(toHex(open(sealed, { nowMs: NOW - 1 }).part1 ?? filled(0, 0))).toBe(toHex(PART1));
    expectRefused(() => open(sealed, { sad: null, nowMs: NOW - 1 }));
  });

  test('from its expiry on it is not used, there or not', () => {
    expect(open(sealed, { nowMs: NOW }).part1).toBeUndefined();
    expect(open(sealed, { nowMs: NOW, sad: null }).part1).toBeUndefined();
    expect(open(sealed, { nowMs: NOW, sad: filled(9, 9) }).part1).toBeUndefined();
  });

  test('without an expiry it must always be there', () => {
    const kept = sealBoth(key, 0);
    expect(toHex(open(kept, { nowMs: 8e15 }).part1 ?? filled(0, 0))).toBe(toHex(PART1));
    expectRefused(() => open(kept, { sad: null, nowMs: 8e15 }));
  });

  test('an item that has none must not come with one', () => {
    const plain = sealItemReady({ ...IDS, owner: key, part0: PART0, sealer });
    expect(open(plain)).toEqual({ part0: expect.anything() });
    expectRefused(() => open(plain, { sad: sealed.sad ?? null }));
  });

  test('its expiry can be brought forward without the vault key', () => {
    const sooner = sealMeta(sealer, IDS, {
      ...meta,
      sad: { hash: meta.sad?.hash ?? filled(32, 0), expiresAtMs: NOW - 10 },
    });
    const again = openMeta(sealer, IDS, sooner);
    expect(open(sealed, { meta: again, nowMs: NOW - 5 }).part1).toBeUndefined();
    expect(toHex(open(sealed, { meta: again, nowMs: NOW - 11 }).part1 ?? filled(0, 0))).toBe(toHex(PART1));
  });
});

/** Length of the envelope that the holder of the passphrase makes. */
const ENVELOPE_BYTES = 24;

describe('lengths', () => {
  const lengthOf = (length: number): number =>
    sealItemReady({ ...IDS, owner: key, part0: filled(length, 65), sealer }).item.length -
    ENVELOPE_BYTES -
    32;

  test('content grows in steps of 256 bytes up to 4 KiB, then of 1 KiB', () => {
    expect([0, 1, 252, 253, 508, 509, 4092, 4093, 5116, 5117].map(lengthOf)).toEqual([
      256, 256, 256, 512, 512, 768, 4096, 5120, 5120, 6144,
    ]);
  });

  test('metadata grows in steps of 64 bytes with the reference', () => {
    const sizes = [0, 16, 17, 80, 81, 255].map((n) => {
      const sealed = sealItemReady({ ...IDS, reference: 'r'.repeat(n), owner: key, part0: PART0, sealer });
      return sealed.meta.length - 52;
    });
    expect(sizes).toEqual([64, 64, 128, 128, 192, 320]);
  });
});

test('a key under another id cannot write', () => {
  expect(() => sealItemReady({ ...IDS, kid: 'key-2', owner: key, part0: PART0, sealer })).toThrow(RangeError);
});
