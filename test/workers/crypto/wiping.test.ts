/** No buffer that is made while a key is sealed holds a secret of it afterwards. */
import { afterAll, expect, spyOn, test } from 'bun:test';
import type { SecretKind } from '../../../workers/crypto/endpoint/record.ts';
import { envelopeBytes, newDek } from '../../../workers/crypto/item/envelope.ts';
import { openItem, sealItem } from '../../../workers/crypto/item/item.ts';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import { generationOf, ownerKeyOf } from '../../../workers/crypto/key/unlocked.ts';
import { parseVaultKey, unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { sealWarm } from '../../../workers/crypto/key/warm.ts';
import { PassphraseError, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { deriveKek } from '../../../workers/crypto/primitives/kdf.ts';
import { createThreadContext } from '../../../workers/jobs/context.ts';
import { openWarmKey } from '../../../workers/jobs/key/open.ts';
import { endOpenings } from '../../../workers/jobs/openings.ts';
import { key as endpointKey, KINDS, make } from './endpoint-fixture.ts';
import {
  CONTEXT,
  FLOOR,
  filled,
  IDS,
  openNewKey,
  openOldKey,
  PASSPHRASE,
  sealerOf,
  sealItemReady,
  unwrapReady,
  wrapReady,
} from './fixture.ts';

const Original = globalThis.Uint8Array;
afterAll(() => {
  globalThis.Uint8Array = Original;
});

/** Notes the byte arrays that are made from now on, copies of others included. */
function watchArrays(): { readonly made: Uint8Array[]; readonly end: () => void } {
  const made: Uint8Array[] = [];
  const slice = Original.prototype.slice;
  const slicing = spyOn(Original.prototype, 'slice').mockImplementation(function (
    this: Uint8Array,
    ...range
  ) {
    const copy = slice.apply(this, range);
    made.push(copy);
    return copy;
  });
  globalThis.Uint8Array = new Proxy(Original, {
    construct(target, args, newTarget) {
      const array = Reflect.construct(target, args, newTarget === globalThis.Uint8Array ? target : newTarget);
      made.push(array);
      return array;
    },
  });
  return {
    made,
    end: () => {
      globalThis.Uint8Array = Original;
      slicing.mockRestore();
    },
  };
}

/** The byte arrays that `work` makes. */
function arraysMadeBy(work: () => unknown): Uint8Array[] {
  const { made, end } = watchArrays();
  try {
    work();
  } finally {
    end();
  }
  return made;
}

function holds(array: Uint8Array, secret: Uint8Array): boolean {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength).includes(Buffer.from(secret));
}

test('the search finds a secret that is left', () => {
  const secret = filled(32, 9);
  const made = arraysMadeBy(() => new Uint8Array(secret).slice());
  expect(made.filter((array) => holds(array, secret))).toHaveLength(2);
});

test('sealing a warm key leaves no private half, no token key and no passphrase behind', async () => {
  const { record, key } = await openNewKey();
  const made = arraysMadeBy(() => sealWarm(filled(32, 3), CONTEXT, record, PASSPHRASE, key));
  expect(made.length).toBeGreaterThan(1);
  for (const secret of [key.tokenKey, PASSPHRASE, ...key.generations.map(({ privateKey }) => privateKey)]) {
    expect(made.filter((array) => holds(array, secret))).toEqual([]);
  }
});

test('a right passphrase, and a wrong one, leave nothing behind that opens the key', async () => {
  const { record } = await openNewKey();
  const { salt, params } = parseVaultKey(record);
  for (const passphrase of [PASSPHRASE, utf8('another passphrase')]) {
    const { kek } = await deriveKek(passphrase, salt, params);
    const { made, end } = watchArrays();
    await unlockVaultKey(CONTEXT, record, passphrase, FLOOR)
      .then(({ key }) => key[Symbol.dispose]())
      .catch((error) => expect(error).toBeInstanceOf(PassphraseError))
      .finally(end);
    expect(made.length).toBeGreaterThan(1);
    expect(made.filter((array) => holds(array, kek))).toEqual([]);
  }
});

test.each([...KINDS])('making an endpoint leaves nothing of the key behind: %s', (kind: SecretKind) => {
  const made = arraysMadeBy(() => make(kind));
  expect(made.length).toBeGreaterThan(1);
  for (const secret of [endpointKey.tokenKey, ...endpointKey.generations.map((each) => each.privateKey)]) {
    expect(made.filter((array) => holds(array, secret))).toEqual([]);
  }
});

test('a frame leaves nothing of the keys that its jobs have opened, also when one fails', async () => {
  const { record, key } = await openOldKey();
  const processKey = filled(32, 3);
  const blob = sealWarm(processKey, CONTEXT, record, PASSPHRASE, key);
  const keys = [['a', filled(32, 7)]] as const;
  const context = createThreadContext({ env: CONTEXT.env, writeId: 'a', keys, processKey, argon2: FLOOR });
  const place = { ...IDS, part: 0 as const };
  const { publicKey: publicHalf, privateKey } = generationOf(key);
  const sealed = wrapReady({ gen: 1, publicHalf }, place, filled(32, 8));
  const secrets = [key.tokenKey, privateKey, new Original(ownerKeyOf(key, generationOf(key)))];
  const open = () => openWarmKey(context, CONTEXT, blob, PASSPHRASE) ?? key;
  const use = () => {
    newDek(open(), place);
    expect(unwrapReady(open(), place, sealed)).toEqual(Buffer.from(filled(32, 8)));
    expect(() => unwrapReady(open(), { ...place, token: 'other' }, sealed)).toThrow();
  };
  const during = arraysMadeBy(use);
  const exporter = [...(open().generations[0]?.exporters?.values() ?? [])].map((each) => new Original(each));
  expect(exporter).toHaveLength(1);
  expect(secrets.some((secret) => during.some((array) => holds(array, secret)))).toBe(true);
  endOpenings(context.openings);
  const made = [...during, ...arraysMadeBy(use)];
  endOpenings(context.openings);
  for (const secret of [...secrets, ...exporter, PASSPHRASE]) {
    expect(made.filter((array) => holds(array, secret))).toEqual([]);
  }
});

test('sealing an item leaves no plaintext behind', async () => {
  const { key } = await openNewKey();
  const sealer = sealerOf();
  const part0 = utf8('{"card_number":"4111111111111111"}');
  let item: Uint8Array | undefined;
  const made = arraysMadeBy(() => {
    const sealed = sealItem({ ...IDS, owner: key, part0, sealer });
    const meta = openMeta(sealer, IDS, sealed.meta);
    item = openItem({ ...IDS, key, item: sealed.item, meta, nowMs: 0 }).part0;
  });
  const left = made.filter((array) => holds(array, utf8('4111111111111111')));
  expect(left.every((array) => array.buffer === item?.buffer)).toBe(true);
  expect(made.length).toBeGreaterThan(left.length);
});

test('sealing an item to a public half leaves no data key behind', async () => {
  const { key } = await openOldKey();
  const { gen, publicKey: publicHalf } = generationOf(key);
  const sealer = sealerOf();
  let item: Uint8Array = new Original();
  const part0 = utf8('{"card_number":"4111111111111111"}');
  const made = arraysMadeBy(() => {
    ({ item } = sealItemReady({ ...IDS, owner: { gen, publicHalf }, part0, sealer }));
  });
  const envelope = item.subarray(0, envelopeBytes(item));
  const dek = unwrapReady(key, { ...IDS, part: 0 }, envelope);
  expect(made.length).toBeGreaterThan(1);
  expect(made.filter((array) => holds(array, dek))).toEqual([]);
});
