import { describe, expect, test } from 'bun:test';
import * as reference from 'hpke';
import { sealBody } from '../../../sdk/seal/seal.ts';
import {
  newSealingKey,
  openSealedBody,
  openSealingKey,
  type SealedFor,
  sealReplyBody,
} from '../../../workers/crypto/endpoint/sealing-key.ts';
import { IntegrityError, textOf, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { exportSecret, type KeyPair } from '../../../workers/crypto/primitives/hpke.ts';
import {
  generateP256Pair,
  openP256,
  setupP256Receiver,
} from '../../../workers/crypto/primitives/hpke-p256.ts';
import { hmac } from '../../../workers/crypto/primitives/symmetric.ts';
import { sealFor } from '../../helpers/sealing.ts';
import vectors from '../../vectors/hpke-p256.json';
import { damaged, hex, sealerOf, toHex } from './fixture.ts';

const suite = new reference.CipherSuite(
  reference.KEM_DHKEM_P256_HKDF_SHA256,
  reference.KDF_HKDF_SHA256,
  reference.AEAD_AES_256_GCM,
);
const sealer = sealerOf();

function bytesOf(text: unknown): Uint8Array {
  return Uint8Array.fromBase64(String(text), { alphabet: 'base64url' });
}
function publishedOf({ kid, publicKey }: { readonly kid: string } & Pick<KeyPair, 'publicKey'>) {
  return { kid, public_key: publicKey.toBase64({ alphabet: 'base64url', omitPadding: true }) };
}
function partsOf(sealed: string) {
  const { enc, ct } = JSON.parse(sealed) as Record<string, unknown>;
  return { enc: bytesOf(enc), ciphertext: bytesOf(ct) };
}

test('RFC 9180, appendix A.3.1: key schedule and exports of DHKEM(P-256)', () => {
  const { rfc } = vectors;
  const pair = { privateKey: hex(rfc.skRm), publicKey: hex(rfc.pkRm) };
  const aead = { id: rfc.aeadId, keyBytes: 16, nonceBytes: 12 };
  const context = setupP256Receiver(hex(rfc.enc), pair, hex(rfc.info), aead);
  expect(toHex(context.key)).toBe(rfc.key);
  expect(toHex(context.baseNonce)).toBe(rfc.baseNonce);
  expect(toHex(context.exporterSecret)).toBe(rfc.exporterSecret);
});

describe('AES-256-GCM, beside another implementation', () => {
  test('it and we derive the same, for 64 pairs', async () => {
    for (let i = 0; i < 64; i++) {
      const pair = generateP256Pair();
      const to = await suite.DeserializePublicKey(new Uint8Array(pair.publicKey));
      const info = utf8(`info ${i}`);
      const { encapsulatedSecret, ctx } = await suite.SetupSender(to, { info });
      const ours = setupP256Receiver(encapsulatedSecret, pair, info);
      expect(toHex(await ctx.Export(utf8('where'), 32))).toBe(
        toHex(
          exportSecret(ours.exporterSecret, utf8('where'), 32, { id: 2, keyBytes: 32, nonceBytes: 12 }, 0x10),
        ),
      );
      const ciphertext = await ctx.Seal(utf8('text'), utf8('aad'));
      const opened = openP256({ enc: encapsulatedSecret, ciphertext }, pair, info, utf8('aad'));
      expect(textOf(opened)).toBe('text');
    }
  });

  test('what the SDK seals it opens', async () => {
    const pair = generateP256Pair();
    const sealed = await sealBody(publishedOf({ kid: 'k', ...pair }), ['shop', 'ü', undefined], '{"a":"ß"}');
    const own = {
      privateKey: await suite.DeserializePrivateKey(new Uint8Array(pair.privateKey), true),
      publicKey: await suite.DeserializePublicKey(new Uint8Array(pair.publicKey)),
    };
    const { enc, ciphertext } = partsOf(sealed);
    const opened = await suite.Open(own, enc, ciphertext, {
      info: utf8('cardvault sealed capture'),
      aad: utf8('["shop","ü",null]'),
    });
    expect(textOf(opened)).toBe('{"a":"ß"}');
  });
});

describe('a sealed body', () => {
  const NAMES: SealedFor = { id: 'shop', reference: 'order 1', idempotencyKey: 'key 1' };
  const LIST = ['shop', 'order 1', 'key 1'] as const;
  using pair = openSealingKey(sealer, '20484', newSealingKey(sealer, '20484'));
  // Copies: the record's own bytes are wiped when it is disposed of.
  const own = { privateKey: new Uint8Array(pair.privateKey), publicKey: new Uint8Array(pair.publicKey) };
  const { kid } = pair;

  test.each([
    ['the SDK', sealBody],
    ['another implementation', sealFor],
  ] as const)('of %s opens for its request alone', async (_, seal) => {
    const sealed = partsOf(await seal(publishedOf({ kid, ...own }), LIST, '{"card_number":"4111"}'));
    expect(textOf(openSealedBody(own, sealed, NAMES))).toBe('{"card_number":"4111"}');
    const others: SealedFor[] = [
      { ...NAMES, id: 'shop2' },
      { ...NAMES, reference: undefined },
      { ...NAMES, reference: 'order 2' },
      { ...NAMES, idempotencyKey: undefined },
      { ...NAMES, idempotencyKey: 'key 2' },
      { id: 'shop', reference: 'key 1', idempotencyKey: 'order 1' },
    ];
    for (const other of others) {
      expect(() => openSealedBody(own, sealed, other)).toThrow(IntegrityError);
    }
    expect(() => openSealedBody(generateP256Pair(), sealed, NAMES)).toThrow(IntegrityError);
  });

  test('is refused when any byte of it is another one', async () => {
    const sealed = partsOf(await sealBody(publishedOf({ kid, ...own }), LIST, '{}'));
    for (const ciphertext of damaged(sealed.ciphertext)) {
      expect(() => openSealedBody(own, { ...sealed, ciphertext }, NAMES)).toThrow(IntegrityError);
    }
    for (const enc of damaged(sealed.enc)) {
      expect(() => openSealedBody(own, { ...sealed, enc }, NAMES)).toThrow(IntegrityError);
    }
  });

  test.each(vectors.points)('enc is refused: $name', ({ enc }) => {
    const sealed = { enc: hex(enc), ciphertext: new Uint8Array(32) };
    expect(() => openSealedBody(own, sealed, NAMES)).toThrow(IntegrityError);
    // An error that the runtime kept would fail what comes next.
    expect(hmac(own.privateKey, own.publicKey)).toHaveLength(32);
  });
});

describe('the record of a sealing key', () => {
  const { record, day, kid, privateKey, sealed, body, names } = vectors.golden;

  test('of the first version opens, and what was sealed to it', () => {
    using pair = openSealingKey(sealer, day, hex(record));
    expect(pair.kid).toBe(kid);
    expect(toHex(pair.privateKey)).toBe(privateKey);
    expect(textOf(openSealedBody(pair, partsOf(JSON.stringify(sealed)), names))).toBe(body);
  });

  test('opens for its day alone', () => {
    expect(() => openSealingKey(sealer, '20485', hex(record))).toThrow(IntegrityError);
    expect(() => openSealingKey(sealerOf('production'), day, hex(record))).toThrow(IntegrityError);
  });

  test('is wiped when it is disposed of', () => {
    const pair = openSealingKey(sealer, day, hex(record));
    pair[Symbol.dispose]();
    expect(pair.privateKey).toEqual(new Uint8Array(32));
  });
});

describe('a sealed reply', () => {
  const NAMES = { id: 'desk', token: 'ü', reference: undefined };

  test.each([0, 1, 255, 256, 257, 70_000])(
    'of %p bytes opens by another implementation, filled with spaces',
    async (length) => {
      const pair = generateP256Pair();
      const body = utf8('x'.repeat(length));
      const { enc, ciphertext } = sealReplyBody(pair.publicKey, NAMES, body);
      const own = {
        privateKey: await suite.DeserializePrivateKey(new Uint8Array(pair.privateKey), true),
        publicKey: await suite.DeserializePublicKey(new Uint8Array(pair.publicKey)),
      };
      const opened = await suite.Open(own, new Uint8Array(enc), new Uint8Array(ciphertext), {
        info: utf8('cardvault sealed reply'),
        aad: utf8('["desk","ü",null]'),
      });
      const blocks = Math.max(1, Math.ceil(length / 256));
      expect(textOf(opened)).toBe('x'.repeat(length).padEnd(256 * blocks, ' '));
    },
  );

  test.each(vectors.points)('to a point that is none is refused: $name', ({ enc }) => {
    expect(() => sealReplyBody(hex(enc), NAMES, utf8('{}'))).toThrow(IntegrityError);
  });
});
