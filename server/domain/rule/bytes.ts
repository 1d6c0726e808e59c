import {
  constants,
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  publicEncrypt,
} from 'node:crypto';
import { HMAC_NAMES } from '../../core/third-party.ts';
import { type RuleArguments, type RuleStep, textStep } from './arguments.ts';

/** Digests without a key; md5 and sha-1 are for interoperability only. */
const HASHES = ['md5', 'sha-1', 'sha-256', 'sha-384', 'sha-512'] as const;

const HMAC_KEY_LENGTH_MAX = 4096;
const NONCE_BYTES_MAX = 1024;
const PEM_LENGTH_MAX = 8192;
/** NIST SP 800-131A: shorter keys are not acceptable; longer ones are slow. */
const RSA_BITS_MIN = 2048;
const RSA_BITS_MAX = 8192;
/** A public key in PEM (RFC 7468). */
const PEM = /^-----BEGIN (RSA PUBLIC|PUBLIC) KEY-----\r?\n[A-Za-z0-9+/=\r\n]+-----END \1 KEY-----$/;
const HEX = /^(?:[0-9a-f]{2})*$/i;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648, section 6, with padding. */
function base32(bytes: Uint8Array): string {
  const text = Buffer.alloc(Math.ceil(bytes.length / 5) * 8, '=');
  let at = 0;
  let bits = 0;
  let held = 0;
  const write = (value: number): void => {
    text[at++] = BASE32.charCodeAt(value & 31);
  };
  for (const byte of bytes) {
    held = ((held & 31) << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) {
      write(held >> (bits - 5));
    }
  }
  if (bits > 0) {
    write(held << (5 - bits));
  }
  return text.toString('latin1');
}

function readHmacKey(args: RuleArguments): Buffer {
  const key = args.text('key', { lengthMax: HMAC_KEY_LENGTH_MAX });
  const isHex = args.flag('hex_key');
  if (key === '' || (isHex && !HEX.test(key))) {
    throw args.invalid('key', isHex ? 'must be hex digits in pairs' : 'must not be empty');
  }
  return Buffer.from(key, isHex ? 'hex' : 'utf8');
}

/**
 * `hash`: the digest of the text's UTF-8 bytes, in lower-case hexadecimal. The HMACs (RFC 2104) require a `key`: UTF-8,
 * or hexadecimal with `hex_key`. The other algorithms reject both arguments.
 */
export function compileHash(args: RuleArguments): RuleStep {
  const algorithm = args.choice('algorithm', [...HASHES, ...HMAC_NAMES]);
  const digestName = algorithm.replace('hmac-', '').replace('-', '');
  if (algorithm.startsWith('hmac-')) {
    const key = readHmacKey(args);
    return textStep((text) => createHmac(digestName, key).update(text, 'utf8').digest('hex'));
  }
  for (const name of ['key', 'hex_key']) {
    if (args.has(name)) {
      throw args.invalid(name, 'is only for an algorithm with a key');
    }
  }
  return textStep((text) => createHash(digestName).update(text, 'utf8').digest('hex'));
}

/** `encode`: RFC 4648 with padding, of the text's UTF-8 bytes, or of hexadecimal with `hex_input`. */
export function compileEncode(args: RuleArguments): RuleStep {
  const scheme = args.choice('scheme', ['base64', 'base32']);
  const isHex = args.flag('hex_input');
  return textStep((text) => {
    if (isHex && !HEX.test(text)) {
      return undefined;
    }
    const bytes = Buffer.from(text, isHex ? 'hex' : 'utf8');
    return scheme === 'base64' ? bytes.toString('base64') : base32(bytes);
  });
}

/** `nonce`: `length` random bytes as text; the input is ignored. */
export function compileNonce(args: RuleArguments): RuleStep {
  const length = args.integer('length', { min: 1, max: NONCE_BYTES_MAX, fallback: 16 });
  const encoding = args.choice('encoding', ['hex', 'base64'], 'hex');
  return (_input, { randomBytes }) => Buffer.from(randomBytes(length)).toString(encoding);
}

/** An RSA public key from PEM (SPKI or PKCS#1) of 2,048 to 8,192 bits. Rejects a text with a private key. */
function readPublicKey(args: RuleArguments): KeyObject {
  const pem = args.text('public_key', { lengthMax: PEM_LENGTH_MAX }).trim();
  const key = PEM.test(pem) ? parsePublicKey(pem) : undefined;
  const { modulusLength = 0, publicExponent = 0n } = key?.asymmetricKeyDetails ?? {};
  const fits = modulusLength >= RSA_BITS_MIN && modulusLength <= RSA_BITS_MAX;
  if (key?.asymmetricKeyType !== 'rsa' || !fits || publicExponent < 3n) {
    throw args.invalid(
      'public_key',
      `must be an RSA public key in PEM of ${RSA_BITS_MIN} to ${RSA_BITS_MAX} bits`,
    );
  }
  return key;
}

/** Undefined if OpenSSL cannot parse the key. */
function parsePublicKey(pem: string): KeyObject | undefined {
  try {
    return createPublicKey(pem);
  } catch {
    return undefined;
  }
}

/**
 * `encrypt`: the text's UTF-8 bytes under RSA-OAEP with SHA-256 (RFC 8017, MGF1 with SHA-256, no label), in base64.
 *
 * WARNING: as with every operation, an input that it does not support is COPIED to the output field, UNENCRYPTED.
 * That is an object, an array, a boolean, null, or a text longer than the key allows: its size in bytes minus 66 (190
 * bytes for 2,048 bits, 446 for 4,096). Use `stringify` or `hash` before it if the input may be one of these.
 */
export function compileEncrypt(args: RuleArguments): RuleStep {
  args.choice('algorithm', ['rsa-oaep-256'], 'rsa-oaep-256');
  const key = readPublicKey(args);
  const bytesMax = Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8) - 66;
  const options = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' };
  return textStep((text) => {
    const bytes = Buffer.from(text, 'utf8');
    return bytes.length > bytesMax ? undefined : publicEncrypt(options, bytes).toString('base64');
  });
}
