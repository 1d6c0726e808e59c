/** X-Wing against the vectors of its draft and against an implementation of somebody else. */
import { describe, expect, test } from 'bun:test';
import { XWing } from '@noble/post-quantum/hybrid.js';
import { IntegrityError } from '../../../workers/crypto/primitives/bytes.ts';
import { sha256 } from '../../../workers/crypto/primitives/symmetric.ts';
import {
  decapsulate,
  encapsulate,
  exportXWing,
  generateXWingPair,
  setupXWingReceiver,
  setupXWingSender,
  X_WING_ENC_BYTES,
  X_WING_PUBLIC_BYTES,
  xWingPointOf,
  xWingPublicOf,
} from '../../../workers/crypto/primitives/x-wing.ts';
import vectors from '../../vectors/x-wing.json';
import { flipped, hex, toHex } from '../crypto/fixture.ts';

describe.each(vectors.answers)('the vector of the seed $seed', ({ seed, eseed, shared }) => {
  const { cipherText, sharedSecret } = XWing.encapsulate(xWingPublicOf(hex(seed)), hex(eseed));

  test('has the public key that the other implementation finds', () => {
    const { publicKey } = XWing.keygen(hex(seed));
    expect(toHex(xWingPublicOf(hex(seed)))).toBe(toHex(publicKey));
    expect(toHex(xWingPointOf(hex(seed)))).toBe(toHex(publicKey.slice(-32)));
  });

  test('gives the shared secret of the draft', async () => {
    expect(toHex(sharedSecret)).toBe(shared);
    expect(toHex(await decapsulate(hex(seed), cipherText))).toBe(shared);
  });
});
test('the first ciphertext is that of the draft', () => {
  const [{ seed, eseed }] = vectors.answers as [(typeof vectors.answers)[0]];
  const { cipherText } = XWing.encapsulate(xWingPublicOf(hex(seed)), hex(eseed));
  expect(toHex(sha256(cipherText))).toBe(vectors.firstCiphertextSha256);
});

test('HPKE on it gives what its draft gives', async () => {
  const { seed, eseed, info, shared, key, baseNonce, exporterSecret, exports } = vectors.hpke;
  const { cipherText: enc, sharedSecret } = XWing.encapsulate(xWingPublicOf(hex(seed)), hex(eseed));
  expect(toHex(sharedSecret)).toBe(shared);
  const chacha = { id: 3, keyBytes: 32, nonceBytes: 12 };
  const context = await setupXWingReceiver(enc, hex(seed), hex(info), chacha);
  expect([context.key, context.baseNonce, context.exporterSecret].map(toHex)).toEqual([
    key,
    baseNonce,
    exporterSecret,
  ]);
  for (const { context: label, value } of exports) {
    expect(toHex(exportXWing(context.exporterSecret, hex(label), 32, chacha))).toBe(value);
  }
});

test('both sides of a set-up export the same keys', async () => {
  const { privateKey } = generateXWingPair();
  const { enc, context } = await setupXWingSender(xWingPublicOf(privateKey), hex('01'));
  const secretOf = async (info: string) =>
    toHex((await setupXWingReceiver(enc, privateKey, hex(info))).exporterSecret);
  expect(await secretOf('01')).toBe(toHex(context.exporterSecret));
  expect(await secretOf('02')).not.toBe(toHex(context.exporterSecret));
});

describe('a secret', () => {
  const pair = generateXWingPair();
  const publicKey = xWingPublicOf(pair.privateKey);

  test('comes to the holder of the seed, here and in the other implementation', async () => {
    const { enc, shared } = await encapsulate(publicKey);
    expect([publicKey.length, enc.length, shared.length]).toEqual([
      X_WING_PUBLIC_BYTES,
      X_WING_ENC_BYTES,
      32,
    ]);
    expect(toHex(await decapsulate(pair.privateKey, enc))).toBe(toHex(shared));
    expect(toHex(XWing.decapsulate(enc, pair.privateKey))).toBe(toHex(shared));
    expect(toHex((await encapsulate(publicKey)).shared)).not.toBe(toHex(shared));
  });

  test('is another one for another seed, and after any change of either half', async () => {
    const { enc, shared } = await encapsulate(publicKey);
    const others = [
      decapsulate(generateXWingPair().privateKey, enc),
      ...[0, 700, 1087, 1088, 1118].map((at) => decapsulate(pair.privateKey, flipped(enc, at, 0))),
    ];
    for (const other of await Promise.all(others)) {
      expect(toHex(other)).not.toBe(toHex(shared));
    }
  });

  test('is refused to other lengths and to points of low order', async () => {
    const { enc } = await encapsulate(publicKey);
    const lowEnc = new Uint8Array(enc).fill(0, X_WING_ENC_BYTES - 32);
    const lowKey = new Uint8Array(publicKey).fill(0, X_WING_PUBLIC_BYTES - 32);
    for (const refused of [
      decapsulate(pair.privateKey, lowEnc),
      decapsulate(pair.privateKey, enc.slice(1)),
      decapsulate(pair.privateKey.slice(1), enc),
      encapsulate(lowKey),
      encapsulate(publicKey.slice(1)),
    ]) {
      expect(
        await refused.then(
          () => 'a secret',
          (error: unknown) => error instanceof IntegrityError,
        ),
      ).toBe(true);
    }
  });
});
