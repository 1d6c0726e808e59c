import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { concat, IntegrityError, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import {
  AES_256_GCM,
  EXPORT_ONLY,
  exportSecret,
  generateKeyPair,
  type HpkeAead,
  type HpkeContext,
  importPrivate,
  publicOf,
  setupReceiver,
  setupSender,
} from '../../../workers/crypto/primitives/hpke.ts';
import { openSealed, sealInto, TAG_BYTES } from '../../../workers/crypto/primitives/symmetric.ts';
import vectors from '../../vectors/hpke.json';
import { hex, toHex } from './fixture.ts';

const suites: readonly HpkeAead[] = [EXPORT_ONLY, AES_256_GCM];

function shake128(bytes: Uint8Array, outputLength: number): Uint8Array {
  return createHash('shake128', { outputLength }).update(bytes).digest();
}

/** Inputs drawn from SHAKE128 of nothing: a length byte, then as many bytes. */
function drawInputs(): () => Uint8Array {
  const stream = shake128(new Uint8Array(0), 600_000);
  let at = 0;
  return () => {
    const length = stream[at] ?? 0;
    at += 1 + length;
    return stream.subarray(at - length, at);
  };
}

/** Seals as the RFC's ContextS.Seal does: the nonce is the base nonce with the sequence number added by XOR. */
function sealAt(context: HpkeContext, sequence: number, aad: Uint8Array, plaintext: Uint8Array): Uint8Array {
  const nonce = new Uint8Array(context.baseNonce);
  new DataView(nonce.buffer).setUint32(8, new DataView(nonce.buffer).getUint32(8) ^ sequence);
  const out = new Uint8Array(plaintext.length + TAG_BYTES);
  sealInto(out, 0, context.key, nonce, plaintext, aad);
  expect(toHex(openSealed(context.key, nonce, out, aad))).toBe(toHex(plaintext));
  return out;
}

describe.each(vectors.valid)('RFC 9180, $name', (vector) => {
  const aead = suites.find(({ id }) => id === vector.aeadId) ?? EXPORT_ONLY;
  const publicKey = hex(vector.pkRm);
  const receiver = setupReceiver(
    hex(vector.enc),
    importPrivate(hex(vector.skRm)),
    publicKey,
    hex(vector.info),
    aead,
  );

  test('sender and receiver agree with the vector', () => {
    expect(toHex(publicOf(hex(vector.skRm)))).toBe(vector.pkRm);
    const ephemeral = { privateKey: hex(vector.skEm), publicKey: publicOf(hex(vector.skEm)) };
    const sender = setupSender(publicKey, hex(vector.info), aead, ephemeral);
    expect(toHex(sender.enc)).toBe(vector.enc);
    expect(sender.context).toEqual(receiver);
    expect(ephemeral.privateKey).toEqual(new Uint8Array(32));
    if (vector.exporterSecret) {
      expect(toHex(receiver.exporterSecret)).toBe(vector.exporterSecret);
    }
  });

  test('exports', () => {
    for (const { context, length, value } of vector.exports) {
      expect(toHex(exportSecret(receiver.exporterSecret, hex(context), length, aead))).toBe(value);
    }
  });

  test('1,000 exports of 0 to 999 bytes', () => {
    const draw = drawInputs();
    const values = Array.from({ length: 1000 }, (_, length) =>
      exportSecret(receiver.exporterSecret, draw(), length, aead),
    );
    expect(toHex(shake128(concat(values), 16))).toBe(vector.exportsAccumulated);
  });

  test('1,000 encryptions, where the suite has any', () => {
    if (!vector.encryptionsAccumulated) {
      expect(receiver.key.length + receiver.baseNonce.length).toBe(0);
      return;
    }
    const draw = drawInputs();
    const sealed = Array.from({ length: 1000 }, (_, sequence) => sealAt(receiver, sequence, draw(), draw()));
    expect(toHex(shake128(concat(sealed), 16))).toBe(vector.encryptionsAccumulated);
  });
});

describe('refusals', () => {
  const { privateKey, publicKey } = generateKeyPair();

  test.each(vectors.invalid)('$name', ({ enc }) => {
    const info = utf8('info');
    expect(() => setupReceiver(hex(enc), importPrivate(privateKey), publicKey, info)).toThrow(IntegrityError);
    expect(() => setupSender(hex(enc), info)).toThrow(IntegrityError);
  });

  test('more than 255 blocks', () => {
    const { context } = setupSender(publicKey, utf8('info'));
    expect(() => exportSecret(context.exporterSecret, utf8('x'), 255 * 32 + 1)).toThrow(RangeError);
  });
});
