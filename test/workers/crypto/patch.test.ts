/** An item with patches that the first version with patches made: it must open for ever, and no damaged or moved form may. */
import { expect, test } from 'bun:test';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import { generationOfItem, openPatched } from '../../../workers/crypto/item/patch.ts';
import { unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { textOf, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { sha256 } from '../../../workers/crypto/primitives/symmetric.ts';
import { createServiceSealer } from '../../../workers/crypto/record/service-record.ts';
import golden from '../../vectors/golden-records.json';
import { damaged, expectRefused, FLOOR, hex, isRefusal } from './fixture.ts';

const { inputs, records, patchedItem } = golden;
const { env, aid, kid, token, sadExpiresAtMs } = inputs;
const keys = new Map([[inputs.ringId, hex(inputs.masterKey)]]);
const sealer = createServiceSealer({ env, ring: { writeId: inputs.ringId, keys } });
const record = hex(records.vaultKeyChanged);
const { key } = await unlockVaultKey({ env, aid, kid }, record, utf8(inputs.newPassphrase), FLOOR);
const stored = {
  ...{ env, aid, kid, token, key, nowMs: sadExpiresAtMs - 1 },
  meta: openMeta(sealer, { env, aid, kid, token }, hex(patchedItem.itemMeta)),
  ...{ item: hex(patchedItem.item), sad: hex(patchedItem.itemSad) },
};

function layersOf(request: typeof stored) {
  return openPatched(request).map(({ part0, part1 }) => ({
    ...{ part0: textOf(part0), ...(part1 ? { part1: textOf(part1) } : {}) },
  }));
}

test('its layers open in order, and its codes until they expire', () => {
  expect(layersOf(stored)).toEqual(patchedItem.layers);
  const late = layersOf({ ...stored, nowMs: sadExpiresAtMs });
  expect(late).toEqual(patchedItem.layers.map(({ part0 }) => ({ part0 })));
  expect(generationOfItem(stored.item)).toBe(2);
});

test('nothing of it opens where a byte is another one, or that is somewhere else', () => {
  for (const bad of damaged(stored.item)) {
    expectRefused(() => openPatched({ ...stored, item: bad }));
  }
  for (const bad of damaged(stored.sad)) {
    expectRefused(() => openPatched({ ...stored, sad: bad }));
  }
  expectRefused(() => openPatched({ ...stored, meta: { ...stored.meta, gen: 1 } }));
  for (const other of [{ env: 'production' }, { aid: 'other' }, { kid: 'other' }, { token: 'other' }]) {
    expectRefused(() => openPatched({ ...stored, ...other, key: { ...key, kid: other.kid ?? kid } }));
  }
});

test('with the hash of what a forger has changed, it is refused all the same, but for the tags that no reader uses', () => {
  for (const bad of damaged(stored.item)) {
    const meta = { ...stored.meta, hash0: sha256(bad) };
    try {
      expect(layersOf({ ...stored, item: bad, meta })).toEqual(patchedItem.layers);
      expect(bad.length).toBe(stored.item.length);
    } catch (error) {
      expect(isRefusal(error)).toBe(true);
    }
  }
  for (const bad of damaged(stored.sad)) {
    const sad = { hash: sha256(bad), expiresAtMs: sadExpiresAtMs };
    expectRefused(() => openPatched({ ...stored, sad: bad, meta: { ...stored.meta, sad } }));
  }
});
