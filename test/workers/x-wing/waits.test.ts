/** Set-ups that the runtime makes and opens later: one wait for all that a job needs, and none that waits for ever. */
import { expect, spyOn, test } from 'bun:test';
import {
  missingExporters,
  type PartContext,
  unwrapDek,
  wrapDekSealed,
} from '../../../workers/crypto/item/envelope.ts';
import { keptExporter } from '../../../workers/crypto/item/exporters.ts';
import { openPatched, partsOf, sealItem, sealPatch } from '../../../workers/crypto/item/item.ts';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import {
  generationOf,
  ownerKeyOf,
  publicHalfOf,
  type UnlockedKey,
  unlockedKey,
} from '../../../workers/crypto/key/unlocked.ts';
import { changePassphrase, unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { aad } from '../../../workers/crypto/primitives/aad.ts';
import { EMPTY, IntegrityError, textOf, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { sha256 } from '../../../workers/crypto/primitives/symmetric.ts';
import {
  CONTEXT,
  FLOOR,
  filled,
  IDS,
  openNewKey,
  PASSPHRASE,
  sealerOf,
  sealWhenReady,
  toHex,
} from '../crypto/fixture.ts';

const CTX: PartContext = { ...IDS, part: 0 };
const DEK = filled(32, 21);
const NEXT = utf8('a second passphrase');

const { record } = await openNewKey();
const { record: changed } = await changePassphrase(CONTEXT, { record }, PASSPHRASE, NEXT, FLOOR);
const { key } = await unlockVaultKey(CONTEXT, changed, NEXT, FLOOR);

function targetOf(of: UnlockedKey) {
  const newest = generationOf(of);
  return { gen: newest.gen, publicHalf: publicHalfOf(newest) };
}

/** The key as another job opens it. */
function reopened(): UnlockedKey {
  const generations = key.generations.map(({ gen, suite, privateKey, publicKey }) => ({
    gen,
    suite,
    privateKey,
    publicKey,
  }));
  return { ...key, generations };
}

test('an envelope that claims another generation keeps no job waiting for ever', async () => {
  const target = targetOf(key);
  const sealed = await sealWhenReady(target, CTX, () => wrapDekSealed(target, CTX, DEK));
  const claimed = new Uint8Array(sealed);
  claimed[7] = 1;
  const opened = reopened();
  await missingExporters(opened, CTX, [claimed, sealed]);
  expect(() => unwrapDek(opened, CTX, claimed)).toThrow(IntegrityError);
  expect(toHex(unwrapDek(opened, CTX, sealed))).toBe(toHex(DEK));
  expect(missingExporters(reopened(), CTX, [claimed, sealed])).toBeUndefined();
});

test('an item whose patches are of many set-ups waits for all of them at once', async () => {
  const target = { ...targetOf(key), tokenKey: key.tokenKey };
  const sealer = sealerOf();
  const layers = Array.from({ length: 8 }, (_, i) => `layer ${i}`);
  const [whole = '', ...patches] = layers;
  const seal = <T>(work: () => T) => sealWhenReady(target, CTX, work);
  let stored = await seal(() => sealItem({ ...IDS, owner: target, part0: utf8(whole), sealer }));
  for (const patch of patches) {
    // Another generation on the way displaces the set-up of the last layer.
    const other = { ...target, gen: 3 };
    await sealWhenReady(other, CTX, () => wrapDekSealed(other, CTX, DEK));
    const { item, meta } = stored;
    const request = { ...IDS, item, meta: openMeta(sealer, IDS, meta), nowMs: 0, owner: target, sealer };
    stored = await seal(() => sealPatch({ ...request, names: [patch], part0: utf8(patch) }));
  }
  const { item } = stored;
  const meta = openMeta(sealer, IDS, stored.meta);
  const opened = reopened();
  const parts = partsOf({ item, sad: EMPTY });
  expect(parts.filter((part) => part.length > 0)).toHaveLength(layers.length);
  await missingExporters(opened, CTX, parts);
  const read = openPatched({ ...IDS, key: opened, item, meta, nowMs: 0 });
  expect(read.map(({ part0 }) => textOf(part0))).toEqual(layers);
});

test('captures that come together make one set-up, whatever came before them', async () => {
  const made = spyOn(crypto.subtle, 'encapsulateBits' as never);
  const place = { ...CTX, kid: 'together' };
  const seal = async (gen: number) => {
    const target = { ...targetOf(key), gen };
    return await sealWhenReady(target, place, () => wrapDekSealed(target, place, DEK));
  };
  try {
    const sealed = await Promise.all(Array.from({ length: 50 }, () => seal(2)));
    expect(new Set(sealed.map((envelope) => toHex(envelope.subarray(8, 1128)))).size).toBe(1);
    expect(made).toHaveBeenCalledTimes(1);
    const mixed = await Promise.all([seal(3), seal(4), seal(3), seal(4)]);
    expect(mixed.map((envelope) => envelope[7])).toEqual([3, 4, 3, 4]);
  } finally {
    made.mockRestore();
  }
});

test('a key that is wiped meanwhile keeps nothing', async () => {
  const target = targetOf(key);
  const place = { ...CTX, aid: 'wiped' };
  const sealed = await sealWhenReady(target, place, () => wrapDekSealed(target, place, DEK));
  const enc = sealed.subarray(8, 1128);
  const name = [place.aid, place.kid, 2, sha256(enc).toBase64()].join(' ');
  const where = aad('cardvault exporter', [enc, place.env, place.aid, place.kid, 2]);
  const copies = key.generations.map((one) => ({ ...one, privateKey: new Uint8Array(one.privateKey) }));
  const own = unlockedKey(key.kid, new Uint8Array(key.tokenKey), copies);
  const waiting = missingExporters(own, place, [sealed]);
  own[Symbol.dispose]();
  await waiting;
  // The owner key that it would be wrapped under is zeros by now.
  expect(keptExporter(filled(32, 0), name, where)).toBeUndefined();
  await missingExporters(key, place, [sealed]);
  expect(keptExporter(ownerKeyOf(key, generationOf(key)), name, where)).toHaveLength(32);
});
