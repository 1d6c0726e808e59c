/** Known answers of the primitives, checked at start: a vault on a broken runtime must not serve. */
import { argon2 } from 'node:crypto';
import { chacha20poly1305 } from '@noble/ciphers/chacha.js';
import { equalBytes } from '../primitives/bytes.ts';
import { exportSecret, importPrivate, setupReceiver } from '../primitives/hpke.ts';
import { setupP256Receiver } from '../primitives/hpke-p256.ts';
import { hkdf, hmac, sealInto, sha256, TAG_BYTES } from '../primitives/symmetric.ts';
import { decapsulate, encapsulate, X_WING_ENC_BYTES, xWingPublicOf } from '../primitives/x-wing.ts';

/** Known answers are written as their sources print them. */
function hex(text: string): Uint8Array {
  return Uint8Array.fromHex(text);
}
function filled(length: number, value: number): Uint8Array {
  return new Uint8Array(length).fill(value);
}

/** McGrew and Viega, "The Galois/Counter Mode of Operation", test case 14. */
function gcmAnswer(): Uint8Array {
  const out = new Uint8Array(16 + TAG_BYTES);
  sealInto(out, 0, filled(32, 0), filled(12, 0), filled(16, 0), filled(0, 0));
  return out;
}

/** RFC 8439, section 2.8.2: the tag, which depends on all the rest. */
function chachaAnswer(): Uint8Array {
  const key = Uint8Array.from({ length: 32 }, (_, i) => 0x80 + i);
  const text =
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
  const cipher = chacha20poly1305(key, hex('070000004041424344454647'), hex('50515253c0c1c2c3c4c5c6c7'));
  return cipher.encrypt(Buffer.from(text)).slice(-TAG_BYTES);
}

/** RFC 9180, appendix A.7.1: the first exported value. */
function hpkeAnswer(): Uint8Array {
  const enc = hex('e5e8f9bfff6c2f29791fc351d2c25ce1299aa5eaca78a757c0b4fb4bcd830918');
  const privateKey = hex('33d196c830a12f9ac65d6e565a590d80f04ee9b19c83c87f2c170d972a812848');
  const publicKey = hex('194141ca6c3c3beb4792cd97ba0ea1faff09d98435012345766ee33aae2d7664');
  const info = hex('4f6465206f6e2061204772656369616e2055726e');
  const { exporterSecret } = setupReceiver(enc, importPrivate(privateKey), publicKey, info);
  return exportSecret(exporterSecret, filled(0, 0), 32);
}

/** RFC 9180, appendix A.3.1: the exporter secret, which depends on the curve and the schedule of keys. */
function hpkeP256Answer(): Uint8Array {
  const enc = hex(
    '04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac98536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4',
  );
  const privateKey = hex('f3ce7fdae57e1a310d87f1ebbde6f328be0a99cdbcadf4d6589cf29de4b8ffd2');
  const publicKey = hex(
    '04fe8c19ce0905191ebc298a9245792531f26f0cece2460639e8bc39cb7f706a826a779b4cf969b8a0e539c7f62fb3d30ad6aa8f80e30f1d128aafd68a2ce72ea0',
  );
  const info = hex('4f6465206f6e2061204772656369616e2055726e');
  const aead = { id: 1, keyBytes: 16, nonceBytes: 12 };
  return setupP256Receiver(enc, { privateKey, publicKey }, info, aead).exporterSecret;
}

/** The seed of the first vector of draft-connolly-cfrg-xwing-kem: its public key, whose digest stands here. */
const X_WING_SEED = '7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26';

/**
 * Decapsulation, with that seed, of a constant ciphertext. ML-KEM rejects it implicitly, with a secret that depends on all
 * inputs of a valid one. The answer is from another implementation.
 */
async function xWingAnswer(): Promise<Uint8Array> {
  const seed = hex(X_WING_SEED);
  const { enc, shared } = await encapsulate(xWingPublicOf(seed));
  if (!equalBytes(await decapsulate(seed, enc), shared)) {
    return filled(0, 0);
  }
  return await decapsulate(seed, filled(X_WING_ENC_BYTES, 9));
}

/** RFC 9106, section 5.3: with secret and associated data, which the vault itself does not use. */
function argon2Answer(): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const inputs = {
      message: filled(32, 1),
      nonce: filled(16, 2),
      secret: filled(8, 3),
      associatedData: filled(12, 4),
    };
    const costs = { parallelism: 4, tagLength: 32, memory: 32, passes: 3 };
    argon2('argon2id', { ...inputs, ...costs }, (error, tag) => (error ? reject(error) : resolve(tag)));
  });
}

/** Compares an answer. The error names the primitive, and neither answer. */
function check(name: string, answer: Uint8Array, expected: string): void {
  if (!equalBytes(answer, hex(expected))) {
    throw new Error(`self-test failed: ${name}`);
  }
}

/**
 * Runs the start-up self-test in a few milliseconds. Rejects, naming the primitive, when one of them gives
 * another answer than its standard; the server must then not serve.
 */
export async function selfTest(): Promise<void> {
  check('AES-256-GCM', gcmAnswer(), 'cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919');
  check('ChaCha20-Poly1305', chachaAnswer(), '1ae10b594f09e26a7e902ecbd0600691');
  // FIPS 180-4 example: "abc".
  check('SHA-256', sha256(hex('616263')), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  // RFC 4231, test case 2, and RFC 5869, test case 3.
  check(
    'HMAC-SHA-256',
    hmac(hex('4a656665'), hex('7768617420646f2079612077616e7420666f72206e6f7468696e673f')),
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
  check(
    'HKDF-SHA-256',
    hkdf(filled(22, 0x0b), filled(0, 0), 42),
    '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8',
  );
  check('HPKE', hpkeAnswer(), '7a36221bd56d50fb51ee65edfd98d06a23c4dc87085aa5866cb7087244bd2a36');
  check(
    'HPKE with P-256',
    hpkeP256Answer(),
    '14ad94af484a7ad3ef40e9f3be99ecc6fa9036df9d4920548424df127ee0d99f',
  );
  check(
    'X-Wing public key',
    sha256(xWingPublicOf(hex(X_WING_SEED))),
    '2e816deebcd76c5c80d0cd2d174478871658e8e2ff42bc9d4a6e486372e856bb',
  );
  check('X-Wing', await xWingAnswer(), '572129ee3978a8dcbe50a5b067593980f9e3a8352da0ec5aeedb2ad79acee3f1');
  check('Argon2id', await argon2Answer(), '0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659');
}
