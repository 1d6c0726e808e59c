/**
 * Files in the age format (age-encryption.org/v1), in pieces. The library writes the header; the chunks of the payload are
 * sealed here by their number, so that any thread can seal the next one. The runtime has no ChaCha20-Poly1305: it is the
 * only cipher from a library.
 */
import { chacha20poly1305 } from '@noble/ciphers/chacha.js';
import { VaultError } from '../../../server/core/errors.ts';
import { CHUNK_BYTES } from '../../../server/domain/text/lines.ts';
import { EMPTY, utf8, wipe } from '../primitives/bytes.ts';
import { randomBytes } from '../primitives/random.ts';
import { hkdf, KEY_BYTES, NONCE_BYTES, TAG_BYTES } from '../primitives/symmetric.ts';

/** Bytes of the nonce of a payload, which follows the header. */
const FILE_NONCE_BYTES = 16;
const LAST = 1;

/** Rejects a recipient that cannot be used: not one of X25519, mistyped, or a point of low order. */
function rejectRecipient(index: number): never {
  const field = `body.recipients[${index}]`;
  const expected = 'must be a recipient that `age-keygen` printed: `age1` and 58 more characters';
  throw new VaultError('invalid_request', { field, expected });
}

/**
 * Begins a file for any of the recipients: the bytes before its chunks, and the key of these. Rejects an invalid recipient
 * with `invalid_request`.
 */
export async function beginAgeFile(
  recipients: readonly string[],
): Promise<{ readonly head: Uint8Array; readonly key: Uint8Array }> {
  // Few threads ever need the library, and it takes longer to load than all the rest of a thread.
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  let fileKey: Uint8Array = EMPTY;
  let wrapped = 0;
  /** Added after each recipient: it receives the key of the file, and counts the recipients before it. */
  const mark = {
    wrapFileKey(key: Uint8Array) {
      fileKey = key;
      wrapped += 1;
      return [];
    },
  };
  let sealed: Uint8Array;
  for (const [index, recipient] of recipients.entries()) {
    try {
      encrypter.addRecipient(recipient);
    } catch {
      rejectRecipient(index);
    }
    encrypter.addRecipient(mark);
  }
  try {
    sealed = await encrypter.encrypt(EMPTY);
  } catch {
    rejectRecipient(wrapped);
  }
  // After the header is an empty payload, which is dropped: ours has another nonce, and so another key.
  const header = sealed.subarray(0, -(FILE_NONCE_BYTES + TAG_BYTES));
  const nonce = randomBytes(FILE_NONCE_BYTES);
  const key = hkdf(fileKey, utf8('payload'), KEY_BYTES, nonce);
  wipe(fileKey);
  return { head: Buffer.concat([header, nonce]), key };
}

/** Seals a short text for one recipient, armored. Rejects an invalid recipient, the `index`-th, with `invalid_request`. */
export async function sealToRecipient(recipient: string, index: number, text: Uint8Array): Promise<string> {
  const { armor, Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  try {
    encrypter.addRecipient(recipient);
    return armor.encode(await encrypter.encrypt(text));
  } catch {
    rejectRecipient(index);
  }
}

/** The nonce of a chunk: its number in eleven bytes, big-endian, and whether it is the last. */
function nonceOf(chunk: number, isLast: boolean): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  new DataView(nonce.buffer).setBigUint64(3, BigInt(chunk));
  nonce[NONCE_BYTES - 1] = isLast ? LAST : 0;
  return nonce;
}

/**
 * Seals the plaintext of whole chunks, from the chunk of this number on; with `isLast`, its last chunk, which may be shorter
 * and must not be empty, ends the file. No number may come twice under one key.
 */
export function sealChunks(
  key: Uint8Array,
  first: number,
  plaintext: Uint8Array,
  isLast: boolean,
): Uint8Array {
  const chunks = Math.ceil(plaintext.length / CHUNK_BYTES);
  if (chunks === 0 || (!isLast && plaintext.length % CHUNK_BYTES !== 0)) {
    throw new RangeError('chunks must be whole');
  }
  const out = new Uint8Array(plaintext.length + chunks * TAG_BYTES);
  for (let i = 0; i < chunks; i++) {
    const part = plaintext.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES);
    const at = i * (CHUNK_BYTES + TAG_BYTES);
    const nonce = nonceOf(first + i, isLast && i === chunks - 1);
    chacha20poly1305(key, nonce).encrypt(part, out.subarray(at, at + part.length + TAG_BYTES));
  }
  return out;
}

/** Opens a file with identities as `age-keygen` prints them. Throws if none of them opens it, and in the stream for a truncated file. */
export async function openAgeFile(
  file: ReadableStream<Uint8Array>,
  identities: readonly string[],
): Promise<ReadableStream<Uint8Array>> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  for (const identity of identities) {
    decrypter.addIdentity(identity);
  }
  return decrypter.decrypt(file);
}
