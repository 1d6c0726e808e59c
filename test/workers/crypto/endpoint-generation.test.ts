/** Endpoints and passphrase changes: what an old endpoint secret still opens, and what it never will. */
import { expect, test } from 'bun:test';
import {
  type CaptureKey,
  openCaptureWrap,
  openPolicy,
  openRetrieveWrap,
  type SecretKind,
  sealEndpoint,
} from '../../../workers/crypto/endpoint/record.ts';
import type { ItemOwner } from '../../../workers/crypto/item/envelope.ts';
import { openItem, sealItem } from '../../../workers/crypto/item/item.ts';
import { tokenDigest } from '../../../workers/crypto/item/lookup.ts';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import { generationOf, publicHalfOf, type UnlockedKey } from '../../../workers/crypto/key/unlocked.ts';
import { changePassphrase, unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { IntegrityError, textOf, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import {
  CONTEXT,
  FLOOR,
  IDS,
  openNewKey,
  openWhenReady,
  PASSPHRASE,
  sealerOf,
  sealWhenReady,
  toHex,
} from './fixture.ts';

const NEXT = utf8('a second passphrase, quite long');
const sealer = sealerOf();
const { record, key: first } = await openNewKey();
const { record: changed } = await changePassphrase(CONTEXT, { record }, PASSPHRASE, NEXT, FLOOR);
const { key: second } = await unlockVaultKey(CONTEXT, changed, NEXT, FLOOR);

/** An endpoint made of an open key, as what its opening takes. */
function endpointOf(kind: SecretKind, key: UnlockedKey) {
  const made = sealEndpoint(sealer, { ...CONTEXT, id: 'endpoint-1', kind }, utf8('{}'), key);
  const ids = { ...CONTEXT, id: 'endpoint-1', gen: made.gen };
  const policy = openPolicy(sealer, ids, made.policyRecord);
  return [sealer, ids, policy, made.wrapRecord, utf8(made.secret)] as const;
}
function captureOf(key: UnlockedKey): CaptureKey {
  return openCaptureWrap(...endpointOf('capture', key));
}
function retrievalOf(key: UnlockedKey): UnlockedKey {
  return openRetrieveWrap(...endpointOf('retrieve', key));
}

async function store(owner: ItemOwner, text: string) {
  const { item, meta, gen } = await sealWhenReady(owner, IDS, () =>
    sealItem({ ...IDS, owner, part0: utf8(text), sealer }),
  );
  return { item, gen, meta: openMeta(sealer, IDS, meta) };
}
type Stored = Awaited<ReturnType<typeof store>>;
async function read(key: UnlockedKey, { item, meta }: Stored): Promise<string> {
  const opened = await openWhenReady(key, IDS, [item], () => openItem({ ...IDS, key, item, meta, nowMs: 0 }));
  return textOf(opened.part0);
}

test('an old retrieval secret opens what was stored before the change, and nothing stored after it', async () => {
  const retrieval = retrievalOf(first);
  expect(retrieval.generations.map(({ gen }) => gen)).toEqual([1]);
  expect(await read(retrieval, await store(first, 'owned'))).toBe('owned');
  expect(await read(retrieval, await store(captureOf(first), 'captured'))).toBe('captured');
  for (const owner of [second, captureOf(second)]) {
    const later = await store(owner, 'later');
    expect(later.gen).toBe(2);
    await expect(read(retrieval, later)).rejects.toBeInstanceOf(IntegrityError);
    expect(await read(second, later)).toBe('later');
  }
});

test('nor does it when the later item claims to be of the old generation', async () => {
  const later = await store(second, 'later');
  const item = new Uint8Array(later.item);
  item[7] = 1;
  const hash0 = new Uint8Array(new Bun.CryptoHasher('sha256').update(item).digest());
  const claimed = { ...later, item, meta: { ...later.meta, gen: 1, hash0 } };
  await expect(read(retrievalOf(first), claimed)).rejects.toBeInstanceOf(IntegrityError);
});

test('a new retrieval secret opens what was stored before and after', async () => {
  const retrieval = retrievalOf(second);
  expect(retrieval.generations.map(({ gen }) => gen)).toEqual([1, 2]);
  for (const owner of [first, captureOf(first), second, captureOf(second)]) {
    expect(await read(retrieval, await store(owner, 'any'))).toBe('any');
  }
});

test('an old capture secret stores under its own generation only, which the owner still opens', async () => {
  const capture = captureOf(first);
  expect([capture.gen, toHex(capture.publicHalf)]).toEqual([1, toHex(publicHalfOf(generationOf(first)))]);
  const captured = await store(capture, 'captured');
  expect(captured.gen).toBe(1);
  expect(await read(second, captured)).toBe('captured');
  const pretended = await store({ ...capture, gen: 2 }, 'captured');
  await expect(read(second, pretended)).rejects.toBeInstanceOf(IntegrityError);
});

test('tokens made through either capture endpoint are the same as the owner makes', async () => {
  const digest = (key: { readonly tokenKey: Uint8Array }) =>
    toHex(tokenDigest(key.tokenKey, '4111111111111111', 'reference', 0));
  expect(digest(captureOf(first))).toBe(digest(first));
  expect(digest(captureOf(second))).toBe(digest(first));
});
