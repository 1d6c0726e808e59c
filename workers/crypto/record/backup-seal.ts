/**
 * The frames of a backup: a stream of AES-256-GCM messages under a separate key for each file, which derives from the
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

/** The place of a frame in its file, counted from 0. */
interface FramePlace {
  readonly number: number;
  readonly isLast: boolean;
}

/** Never twice under one key: a file has one frame of each number, and its key is used for no other file. */
function nonceOf({ number, isLast }: FramePlace): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  writeU64(nonce, 0, number);
  nonce[LAST_AT] = isLast ? 1 : 0;
  return nonce;
}

/** Seals and opens the frames of one file. */
export class BackupSeal {
  /** Names the key without helping to open anything: a reader with another master key sees it at once. */
  readonly check: Uint8Array;
  private readonly key: Uint8Array;
  private associated: Uint8Array = sha256(new Uint8Array(0));

  /** Derives the key from the master key, the environment, and 32 random bytes that no other file has. */
  constructor(masterKey: Uint8Array, env: string, salt: Uint8Array) {
    const both = hkdf(masterKey, aad('cardvault backup', [env]), KEY_BYTES + CHECK_BYTES, salt);
    this.key = both.subarray(0, KEY_BYTES);
    this.check = both.subarray(KEY_BYTES);
  }

  /** Compares a header's check with that of this key, in constant time. */
  matches(check: Uint8Array): boolean {
    return equalBytes(this.check, check);
  }

  /** Binds all frames to the header's bytes; to be called before the first frame. */
  bind(header: Uint8Array): void {
    this.associated = sha256(header);
  }

  seal(place: FramePlace, plaintext: Uint8Array): Uint8Array {
    const frame = new Uint8Array(plaintext.length + TAG_BYTES);
    sealInto(frame, 0, this.key, nonceOf(place), plaintext, this.associated);
    return frame;
  }

  /** Opens a frame. Rejects any that was not sealed for this place of this file with `IntegrityError`. */
  open(place: FramePlace, frame: Uint8Array): Uint8Array {
    return openSealed(this.key, nonceOf(place), frame, this.associated);
  }
}
