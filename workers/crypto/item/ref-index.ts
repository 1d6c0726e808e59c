/**
 * The reference index: a keyed encoding that keeps prefixes, so that a sorted set finds references by
 * their beginning without the store being able to read them. Each byte of the reference becomes two bytes
 * that depend on it and on all bytes before it (truncated CBC; `docs/decisions/reference-index.md`).
 */
import { createCipheriv } from 'node:crypto';
import { utf8 } from '../primitives/bytes.ts';

const BLOCK_BYTES = 16;
const KEPT_BYTES = 2;
const ZERO_IV = new Uint8Array(BLOCK_BYTES);

/** Marks the end: its second byte sets it apart from the block of every byte value. */
const END_BLOCK_SECOND_BYTE = 1;

function encode(subkey: Uint8Array, reference: string, hasEnd: boolean): Uint8Array {
  const bytes = utf8(reference);
  const count = bytes.length + (hasEnd ? 1 : 0);
  const blocks = new Uint8Array(count * BLOCK_BYTES);
  for (let i = 0; i < bytes.length; i++) {
    blocks[i * BLOCK_BYTES] = bytes[i] ?? 0;
  }
  if (hasEnd) {
    blocks[bytes.length * BLOCK_BYTES + 1] = END_BLOCK_SECOND_BYTE;
  }
  const cipher = createCipheriv('aes-256-cbc', subkey, ZERO_IV).setAutoPadding(false);
  const chained = cipher.update(blocks);
  const out = new Uint8Array(count * KEPT_BYTES);
  for (let i = 0; i < count; i++) {
    out[i * KEPT_BYTES] = chained[i * BLOCK_BYTES] ?? 0;
    out[i * KEPT_BYTES + 1] = chained[i * BLOCK_BYTES + 1] ?? 0;
  }
  return out;
}

/**
 * The encoding of a beginning: a prefix, byte by byte, of the encoding of every reference that begins so.
 * About one in 65,536 others has it too: readers compare the reference itself, in the item's metadata.
 */
export function encodeReference(subkey: Uint8Array, reference: string): Uint8Array {
  return encode(subkey, reference, false);
}

/** The encoding of a whole reference, for exact matches: two bytes more, which mark its end. */
export function encodeReferenceEnd(subkey: Uint8Array, reference: string): Uint8Array {
  return encode(subkey, reference, true);
}
