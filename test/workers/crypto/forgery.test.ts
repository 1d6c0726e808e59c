/** Records that are well sealed but should not be: what only the checks beyond the AEAD can tell. */
import { expect, test } from 'bun:test';
import { wrapDekSealed } from '../../../workers/crypto/item/envelope.ts';
import { openContent, openItem, sealContent, sealItem } from '../../../workers/crypto/item/item.ts';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import {
  generationOf,
  newGeneration,
  publicHalfOf,
  unlockedKey,
} from '../../../workers/crypto/key/unlocked.ts';
import { unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { aad } from '../../../workers/crypto/primitives/aad.ts';
import { concat, IntegrityError, u32, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { sealInto, sha256, TAG_BYTES } from '../../../workers/crypto/primitives/symmetric.ts';
import {
  CONTEXT,
  expectRefused,
  FLOOR,
  filled,
  IDS,
  openNewKey,
  openWhenReady,
  PASSPHRASE,
  recordOf,
  sealerOf,
  sealWhenReady,
} from './fixture.ts';

const sealer = sealerOf();
const { key } = await openNewKey();
const owner = { gen: 1, publicHalf: publicHalfOf(generationOf(key)) };
const DEK = filled(32, 31);
const PART = { ...IDS, part: 0 as const };

test('a card sealed to the public key by a writer of the store is refused by the metadata alone', async () => {
  const honest = await sealWhenReady(owner, IDS, () =>
    sealItem({ ...IDS, owner, part0: filled(10, 1), sealer }),
  );
  const meta = openMeta(sealer, IDS, honest.meta);
  const envelope = wrapDekSealed(owner, PART, DEK);
  const item = sealContent(envelope, DEK, { ...PART, revision: meta.revision }, filled(10, 2));
  const forged = { ...IDS, key, item, meta, nowMs: 0 };
  expectRefused(() => openItem(forged));
  const hash0 = new Uint8Array(new Bun.CryptoHasher('sha256').update(forged.item).digest());
  const opened = await openWhenReady(key, IDS, [item], () =>
    openItem({ ...forged, meta: { ...meta, hash0 } }),
  );
  expect(opened.part0[0]).toBe(2);
});

test('a private half that is not of the public key beside it is refused', async () => {
  const { publicKey } = generationOf(key);
  const mixed = unlockedKey(CONTEXT.kid, filled(32, 2), [{ ...newGeneration(1), publicKey }]);
  const record = await recordOf(CONTEXT, mixed);
  await expect(unlockVaultKey(CONTEXT, record, PASSPHRASE, FLOOR)).rejects.toBeInstanceOf(IntegrityError);
});

test('content with more or less padding than its length asks for is refused', () => {
  const ctx = { ...PART, reference: 'ref', revision: filled(8, 1) };
  const header = Uint8Array.of(1, 0x13, 1, 0);
  const hash = sha256(utf8('ref'));
  const bound = aad('cardvault content', [
    header,
    ctx.env,
    ctx.aid,
    ctx.kid,
    ctx.token,
    hash,
    ctx.revision,
    0,
  ]);
  const sealPadded = (length: number, paddedBytes: number): Uint8Array => {
    const padded = concat([u32(length), new Uint8Array(paddedBytes - 4)]);
    const body = new Uint8Array(paddedBytes + TAG_BYTES);
    sealInto(body, 0, DEK, filled(12, 1), padded, bound);
    return concat([header, filled(12, 1), body]);
  };
  expect(openContent(DEK, ctx, sealPadded(5, 256)).length).toBe(5);
  for (const [length, padded] of [
    [5, 512],
    [5, 9],
    [253, 256],
    [2 ** 32 - 1, 256],
  ] as const) {
    expectRefused(() => openContent(DEK, ctx, sealPadded(length, padded)));
  }
});

test('metadata of another shape is refused', () => {
  const place = ['record', IDS.aid, 'item', [IDS.kid, IDS.token]] as const;
  const { meta } = sealItem({ ...IDS, reference: 'ref', owner: key, part0: filled(1, 1), sealer });
  const plain = new Uint8Array(sealer.open(...place, meta));
  const reopen = (bytes: Uint8Array) => openMeta(sealer, IDS, sealer.seal(...place, bytes));
  expect(reopen(plain).reference).toBe('ref');
  const changed = (at: number, value: number): Uint8Array => plain.with(at, value);
  const others = [
    concat([plain, new Uint8Array(64)]),
    plain.subarray(0, 63),
    new Uint8Array(0),
    changed(0, 2),
    changed(45, 64),
    changed(45, 3),
    changed(47, 200),
    changed(48, 0xff),
  ];
  for (const bytes of others) {
    expectRefused(() => reopen(bytes));
  }
});
