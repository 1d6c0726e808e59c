/** Work that needs what the runtime gives later runs again: one wait for all that a job needs, and none that waits for ever. */
import { describe, expect, spyOn, test } from 'bun:test';
import { type PartContext, unwrapDek, wrapDekSealed } from '../../../workers/crypto/item/envelope.ts';
import { openPatched, sealItem, sealPatch } from '../../../workers/crypto/item/item.ts';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import { generationOf, publicHalfOf, type UnlockedKey } from '../../../workers/crypto/key/unlocked.ts';
import { changePassphrase, unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { IntegrityError, textOf, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { eachReady, NotYet, whenReady } from '../../../workers/crypto/primitives/not-yet.ts';
import { CONTEXT, FLOOR, filled, IDS, openNewKey, PASSPHRASE, sealerOf, toHex } from '../crypto/fixture.ts';

const CTX: PartContext = { ...IDS, part: 0 };
const DEK = filled(32, 21);
const NEXT = utf8('a second passphrase');
const RUNS_MAX = 20;

const { record } = await openNewKey();
const { record: changed } = await changePassphrase(CONTEXT, { record }, PASSPHRASE, NEXT, FLOOR);
const { key } = await unlockVaultKey(CONTEXT, changed, NEXT, FLOOR);

function targetOf(of: UnlockedKey) {
  const newest = generationOf(of);
  return { gen: newest.gen, publicHalf: publicHalfOf(newest) };
}

/** Each run opens the key anew, as that of a job does. */
function reopened(): UnlockedKey {
  const generations = key.generations.map(({ gen, suite, privateKey, publicKey }) => ({
    gen,
    suite,
    privateKey,
    publicKey,
  }));
  return { ...key, generations };
}

/** What a job gives, and how often it has run; one that runs for ever fails. */
async function runs<T>(work: (opened: UnlockedKey) => T) {
  let count = 0;
  const result = await whenReady(() => {
    count++;
    if (count > RUNS_MAX) {
      throw new RangeError('runs for ever');
    }
    return work(reopened());
  });
  return { result, count };
}

test('an envelope that claims another generation keeps no job waiting for ever', async () => {
  const target = targetOf(key);
  const sealed = await whenReady(() => wrapDekSealed(target, CTX, DEK));
  const claimed = new Uint8Array(sealed);
  claimed[7] = 1;
  const { result } = await runs((opened) =>
    // As a page does: all are tried before the job waits.
    eachReady([claimed, sealed], (envelope) => {
      try {
        return toHex(unwrapDek(opened, CTX, envelope));
      } catch (error) {
        if (error instanceof IntegrityError) {
          return 'refused';
        }
        throw error;
      }
    }),
  );
  expect(result).toEqual(['refused', toHex(DEK)]);
});

test('an item whose patches are of many set-ups waits for all of them at once', async () => {
  const target = { ...targetOf(key), tokenKey: key.tokenKey };
  const sealer = sealerOf();
  const layers = Array.from({ length: 8 }, (_, i) => `layer ${i}`);
  const [whole = '', ...patches] = layers;
  let stored = await whenReady(() => sealItem({ ...IDS, owner: target, part0: utf8(whole), sealer }));
  for (const patch of patches) {
    // Another generation on the way displaces the set-up of the last layer.
    await whenReady(() => wrapDekSealed({ ...target, gen: 3 }, CTX, DEK));
    const { item, meta } = stored;
    const request = { ...IDS, item, meta: openMeta(sealer, IDS, meta), nowMs: 0, owner: target, sealer };
    stored = await whenReady(() => sealPatch({ ...request, names: [patch], part0: utf8(patch) }));
  }
  const { item } = stored;
  const meta = openMeta(sealer, IDS, stored.meta);
  const { result, count } = await runs((opened) =>
    openPatched({ ...IDS, key: opened, item, meta, nowMs: 0 }),
  );
  expect(result.map(({ part0 }) => textOf(part0))).toEqual(layers);
  expect(count).toBe(2);
});

test('captures that come together make one set-up, whatever came before them', async () => {
  const made = spyOn(crypto.subtle, 'encapsulateBits' as never);
  const place = { ...CTX, kid: 'together' };
  const seal = async (gen: number) =>
    await whenReady(() => wrapDekSealed({ ...targetOf(key), gen }, place, DEK));
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

/** Work that throws each of these, one a run, and then gives how often it has run. */
function worker(errors: readonly Error[]): { readonly work: () => number; readonly runs: () => number } {
  let runs = 0;
  const work = () => {
    const error = errors[runs];
    runs++;
    if (error) {
      throw error;
    }
    return runs;
  };
  return { work, runs: () => runs };
}

describe('work', () => {
  test('that fails does so at once, and is not run again', () => {
    const { work, runs } = worker([new RangeError('no')]);
    expect(() => whenReady(work)).toThrow(RangeError);
    expect(runs()).toBe(1);
  });

  test('is run again when what it needs is ready, as often as it needs something', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { work, runs } = worker([new NotYet(promise), new NotYet(Promise.resolve())]);
    let ended = 0;
    const result = whenReady(work, () => {
      ended++;
    });
    await Bun.sleep(1);
    expect([runs(), ended]).toEqual([1, 0]);
    resolve();
    expect(await result).toBe(3);
    expect(ended).toBe(2);
  });

  test('fails with what it waited for, and with what it fails with later', async () => {
    const late = new NotYet(Promise.reject(new RangeError('late')));
    await expect(Promise.resolve(whenReady(worker([late]).work))).rejects.toBeInstanceOf(RangeError);
    const { work, runs } = worker([new NotYet(Promise.resolve()), new TypeError('no')]);
    let ended = 0;
    const result = Promise.resolve(whenReady(work, () => ended++));
    await expect(result).rejects.toBeInstanceOf(TypeError);
    expect([runs(), ended]).toEqual([2, 1]);
  });
});
