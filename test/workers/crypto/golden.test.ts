/** Records that the first version made: each must open for ever, and no damaged or moved form of it may. */
import { describe, expect, test } from 'bun:test';
import { openCaptureWrap, openPolicy, openRetrieveWrap } from '../../../workers/crypto/endpoint/record.ts';
import { openSealedBody, openSealingKey } from '../../../workers/crypto/endpoint/sealing-key.ts';
import { openContent } from '../../../workers/crypto/item/item.ts';
import { encodeReference, identityTag, tokenDigest } from '../../../workers/crypto/item/lookup.ts';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import { parseVaultKey, unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { openWarm } from '../../../workers/crypto/key/warm.ts';
import {
  CHAIN_BEGIN,
  followsMark,
  openAuditEntry,
  openAuditMark,
} from '../../../workers/crypto/log/audit-entry.ts';
import {
  checkpointKey,
  isOwnCheckpoint,
  isOwnHeadsCheckpoint,
} from '../../../workers/crypto/log/checkpoint.ts';
import { openLogEntry } from '../../../workers/crypto/log/entry.ts';
import {
  headTerm,
  isBucketCurrent,
  keyRemovalProof,
  keyTerm,
  logRemovalProof,
  openBucketHeads,
  openHeadsMark,
} from '../../../workers/crypto/log/heads.ts';
import { aad } from '../../../workers/crypto/primitives/aad.ts';
import { textOf, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { verifyGenerated, verifyPassword } from '../../../workers/crypto/primitives/kdf.ts';
import { sha256 } from '../../../workers/crypto/primitives/symmetric.ts';
import { createSubkeys } from '../../../workers/crypto/record/service-record.ts';
import {
  damaged,
  expectDamageRefused,
  expectRefused,
  FLOOR,
  hex,
  isRefusal,
  openItemReady,
  toHex,
  unwrapReady,
  verifyWholeLog,
} from './fixture.ts';
import { changedKey, ctx, golden, ids, inputs, sealer, sealerFor } from './golden.ts';

const { records, derived, unlocked, endpoints } = golden;
const key = await changedKey(records.vaultKeyChanged);
const meta = openMeta(sealer, ids, hex(records.itemMeta));
const item = {
  ...ids,
  key,
  meta,
  item: hex(records.item),
  sad: hex(records.itemSad),
  nowMs: inputs.sadExpiresAtMs - 1,
};
const contentContext = {
  ...ids,
  part: 0 as const,
  reference: inputs.reference,
  revision: hex(inputs.revision),
};
const part = { ...ids, part: 0 as const };

describe('keys', () => {
  test('of both generations', async () => {
    const first = await unlockVaultKey(ctx, hex(records.vaultKey), utf8(inputs.passphrase), FLOOR);
    expect(toHex(first.key.tokenKey)).toBe(unlocked.tokenKey);
    expect(toHex(key.tokenKey)).toBe(unlocked.tokenKey);
    expect(key.generations.map(({ privateKey }) => toHex(privateKey))).toEqual(unlocked.privateKeys);
    const { publicHalves } = parseVaultKey(hex(records.vaultKeyChanged));
    expect(publicHalves.map(({ publicKey }) => toHex(publicKey))).toEqual(unlocked.publicKeys);
    expect(parseVaultKey(hex(records.vaultKey)).gen).toBe(1);
  });

  test('a warm blob', () => {
    const open = (blob: Uint8Array) =>
      openWarm(hex(inputs.processKey), ctx, blob, utf8(inputs.newPassphrase));
    expect(toHex(open(hex(records.warm))?.tokenKey ?? hex(''))).toBe(unlocked.tokenKey);
    for (const bad of damaged(hex(records.warm))) {
      expect(open(bad)).toBeUndefined();
    }
  });

  test('a password', async () => {
    expect(await verifyPassword(utf8(inputs.password), hex(inputs.pepper), golden.passwordHash)).toBe(true);
  });

  test('a generated password', () => {
    const { generatedPassword, pepper } = inputs;
    const verify = (text: string): boolean =>
      verifyGenerated(utf8(text), hex(pepper), golden.generatedPasswordHash);
    expect([verify(generatedPassword), verify(generatedPassword.toLowerCase())]).toEqual([true, false]);
  });
});

describe('derivations', () => {
  test('encodings, sub-keys, indexes and token hashes are what they were', () => {
    expect(toHex(aad('label', ['ä', Uint8Array.of(1, 2), 7]))).toBe(golden.aad);
    const subkeyOf = createSubkeys(hex(inputs.masterKey), 'cardvault subkey', inputs.env);
    expect(toHex(subkeyOf('ref-index', inputs.aid))).toBe(derived.subkey);
    expect(toHex(encodeReference(hex(inputs.indexKey), inputs.reference, false))).toBe(derived.reference);
    expect(toHex(encodeReference(hex(inputs.indexKey), inputs.reference, true))).toBe(derived.referenceEnd);
    const number = '4111111111111111';
    expect(toHex(tokenDigest(hex(unlocked.tokenKey), number, inputs.reference, 0))).toBe(derived.tokenDigest);
    expect(toHex(tokenDigest(hex(unlocked.tokenKey), number, undefined, 3))).toBe(
      derived.tokenDigestNoReference,
    );
    expect(toHex(identityTag(hex(unlocked.tokenKey), number, inputs.reference))).toBe(derived.identityTag);
  });
});

test('a sealing key, and a body that was sealed to it', () => {
  const { day, record, kid, id, enc, ct } = golden.sealedCapture;
  using pair = openSealingKey(sealer, day, hex(record));
  expect(pair.kid).toBe(kid);
  const sealed = { enc: hex(enc), ciphertext: hex(ct) };
  expect(textOf(openSealedBody(pair, sealed, { id, reference: inputs.reference }))).toBe(inputs.part0);
  expectDamageRefused(hex(record), (bad) => openSealingKey(sealer, day, bad));
});

describe('records', () => {
  test('a service record', () => {
    const open = (record: Uint8Array) => sealer.open('record', inputs.aid, 'rule', ['a', 'b'], record);
    expect(textOf(open(hex(records.service)))).toBe('a rule');
    expectDamageRefused(hex(records.service), open);
  });

  test.each(['ownedEnvelope', 'sealedEnvelope'] as const)('%s', (name) => {
    expect(toHex(unwrapReady(key, part, hex(records[name])))).toBe(inputs.dek);
    expectDamageRefused(hex(records[name]), (bad) => unwrapReady(key, part, bad));
  });

  test('content', () => {
    expect(textOf(openContent(hex(inputs.dek), contentContext, hex(records.content)))).toBe(inputs.part0);
    expectDamageRefused(hex(records.content), (bad) => openContent(hex(inputs.dek), contentContext, bad));
  });

  test('an item with its sensitive authentication data', () => {
    const opened = openItemReady(item);
    expect(textOf(opened.part0)).toBe(inputs.part0);
    expect(textOf(opened.part1 ?? hex(''))).toBe(inputs.part1);
    expect(meta.reference).toBe(inputs.reference);
    expectDamageRefused(item.item, (bad) => openItemReady({ ...item, item: bad }));
    expectDamageRefused(item.sad, (bad) => openItemReady({ ...item, sad: bad }));
    expectDamageRefused(hex(records.itemMeta), (bad) => openMeta(sealer, ids, bad));
  });

  test('an item under a derived data key', () => {
    const { derivedItem } = golden;
    const envelope = hex(derivedItem.envelope);
    expect(toHex(unwrapReady(key, part, envelope))).toBe(derivedItem.dataKey);
    for (const bad of damaged(envelope)) {
      let dek = '';
      try {
        dek = toHex(unwrapReady(key, part, bad));
      } catch (error) {
        expect(isRefusal(error)).toBe(true);
      }
      expect(dek).not.toBe(derivedItem.dataKey);
    }
    const stored = {
      ...{ ...item, meta: openMeta(sealer, ids, hex(derivedItem.itemMeta)) },
      ...{ item: hex(derivedItem.item), sad: hex(derivedItem.itemSad) },
    };
    const opened = openItemReady(stored);
    expect(textOf(opened.part0)).toBe(inputs.part0);
    expect(textOf(opened.part1 ?? hex(''))).toBe(inputs.part1);
    expectDamageRefused(stored.item, (bad) => openItemReady({ ...stored, item: bad }));
    expectDamageRefused(stored.sad, (bad) => openItemReady({ ...stored, sad: bad }));
    expectDamageRefused(hex(derivedItem.itemMeta), (bad) => openMeta(sealer, ids, bad));
    // With the hash of what a forger has changed, the seal of the content still refuses it.
    for (const bad of damaged(stored.item)) {
      expectRefused(() =>
        openItemReady({ ...stored, item: bad, meta: { ...stored.meta, hash0: sha256(bad) } }),
      );
    }
    for (const other of [{ env: 'production' }, { aid: 'other' }, { kid: 'other' }, { token: 'other' }]) {
      const moved = { ...key, kid: other.kid ?? key.kid };
      const dek = unwrapReady(moved, { ...part, ...other }, envelope);
      expect(toHex(dek)).not.toBe(derivedItem.dataKey);
      expectRefused(() => openItemReady({ ...stored, ...other, key: moved }));
    }
    expect(toHex(unwrapReady(key, { ...part, part: 1 }, envelope))).not.toBe(derivedItem.dataKey);
  });

  test('a captured item', () => {
    const captured = openMeta(sealer, ids, hex(records.capturedMeta));
    const open = (bytes: Uint8Array) => openItemReady({ ...ids, key, meta: captured, item: bytes, nowMs: 0 });
    expect(textOf(open(hex(records.capturedItem)).part0)).toBe(inputs.part0);
    expect(captured.reference).toBeUndefined();
    expectDamageRefused(hex(records.capturedItem), open);
  });

  test('a log', () => {
    const entries = records.logEntries.map(hex);
    expect(verifyWholeLog(sealer, ids, entries)).toBeUndefined();
    const facts = entries.map((entry) => openLogEntry(sealer, ids, entry));
    expect(facts.map(({ ip }) => ip)).toEqual(['203.0.113.7', '2001:db8::1:0:0:2', 'unknown']);
    expect(facts.map(({ action, source }) => `${action} ${source}`)).toEqual([
      'encrypt vault',
      'decrypt retrieve',
      'decrypt form',
    ]);
    expect(facts.map(({ outcome, requestId, endpoint }) => [outcome, requestId, endpoint])).toEqual(
      facts.map(() => ['ok', '', '']),
    );
    for (const entry of entries) {
      expectDamageRefused(entry, (bad) => openLogEntry(sealer, ids, bad));
    }
  });

  test('the entries behind it that say who, through what and with which outcome', () => {
    const entries = records.logEntriesAttributed.map(hex);
    expect(verifyWholeLog(sealer, ids, [...records.logEntries.map(hex), ...entries])).toBeUndefined();
    const facts = entries.map((entry) => openLogEntry(sealer, ids, entry));
    expect(facts.map(({ ip, userAgent }) => `${ip} ${userAgent}`)).toEqual([
      '203.0.113.7 shop/1.0',
      '2001:db8::1 shop/1.0',
      'unknown ',
    ]);
    expect(facts.map(({ outcome, endpoint, credential }) => [outcome, endpoint, credential])).toEqual([
      ['ok', '', ''],
      ['endpoint_out_of_scope', 'help-desk', ''],
      ['passphrase_wrong', '', '0b54ff3e-8e6e-4d9f-8a51-3f1d3c6f9a10'],
    ]);
    expect(facts.map(({ requestId }) => requestId)).toEqual([
      '5f0c9f5e-2d53-4c8e-9a39-0d4c7c1f6f2e',
      'OPWcPTNAXPuYQ7AMJ49A-_',
      'ABCDEF01-2d53-4c8e-9a39-0d4c7c1f6f2e',
    ]);
    for (const entry of entries) {
      expectDamageRefused(entry, (bad) => openLogEntry(sealer, ids, bad));
    }
  });
});

const REFUSAL = /^(?:The secret does not open this endpoint|A stored \w+ failed its integrity check)\.$/;

/** What the opening of a golden endpoint takes, in another place or with another wrap when given. */
function endpointArgs(
  { id, gen, secret, policyRecord, wrapRecord }: typeof endpoints.capture,
  place = ctx,
  wrap = hex(wrapRecord),
) {
  const policy = openPolicy(sealer, { ...ctx, id }, hex(policyRecord));
  return [sealerFor(place.env), { ...place, id, gen }, policy, wrap, utf8(secret)] as const;
}

describe('endpoints', () => {
  test.each(['capture', 'retrieve'] as const)('the policy of a %s endpoint', (kind) => {
    const { id, policy, policyRecord } = endpoints[kind];
    const open = (record: Uint8Array) => openPolicy(sealer, { ...ctx, id }, record);
    expect(textOf(open(hex(policyRecord)).json)).toBe(policy);
    expectDamageRefused(hex(policyRecord), open);
  });

  test('a capture endpoint', () => {
    const opened = openCaptureWrap(...endpointArgs(endpoints.capture));
    expect(opened.gen).toBe(2);
    expect(toHex(opened.publicHalf)).toBe(unlocked.publicKeys[1] ?? '');
    expect(toHex(opened.tokenKey)).toBe(unlocked.tokenKey);
    expectDamageRefused(hex(endpoints.capture.wrapRecord), (bad) =>
      openCaptureWrap(...endpointArgs(endpoints.capture, ctx, bad)),
    );
  });

  test('a retrieval endpoint, and an item through it', () => {
    const opened = openRetrieveWrap(...endpointArgs(endpoints.retrieve));
    expect(opened.generations.map(({ privateKey }) => toHex(privateKey))).toEqual(unlocked.privateKeys);
    expect(opened.generations.map(({ publicKey }) => toHex(publicKey))).toEqual(unlocked.publicKeys);
    expect(opened.tokenKey.length).toBe(0);
    expect(textOf(openItemReady({ ...item, key: opened }).part0)).toBe(inputs.part0);
    expectDamageRefused(hex(endpoints.retrieve.wrapRecord), (bad) =>
      openRetrieveWrap(...endpointArgs(endpoints.retrieve, ctx, bad)),
    );
  });
});

describe.each([{ env: 'production' }, { aid: 'other' }, { kid: 'other' }, { token: 'other' }])(
  'moved to %p',
  (other) => {
    const place = { ...ids, ...other };
    const elsewhere = sealerFor(place.env);
    const moved = { ...key, kid: place.kid };

    test('nothing opens', async () => {
      for (const record of [records.itemMeta, records.capturedMeta]) {
        expectRefused(() => openMeta(elsewhere, place, hex(record)));
      }
      for (const entry of records.logEntries) {
        expectRefused(() => openLogEntry(elsewhere, place, hex(entry)));
      }
      for (const record of [records.ownedEnvelope, records.sealedEnvelope]) {
        expectRefused(() => unwrapReady(moved, { ...place, part: 0 }, hex(record)));
      }
      expectRefused(() =>
        openContent(hex(inputs.dek), { ...contentContext, ...other }, hex(records.content)),
      );
      expectRefused(() => openItemReady({ ...item, ...other, key: moved }));
      if ('token' in other) {
        return;
      }
      const there = { env: place.env, aid: place.aid, kid: place.kid };
      expect(() => openCaptureWrap(...endpointArgs(endpoints.capture, there))).toThrow(REFUSAL);
      expect(() => openRetrieveWrap(...endpointArgs(endpoints.retrieve, there))).toThrow(REFUSAL);
      const passphrase = utf8(inputs.newPassphrase);
      expect(openWarm(hex(inputs.processKey), place, hex(records.warm), passphrase)).toBeUndefined();
      await expect(unlockVaultKey(place, hex(records.vaultKeyChanged), passphrase, FLOOR)).rejects.toThrow();
    });
  },
);

describe('a security log', () => {
  const { audit } = golden;
  const open = (sequence: number, record: Uint8Array, aid = inputs.aid) =>
    openAuditEntry(sealer, hex(audit.key), aid, sequence, record);

  test('its entries follow each other, and its marks name them', () => {
    const [first, second] = audit.entries.map((record, i) => open(i + 1, hex(record)));
    for (const [i, entry] of [first, second].entries()) {
      expect(entry).toMatchObject(audit.events[i] ?? {});
      expect(entry?.mark.link).toBe(audit.links[i] ?? '');
    }
    expect(second && first && followsMark(second, first.mark)).toBe(true);
    expect(second?.mark).toMatchObject({ sequence: 2, latestMs: 1_767_225_600_123, stepBackMs: 23 });
    expect(openAuditMark(sealer, inputs.aid, 'head', hex(audit.head))).toEqual(second?.mark ?? CHAIN_BEGIN);
    expect(openAuditMark(sealer, inputs.aid, 'start', hex(audit.start))).toEqual(first?.mark ?? CHAIN_BEGIN);
  });

  test('damaged or moved it is refused', () => {
    const [first = ''] = audit.entries;
    expectDamageRefused(hex(first), (bad) => open(1, bad));
    expectDamageRefused(hex(audit.head), (bad) => openAuditMark(sealer, inputs.aid, 'head', bad));
    expectRefused(() => open(2, hex(first)));
    expectRefused(() => open(1, hex(first), 'another'));
  });

  test('its checkpoint is known', () => {
    expect(isOwnCheckpoint(hex(audit.seed), inputs.env, audit.checkpoint)).toBe(true);
    expect(checkpointKey(hex(audit.seed))).toBe(audit.publicKey);
  });
});

describe('heads of logs', () => {
  const { heads } = golden;
  const { kid, token, env } = inputs;
  const key = hex(heads.key);

  test('terms, proofs and records are what they were', () => {
    const head = { first: hex(heads.first), length: heads.length, tag: hex(heads.tag) };
    expect(toHex(headTerm(key, kid, token, head))).toBe(heads.term);
    expect(toHex(keyTerm(key, kid, hex(heads.buckets)))).toBe(heads.keyTerm);
    expect(toHex(logRemovalProof(key, kid, token, head.first))).toBe(heads.logRemoved);
    expect(toHex(keyRemovalProof(key, kid))).toBe(heads.keyRemoved);
    const bucket = openBucketHeads(key, kid, 5, hex(heads.bucket));
    expect({ ...bucket, sum: toHex(bucket.sum) }).toEqual({ version: 7, logs: 1, sum: heads.term });
    expect(isBucketCurrent(hex(heads.buckets), 5, bucket, hex(heads.bucket))).toBe(true);
    const mark = openHeadsMark(key, hex(heads.mark));
    expect(mark).toMatchObject({ epoch: 1, keys: 1, logs: 1 });
    expect([toHex(mark.sum), toHex(mark.link)]).toEqual([heads.keyTerm, heads.link]);
  });

  test('damaged or moved they are refused', () => {
    // An empty record stands for none.
    expectRefused(() => openBucketHeads(key, kid, 6, hex(heads.bucket)));
    expectRefused(() => openBucketHeads(key, 'another', 5, hex(heads.bucket)));
    expectRefused(() => openHeadsMark(key, hex(heads.bucket)));
    expectRefused(() => openBucketHeads(key, kid, 5, hex(heads.mark)));
    for (const bad of damaged(hex(heads.bucket))) {
      if (bad.length > 0) {
        expectRefused(() => openBucketHeads(key, kid, 5, bad));
      }
    }
    for (const bad of damaged(hex(heads.mark))) {
      if (bad.length > 0) {
        expectRefused(() => openHeadsMark(key, bad));
      }
    }
  });

  test('its checkpoint is known', () => {
    const seed = hex(golden.audit.seed);
    expect(isOwnHeadsCheckpoint(seed, env, heads.checkpoint)).toBe(true);
    for (const changed of [{ epoch: 2 }, { logs: 2 }, { account: 'another' }, { link: '00' }]) {
      expect(isOwnHeadsCheckpoint(seed, env, { ...heads.checkpoint, ...changed })).toBe(false);
    }
  });
});
