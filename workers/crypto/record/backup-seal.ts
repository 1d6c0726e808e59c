/**
 * The frames of a backup: a stream of AES-256-GCM messages under a key of the file's own, which derives from the
 * service master key. A frame's nonce is its number and whether it is the last, so that frames cannot be swapped,
 * repeated, omitted or truncated (the STREAM construction); the header is bound to each of them.
 */

import { aad } from '../primitives/aad.ts';
import { equalBytes, writeU64 } from '../primitives/bytes.ts';
import {
  hkdf,
  KEY_BYTES,
  NONCE_BYTES,
  openSealed,
  sealInto,
  sha256,
  TAG_BYTES,
} from '../primitives/symmetric.ts';

/** Bytes that name the key in a file's header. */
const CHECK_BYTES = 16;
/** The nonce: number of the frame in 8 bytes, zeros, and 1 in the last byte for the last frame. */
const LAST_AT = NONCE_BYTES - 1;

/** Where a frame stands in its file, counted from 0. */
export interface FramePlace {
  readonly number: number;
  readonly isLast: boolean;
}

/** Seals and opens the frames of one file. */
export interface BackupSeal {
  /** Names the key without helping to open anything: a reader with another master key sees it at once. */
  readonly check: Uint8Array;
  /** Binds all frames to the header's bytes; to be called before the first frame. */
  bind(header: Uint8Array): void;
  seal(place: FramePlace, plaintext: Uint8Array): Uint8Array;
  /** Rejects with `IntegrityError` whatever was not sealed for this place of this file. */
  open(place: FramePlace, frame: Uint8Array): Uint8Array;
}

/** Never twice under one key: a file has one frame of each number, and its key is its own. */
function nonceOf({ number, isLast }: FramePlace): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  writeU64(nonce, 0, number);
  nonce[LAST_AT] = isLast ? 1 : 0;
  return nonce;
}

/** The seal of one file, from the master key, the environment, and 32 random bytes that no other file has. */
export function createBackupSeal(masterKey: Uint8Array, env: string, salt: Uint8Array): BackupSeal {
  const both = hkdf(masterKey, aad('cardvault backup', [env]), KEY_BYTES + CHECK_BYTES, salt);
  const key = both.subarray(0, KEY_BYTES);
  let associated: Uint8Array = sha256(new Uint8Array(0));
  return {
    check: both.subarray(KEY_BYTES),
    bind(header) {
      associated = sha256(header);
    },
    seal(place, plaintext) {
      const frame = new Uint8Array(plaintext.length + TAG_BYTES);
      sealInto(frame, 0, key, nonceOf(place), plaintext, associated);
      return frame;
    },
    open: (place, frame) => openSealed(key, nonceOf(place), frame, associated),
  };
}

/** Whether a header's check is that of this key, in constant time. */
export function isCheckOf(seal: BackupSeal, check: Uint8Array): boolean {
  return equalBytes(seal.check, check);
}
