/** Records with X-Wing that the first version with it made, of a key that had a generation before: each must open for ever. */
import { expect, test } from 'bun:test';
import { openCaptureWrap, openPolicy, openRetrieveWrap } from '../../../workers/crypto/endpoint/record.ts';
import { unwrapDek } from '../../../workers/crypto/item/envelope.ts';
import { openItem } from '../../../workers/crypto/item/item.ts';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import { generationOf, publicHalfOf } from '../../../workers/crypto/key/unlocked.ts';
import { unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { textOf, utf8, X_WING_SUITE, X25519_SUITE } from '../../../workers/crypto/primitives/bytes.ts';
import { whenReady } from '../../../workers/crypto/primitives/not-yet.ts';
import { createServiceSealer } from '../../../workers/crypto/record/service-record.ts';
import golden from '../../vectors/golden-records.json';
import { damaged, expectDamageRefused, FLOOR, hex, isRefusal, toHex } from '../crypto/fixture.ts';

const { inputs, recovery, xWing } = golden;
const ctx = { env: inputs.env, aid: inputs.aid, kid: inputs.kid };
const ids = { ...ctx, token: inputs.token };
const sealer = createServiceSealer({
  env: inputs.env,
  ring: { writeId: inputs.ringId, keys: new Map([[inputs.ringId, hex(inputs.masterKey)]]) },
});
const sealedKey = hex(recovery.vaultKeyChanged);
const { key } = await unlockVaultKey(ctx, sealedKey, utf8(inputs.newPassphrase), FLOOR);

function argsOf(kind: 'capture' | 'retrieve', wrap = hex(xWing.endpoints[kind].wrapRecord)) {
  const { id, gen, policyRecord, secret } = xWing.endpoints[kind];
  const place = { ...ctx, id, gen };
  return [sealer, place, openPolicy(sealer, place, hex(policyRecord)), wrap, utf8(secret)] as const;
}

test('the key', () => {
  expect(toHex(key.tokenKey)).toBe(xWing.tokenKey);
  expect(key.generations.map(({ suite }) => suite)).toEqual([X25519_SUITE, X_WING_SUITE]);
  expect(key.generations.map(({ privateKey }) => toHex(privateKey))).toEqual(xWing.privateKeys);
  expect(key.generations.map(({ publicKey }) => toHex(publicKey))).toEqual(xWing.publicKeys);
});

test('a sealed envelope', async () => {
  const open = async (envelope: Uint8Array) =>
    await whenReady(() => unwrapDek(key, { ...ids, part: 0 }, envelope));
  expect(toHex(await open(hex(xWing.sealedEnvelope)))).toBe(inputs.dek);
  for (const bad of damaged(hex(xWing.sealedEnvelope))) {
    expect(await open(bad).then(() => false, isRefusal)).toBe(true);
  }
});

test('a capture endpoint', () => {
  const opened = openCaptureWrap(...argsOf('capture'));
  expect(toHex(opened.publicHalf)).toBe(toHex(publicHalfOf(generationOf(key))));
  expect(toHex(opened.tokenKey)).toBe(xWing.tokenKey);
  expectDamageRefused(hex(xWing.endpoints.capture.wrapRecord), (bad) =>
    openCaptureWrap(...argsOf('capture', bad)),
  );
});

test('a retrieval endpoint, and a captured item through it', async () => {
  const opened = openRetrieveWrap(...argsOf('retrieve'));
  expect(opened.generations.map(({ privateKey }) => toHex(privateKey))).toEqual(xWing.privateKeys);
  const meta = openMeta(sealer, ids, hex(xWing.itemMeta));
  const stored = { item: hex(xWing.item), sad: hex(xWing.itemSad) };
  const request = { ...ids, ...stored, key: opened, meta, nowMs: inputs.sadExpiresAtMs - 1 };
  const { part0, part1 = hex('') } = await whenReady(() => openItem(request));
  expect([textOf(part0), textOf(part1)]).toEqual([inputs.part0, inputs.part1]);
});
