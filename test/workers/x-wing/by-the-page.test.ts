/** The page of formats is enough: what is written from it alone opens each record. */
import { expect, test } from 'bun:test';
import { armor, Decrypter } from 'age-encryption';
import { golden, inputs, ctx as place } from '../crypto/golden.ts';
import * as page from './by-the-page.ts';

const { recovery, sealedCapture, sealedReply, xWing } = golden;
/** Bytes of the vectors. */
function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

const master = hex(inputs.masterKey);
const record = hex(recovery.recordChanged);
/** What the secret of an endpoint opens. */
function wrapOf(kind: 'capture' | 'retrieve'): Buffer {
  const { id, secret, policyRecord, wrapRecord } = xWing.endpoints[kind];
  return page.endpoint(master, { ...place, id, kind }, secret, hex(policyRecord), hex(wrapRecord));
}

const changed = page.vaultKey(place, hex(recovery.vaultKeyChanged), inputs.newPassphrase);

test('the vault key, by its passphrase', () => {
  expect(changed.suites).toEqual([1, 2]);
  expect(changed.privateKeys.map((key) => key.toString('hex'))).toEqual(xWing.privateKeys);
  expect(changed.tokenKey.toString('hex')).toBe(xWing.tokenKey);
  expect(() => page.vaultKey(place, hex(recovery.vaultKeyChanged), inputs.passphrase)).toThrow(
    'another passphrase',
  );
});

test('the same by two of three shares, as their custodians decrypt them', async () => {
  const { sealedShares } = page.recovered(place, record, changed.suites, recovery.shares.slice(1));
  const lines = await Promise.all(
    sealedShares.map(async (share, i) => {
      const decrypter = new Decrypter();
      decrypter.addIdentity(recovery.identities[i] ?? '');
      return decrypter.decrypt(armor.decode(share), 'text');
    }),
  );
  expect(lines).toEqual(recovery.shares);
  for (const [one, other] of [
    [0, 1],
    [0, 2],
    [2, 1],
  ] as const) {
    const opened = page.recovered(place, record, changed.suites, [lines[one] ?? '', lines[other] ?? '']);
    expect(opened.privateKeys).toEqual([...changed.privateKeys]);
    expect(opened.tokenKey).toEqual(changed.tokenKey);
    expect(opened.digest).toEqual(changed.recoveryDigest);
  }
  expect(() => page.recovered(place, record, changed.suites, lines.slice(0, 1))).toThrow('another secret');
});

test('a captured item, with the private key that a retrieval endpoint gives', () => {
  const wrap = wrapOf('retrieve');
  expect([wrap.length, wrap[0], wrap[65]]).toEqual([130, 1, 2]);
  const seed = wrap.subarray(98);
  expect(seed.toString('hex')).toBe(xWing.privateKeys[1] ?? '');
  const path = [inputs.kid, inputs.token];
  const meta = page.service(master, place, inputs.aid, 'item', path, hex(xWing.itemMeta));
  const item = hex(xWing.item);
  expect(meta.subarray(13, 45)).toEqual(page.sha256(item));
  const where = {
    ...place,
    token: inputs.token,
    reference: inputs.reference,
    revision: meta.subarray(5, 13),
  };
  expect(page.openPart(where, seed, 0, item)).toBe(inputs.part0);
  expect(page.openPart(where, seed, 1, hex(xWing.itemSad))).toBe(inputs.part1);
  expect(() => page.openPart({ ...where, token: 'other' }, seed, 0, item)).toThrow();
});

test('a capture endpoint, which has the public key and the token key', () => {
  const wrap = wrapOf('capture');
  expect(wrap.length).toBe(1216 + 32);
  expect(wrap.subarray(1184, 1216).toString('hex')).toBe(xWing.publicKeys[1] ?? '');
  expect(wrap.subarray(1216)).toEqual(changed.tokenKey);
});

test('a body that a browser has sealed', () => {
  const { day, kid, id, enc, ct } = sealedCapture;
  const pair = page.service(master, place, '', 'sealing key', [day], hex(sealedCapture.record));
  expect(`${day}-${page.sha256(pair.subarray(33)).subarray(0, 8).toString('hex')}`).toBe(kid);
  expect(page.sealedBody(pair, hex(enc), hex(ct), [id, inputs.reference, null])).toBe(inputs.part0);
  expect(() => page.sealedBody(pair, hex(enc), hex(ct), [id, null, null])).toThrow();
});

test('a reply that was sealed to its reader', () => {
  const { id, token, privateKey, publicKey, enc, ct } = sealedReply;
  const pair = page.bytes(hex(privateKey), hex(publicKey));
  const body = page.sealedReply(pair, hex(enc), hex(ct), [id, token, inputs.reference]);
  expect(body).toBe(inputs.part0.padEnd(256, ' '));
  expect(() => page.sealedReply(pair, hex(enc), hex(ct), [id, token, null])).toThrow();
});
