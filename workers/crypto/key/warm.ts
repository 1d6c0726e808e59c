/**
 * A warm blob: an open vault key wrapped for memory only, under HMAC(process key, key id, generation, salts,
 * passphrase). It opens in the process that made it and for a caller who presents the passphrase again,
 * without Argon2id.
 *
 * `header 4 | kid length 1 | kid | gen 4 | salt of the record 16 | salt of the blob 16 | nonce 12 | token key 32,
 * then public and private half of each generation | tag 16`
 */
import { NONCE_BYTES, openSealed, sealInto, TAG_BYTES } from '../primitives/aead.ts';
import {
  aad,
  equalBytes,
  IntegrityError,
  readBytes,
  readU8,
  readU32,
  utf8,
  wipe,
  writeU32,
} from '../primitives/bytes.ts';
import { hmac } from '../primitives/hash.ts';
import { SALT_BYTES } from '../primitives/kdf.ts';
import { fillRandom } from '../primitives/random.ts';
import { POINT_BYTES } from '../primitives/x25519.ts';
import { checkHeader, HEADER_BYTES, TYPE, writeHeader } from '../record/format.ts';
import type { KeyContext } from '../record/service-record.ts';
import { describeVaultKey, TOKEN_KEY_BYTES } from './record.ts';
import type { Generation, UnlockedKey } from './unlocked.ts';

const PAIR_BYTES = 2 * POINT_BYTES;

function deriveKey(
  processKey: Uint8Array,
  ctx: KeyContext,
  head: Uint8Array,
  passphrase: Uint8Array,
): Uint8Array {
  return hmac(processKey, aad('cardvault warm key', [ctx.env, ctx.aid, ctx.kid, head, passphrase]));
}

function packKey(key: UnlockedKey): Uint8Array {
  const out = new Uint8Array(TOKEN_KEY_BYTES + key.generations.length * PAIR_BYTES);
  out.set(key.tokenKey);
  let at = TOKEN_KEY_BYTES;
  for (const { publicKey, privateKey } of key.generations) {
    out.set(publicKey, at);
    out.set(privateKey, at + POINT_BYTES);
    at += PAIR_BYTES;
  }
  return out;
}

function unpackKey(kid: string, secrets: Uint8Array, count: number): UnlockedKey {
  const generations: Generation[] = [];
  for (let gen = 1; gen <= count; gen++) {
    const at = TOKEN_KEY_BYTES + (gen - 1) * PAIR_BYTES;
    const publicKey = secrets.subarray(at, at + POINT_BYTES);
    generations.push({ gen, publicKey, privateKey: secrets.subarray(at + POINT_BYTES, at + PAIR_BYTES) });
  }
  return { kid, tokenKey: secrets.subarray(0, TOKEN_KEY_BYTES), generations };
}

/**
 * Wraps an open key for the same caller's next requests. `record` is the key record it was opened from.
 * How long a blob is kept, and for which passphrases, is the caller's to decide.
 */
export function sealWarm(
  processKey: Uint8Array,
  ctx: KeyContext,
  record: Uint8Array,
  passphrase: Uint8Array,
  key: UnlockedKey,
): Uint8Array {
  const { salt } = describeVaultKey(record);
  const kid = utf8(ctx.kid);
  const genAt = HEADER_BYTES + 1 + kid.length;
  const saltAt = genAt + 4;
  const ownSaltAt = saltAt + SALT_BYTES;
  const nonceAt = ownSaltAt + SALT_BYTES;
  const bodyAt = nonceAt + NONCE_BYTES;
  const secrets = packKey(key);
  const out = new Uint8Array(bodyAt + secrets.length + TAG_BYTES);
  writeHeader(out, TYPE.warm);
  out[HEADER_BYTES] = kid.length;
  out.set(kid, HEADER_BYTES + 1);
  writeU32(out, genAt, key.generations.length);
  out.set(salt, saltAt);
  fillRandom(out, ownSaltAt, SALT_BYTES + NONCE_BYTES);
  const head = out.subarray(0, nonceAt);
  const warmKey = deriveKey(processKey, ctx, head, passphrase);
  try {
    sealInto(out, bodyAt, warmKey, out.subarray(nonceAt, bodyAt), secrets, head);
    return out;
  } finally {
    wipe(warmKey, secrets);
  }
}

function openBlob(
  processKey: Uint8Array,
  ctx: KeyContext,
  blob: Uint8Array,
  passphrase: Uint8Array,
): UnlockedKey {
  checkHeader(blob, TYPE.warm, HEADER_BYTES + 1);
  const kidBytes = readU8(blob, HEADER_BYTES);
  const genAt = HEADER_BYTES + 1 + kidBytes;
  const gen = readU32(blob, genAt);
  const nonceAt = genAt + 4 + 2 * SALT_BYTES;
  const bodyAt = nonceAt + NONCE_BYTES;
  if (blob.length !== bodyAt + TOKEN_KEY_BYTES + gen * PAIR_BYTES + TAG_BYTES) {
    throw new IntegrityError();
  }
  if (!equalBytes(readBytes(blob, HEADER_BYTES + 1, kidBytes), utf8(ctx.kid))) {
    throw new IntegrityError();
  }
  const head = blob.subarray(0, nonceAt);
  const warmKey = deriveKey(processKey, ctx, head, passphrase);
  try {
    const secrets = openSealed(warmKey, blob.subarray(nonceAt, bodyAt), blob.subarray(bodyAt), head);
    return unpackKey(ctx.kid, secrets, gen);
  } finally {
    wipe(warmKey);
  }
}

/**
 * Opens a warm blob. Undefined for a wrong passphrase, and for a blob that is damaged or of another key or
 * process: in each case the caller pays the full Argon2id.
 */
export function openWarm(
  processKey: Uint8Array,
  ctx: KeyContext,
  blob: Uint8Array,
  passphrase: Uint8Array,
): UnlockedKey | undefined {
  try {
    return openBlob(processKey, ctx, blob, passphrase);
  } catch (error) {
    if (error instanceof IntegrityError) {
      return undefined;
    }
    throw error;
  }
}
