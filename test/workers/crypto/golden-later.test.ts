/** Records of formats that came later, as the first version with each made them: they must open for ever, and no damaged or moved form may. */
import { expect, test } from 'bun:test';
import { openCaptureWrap, openPolicy, openRetrieveWrap } from '../../../workers/crypto/endpoint/record.ts';
import { missingExporters, unwrapDek } from '../../../workers/crypto/item/envelope.ts';
import { generationOfItem, openItem, openPatched, partsOf } from '../../../workers/crypto/item/item.ts';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import { generationOf, publicHalfOf } from '../../../workers/crypto/key/unlocked.ts';
import {
  changeText,
  openAuditEntry,
  openAuditMark,
  parseChange,
} from '../../../workers/crypto/log/audit-entry.ts';
import { openLogEntry } from '../../../workers/crypto/log/entry.ts';
import { textOf, utf8, X_WING_SUITE, X25519_SUITE } from '../../../workers/crypto/primitives/bytes.ts';
import { sha256 } from '../../../workers/crypto/primitives/symmetric.ts';
import {
  damaged,
  expectDamageRefused,
  expectRefused,
  hex,
  isRefusal,
  openWhenReady,
  toHex,
} from './fixture.ts';
import { changedKey, ctx, golden, ids, inputs, sealer } from './golden.ts';

const { audit, patchedItem, recovery, records, xWing } = golden;
const { env, aid, kid, token, sadExpiresAtMs } = inputs;
const key = await changedKey(records.vaultKeyChanged);
/** Of a vault key that had an X25519 generation before. */
const mixed = await changedKey(recovery.vaultKeyChanged);

const patched = {
  ...{ env, aid, kid, token, key, nowMs: sadExpiresAtMs - 1 },
  meta: openMeta(sealer, { env, aid, kid, token }, hex(patchedItem.itemMeta)),
  ...{ item: hex(patchedItem.item), sad: hex(patchedItem.itemSad) },
};

function openReady(request: typeof patched): ReturnType<typeof openPatched> {
  void missingExporters(request.key, request, partsOf(request));
  return openPatched(request);
}

function layersOf(request: typeof patched) {
  return openReady(request).map(({ part0, part1 }) => ({
    ...{ part0: textOf(part0), ...(part1 ? { part1: textOf(part1) } : {}) },
  }));
}

test('the layers of an item with patches open in order, and its codes until they expire', () => {
  expect(layersOf(patched)).toEqual(patchedItem.layers);
  const late = layersOf({ ...patched, nowMs: sadExpiresAtMs });
  expect(late).toEqual(patchedItem.layers.map(({ part0 }) => ({ part0 })));
  expect(generationOfItem(patched.item)).toBe(2);
});

test('nothing of such an item opens where a byte is another one, or that is somewhere else', () => {
  for (const bad of damaged(patched.item)) {
    expectRefused(() => openReady({ ...patched, item: bad }));
  }
  for (const bad of damaged(patched.sad)) {
    expectRefused(() => openReady({ ...patched, sad: bad }));
  }
  expectRefused(() => openReady({ ...patched, meta: { ...patched.meta, gen: 1 } }));
  for (const other of [{ env: 'production' }, { aid: 'other' }, { kid: 'other' }, { token: 'other' }]) {
    expectRefused(() => openReady({ ...patched, ...other, key: { ...key, kid: other.kid ?? kid } }));
  }
});

test('with the hash of what a forger has changed, it is refused all the same, but for the tags that no reader uses', () => {
  for (const bad of damaged(patched.item)) {
    const meta = { ...patched.meta, hash0: sha256(bad) };
    try {
      expect(layersOf({ ...patched, item: bad, meta })).toEqual(patchedItem.layers);
      expect(bad.length).toBe(patched.item.length);
    } catch (error) {
      expect(isRefusal(error)).toBe(true);
    }
  }
  for (const bad of damaged(patched.sad)) {
    const sad = { hash: sha256(bad), expiresAtMs: sadExpiresAtMs };
    expectRefused(() => openReady({ ...patched, sad: bad, meta: { ...patched.meta, sad } }));
  }
});

function openEntry(sequence: number, record: Uint8Array) {
  return openAuditEntry(sealer, hex(audit.key), inputs.aid, sequence, record);
}

test('what a security log says of changed records is read, and its head has the newest revision of the account', () => {
  const { entries, changes, head } = golden.auditChanges;
  for (const [i, record] of entries.entries()) {
    const entry = openEntry(i + 3, hex(record));
    expect({ ...entry.change }).toEqual({ ...changes[i] } as never);
  }
  const mark = openAuditMark(sealer, inputs.aid, 'head', hex(head));
  expect(mark).toMatchObject({ sequence: 6, revision: 7 });
  expectDamageRefused(hex(head), (bad) => openAuditMark(sealer, inputs.aid, 'head', bad));
  expectDamageRefused(hex(entries[0] ?? ''), (bad) => openEntry(3, bad));
  // No other text stands for a change.
  for (const text of [
    '',
    'account',
    'account -1',
    'account 1 ',
    'endpoint a b',
    `endpoint a ${'0'.repeat(32)} `,
    `credentials a ${'0'.repeat(32)}`,
  ]) {
    expectRefused(() => parseChange(text));
  }
  for (const kind of ['endpoint', 'credential'] as const) {
    const change = { kind, id: 'a', digest: '0'.repeat(32) };
    for (const isGone of [true, false]) {
      expect(parseChange(changeText({ ...change, isGone }))).toEqual({ ...change, isGone });
    }
  }
});

test('an entry by a credential has its name, in a security log and in an action log', () => {
  const { name, entries, logEntry } = golden.actorNames;
  const opened = entries.map((record, i) => openEntry(i + 1, hex(record)));
  expect(opened.map(({ actorName, object }) => [actorName, object])).toEqual([
    [name, 'key/alice'],
    [name, 'key/alice'],
  ]);
  expect(opened.map(({ change }) => change?.kind)).toEqual([undefined, 'credential']);
  const used = openLogEntry(sealer, ids, hex(logEntry));
  expect([used.credential, used.credentialName, used.requestId]).toEqual(['cred_1', name, 'request-1']);
  for (const [i, record] of entries.entries()) {
    expectDamageRefused(hex(record), (bad) => openEntry(i + 1, bad));
  }
  expectDamageRefused(hex(logEntry), (bad) => openLogEntry(sealer, ids, bad));
});

function argsOf(kind: 'capture' | 'retrieve', wrap = hex(xWing.endpoints[kind].wrapRecord)) {
  const { id, gen, policyRecord, secret } = xWing.endpoints[kind];
  const place = { ...ctx, id, gen };
  return [sealer, place, openPolicy(sealer, place, hex(policyRecord)), wrap, utf8(secret)] as const;
}

test('a key that has a generation of each suite', () => {
  expect(toHex(mixed.tokenKey)).toBe(xWing.tokenKey);
  expect(mixed.generations.map(({ suite }) => suite)).toEqual([X25519_SUITE, X_WING_SUITE]);
  expect(mixed.generations.map(({ privateKey }) => toHex(privateKey))).toEqual(xWing.privateKeys);
  expect(mixed.generations.map(({ publicKey }) => toHex(publicKey))).toEqual(xWing.publicKeys);
});

test('an envelope that is sealed to X-Wing', async () => {
  const open = async (envelope: Uint8Array) =>
    await openWhenReady(mixed, ids, [envelope], () => unwrapDek(mixed, { ...ids, part: 0 }, envelope));
  expect(toHex(await open(hex(xWing.sealedEnvelope)))).toBe(inputs.dek);
  for (const bad of damaged(hex(xWing.sealedEnvelope))) {
    expect(await open(bad).then(() => false, isRefusal)).toBe(true);
  }
});

test('a capture endpoint with X-Wing', () => {
  const opened = openCaptureWrap(...argsOf('capture'));
  expect(toHex(opened.publicHalf)).toBe(toHex(publicHalfOf(generationOf(mixed))));
  expect(toHex(opened.tokenKey)).toBe(xWing.tokenKey);
  expectDamageRefused(hex(xWing.endpoints.capture.wrapRecord), (bad) =>
    openCaptureWrap(...argsOf('capture', bad)),
  );
});

test('a retrieval endpoint with X-Wing, and a captured item through it', async () => {
  const opened = openRetrieveWrap(...argsOf('retrieve'));
  expect(opened.generations.map(({ privateKey }) => toHex(privateKey))).toEqual(xWing.privateKeys);
  const meta = openMeta(sealer, ids, hex(xWing.itemMeta));
  const stored = { item: hex(xWing.item), sad: hex(xWing.itemSad) };
  const request = { ...ids, ...stored, key: opened, meta, nowMs: inputs.sadExpiresAtMs - 1 };
  const { part0, part1 = hex('') } = await openWhenReady(opened, ids, Object.values(stored), () =>
    openItem(request),
  );
  expect([textOf(part0), textOf(part1)]).toEqual([inputs.part0, inputs.part1]);
});
