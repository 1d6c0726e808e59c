/**
 * A warm blob: an open vault key wrapped for memory only, under HMAC(process key, key id, generation, salts,
 * passphrase). It opens in the process that made it and with the same passphrase, without Argon2id.
 *
 * `header 4 | kid length 1 | kid | gen 4 | salt of the record 16 | salt of the blob 16 | nonce 12 | token key 32,
 * then suite, public and private half of each generation | tag 16`
 */
import { aad } from '../primitives/aad.ts';
import {
  concat,
  HEADER_BYTES,
  headerSuite,
  openedOrNot,
  readU32,
  TYPE,
  utf8,
  viewOf,
  wipe,
  writeHeader,
  writeU32,
} from '../primitives/bytes.ts';
import { fillRandom } from '../primitives/random.ts';
import { hmac, NONCE_BYTES, openAt, SALT_BYTES, sealAt, TAG_BYTES } from '../primitives/symmetric.ts';
import type { KeyContext } from '../record/service-record.ts';
import {
  pairBytes,
  pairsOf,
  suiteOf,
  TOKEN_KEY_BYTES,
  type UnlockedKey,
  unlockedKey,
  unpackPairs,
} from './unlocked.ts';
import { parseVaultKey } from './vault-key.ts';

/** The key of one blob: the blob's salt is in `head`, so it seals this blob only. */
function deriveKey(
  processKey: Uint8Array,
  { env, aid, kid }: KeyContext,
  head: Uint8Array,
  passphrase: Uint8Array,
): Uint8Array {
  const input = aad('cardvault warm key', [env, aid, kid, head, passphrase]);
  try {
    return hmac(processKey, input);
  } finally {
    wipe(input);
  }
}

/**
 * Wraps an open key for the same caller's next requests. `record` is the key record it was opened from: its salt enters the
 * key of the blob, so that blobs of two records of one vault key are independent. The caller decides how long a blob is
 * kept, and for which passphrases.
 */
export function sealWarm(
  processKey: Uint8Array,
  ctx: KeyContext,
  record: Uint8Array,
  passphrase: Uint8Array,
  key: UnlockedKey,
): Uint8Array {
  const { salt } = parseVaultKey(record);
  const kid = utf8(ctx.kid);
  const genAt = HEADER_BYTES + 1 + kid.length;
  const saltAt = genAt + 4;
  const ownSaltAt = saltAt + SALT_BYTES;
  const nonceAt = ownSaltAt + SALT_BYTES;
  const secrets = concat([key.tokenKey, ...pairsOf(key)]);
  const out = new Uint8Array(nonceAt + NONCE_BYTES + secrets.length + TAG_BYTES);
  writeHeader(out, TYPE.warm, 0, suiteOf(key));
  out[HEADER_BYTES] = kid.length;
  out.set(kid, HEADER_BYTES + 1);
  writeU32(out, genAt, key.generations.length);
  out.set(salt, saltAt);
  fillRandom(out, ownSaltAt, SALT_BYTES);
  const head = out.subarray(0, nonceAt);
  const warmKey = deriveKey(processKey, ctx, head, passphrase);
  try {
    sealAt(out, nonceAt, warmKey, secrets, head);
    return out;
  } finally {
    wipe(warmKey, secrets);
  }
}

/**
 * Opens a warm blob; the caller disposes of the key. Undefined for a wrong passphrase, and for a blob that is damaged or of
 * another key or process: in each case Argon2id has to run.
 */
export function openWarm(
  processKey: Uint8Array,
  ctx: KeyContext,
  blob: Uint8Array,
  passphrase: Uint8Array,
): UnlockedKey | undefined {
  return openedOrNot(() => {
    const suite = headerSuite(blob, TYPE.warm, HEADER_BYTES + 1);
    const genAt = HEADER_BYTES + 1 + (blob[HEADER_BYTES] ?? 0);
    const gen = readU32(blob, genAt);
    const nonceAt = genAt + 4 + 2 * SALT_BYTES;
    if (blob.length !== nonceAt + NONCE_BYTES + TOKEN_KEY_BYTES + gen * pairBytes(suite) + TAG_BYTES) {
      return undefined;
    }
    // The head names a vault key, and so does `ctx`: of another one the key differs, and nothing opens.
    const head = viewOf(blob, 0, nonceAt);
    const warmKey = deriveKey(processKey, ctx, head, passphrase);
    try {
      const secrets = openAt(blob, nonceAt, warmKey, head);
      const generations = unpackPairs(secrets, TOKEN_KEY_BYTES, gen, suite);
      return unlockedKey(ctx.kid, viewOf(secrets, 0, TOKEN_KEY_BYTES), generations);
    } finally {
      wipe(warmKey);
    }
  });
}
