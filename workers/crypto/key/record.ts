/**
 * The bytes of a vault key's record: private halves of all generations and the token key, wrapped under a key that Argon2id
 * derives from the passphrase.
 *
 * `header 4 | kid length 1 | kid | n 4 | n times ([suite 1] | public key 32) | [digest of the recovery 32] | salt 16 | m 4 |
 * t 4 | p 4 | commitment 32 | nonce 12 | wrap of n private keys and the token key (32 each) | tag 16`
 *
 * A record of the suite of X-Wing names the suite of each generation; in the others all have X25519. The type in the header
 * tells whether summaries of the key's cards are kept, which never changes, and whether there is a recovery. Only the
 * passphrase makes a record with another digest of it, and so adds a recovery.
 */
import { aad } from '../primitives/aad.ts';
import {
  concat,
  HEADER_BYTES,
  headerSuite,
  IntegrityError,
  readBytes,
  readU8,
  readU32,
  TYPE,
  textOf,
  u32,
  utf8,
  writeHeader,
} from '../primitives/bytes.ts';
import { POINT_BYTES } from '../primitives/hpke.ts';
import { type Argon2Params, checkStoredParams } from '../primitives/kdf.ts';
import { HASH_BYTES, NONCE_BYTES, SALT_BYTES, TAG_BYTES } from '../primitives/symmetric.ts';
import type { KeyContext } from '../record/service-record.ts';
import {
  type Generation,
  publicEntryBytes,
  publicEntryOf,
  readPublicEntry,
  suiteOf,
  TOKEN_KEY_BYTES,
  type UnlockedKey,
} from './unlocked.ts';

/** The commitment identifies the passphrase without helping to open anything: the second half of the derived key. */
export const COMMITMENT_BYTES = 32;
/** Limit of passphrase changes; the record grows by 64 bytes each time. */
const GENERATIONS_MAX = 4096;

/** The facts of a key record that do not open the key. */
export interface KeyTraits {
  /** A summary of each card is kept under the service key. */
  readonly summary: boolean;
  /** `recoveryDigest` of the recovery, if there is one. */
  readonly recovery?: Uint8Array | undefined;
}

/** The parts of a key record that need no passphrase: views of the right lengths, authenticated by its service record. */
export interface ParsedVaultKey extends KeyTraits {
  readonly kid: string;
  /** Number of the newest generation; there are as many public halves. */
  readonly gen: number;
  readonly publicHalves: readonly Pick<Generation, 'publicKey' | 'suite'>[];
  readonly params: Argon2Params;
  readonly salt: Uint8Array;
  /** All bytes before the nonce, where the sealed part begins: they are authenticated as they stand. */
  readonly head: Uint8Array;
  readonly commitment: Uint8Array;
}

function typeOf(summary: boolean, isRecoverable: boolean) {
  const [plain, recoverable] = summary
    ? [TYPE.summaryVaultKey, TYPE.recoverableSummaryKey]
    : [TYPE.vaultKey, TYPE.recoverableKey];
  return isRecoverable ? recoverable : plain;
}

/**
 * Parses a record. Rejects wrong lengths, more than 4,096 generations and Argon2 parameters outside `checkStoredParams` with
 * `IntegrityError`, before either costs anything.
 */
export function parseVaultKey(record: Uint8Array): ParsedVaultKey {
  const type = record[1];
  const summary = type === TYPE.summaryVaultKey || type === TYPE.recoverableSummaryKey;
  const isRecoverable = type === TYPE.recoverableKey || type === TYPE.recoverableSummaryKey;
  const suite = headerSuite(record, typeOf(summary, isRecoverable), HEADER_BYTES + 1);
  const kidBytes = readU8(record, HEADER_BYTES);
  const countAt = HEADER_BYTES + 1 + kidBytes;
  const gen = readU32(record, countAt);
  if (gen < 1 || gen > GENERATIONS_MAX) {
    throw new IntegrityError();
  }
  const keysAt = countAt + 4;
  const entryBytes = publicEntryBytes(suite);
  const recoveryAt = keysAt + gen * entryBytes;
  const saltAt = recoveryAt + (isRecoverable ? HASH_BYTES : 0);
  const paramsAt = saltAt + SALT_BYTES;
  const commitmentAt = paramsAt + 12;
  const nonceAt = commitmentAt + COMMITMENT_BYTES;
  if (record.length !== nonceAt + NONCE_BYTES + gen * POINT_BYTES + TOKEN_KEY_BYTES + TAG_BYTES) {
    throw new IntegrityError();
  }
  const params = {
    memoryKiB: readU32(record, paramsAt),
    passes: readU32(record, paramsAt + 4),
    parallelism: readU32(record, paramsAt + 8),
  };
  checkStoredParams(params);
  return {
    kid: textOf(readBytes(record, HEADER_BYTES + 1, kidBytes)),
    summary,
    recovery: isRecoverable ? readBytes(record, recoveryAt, HASH_BYTES) : undefined,
    gen,
    publicHalves: Array.from({ length: gen }, (_, i) =>
      readPublicEntry(record, keysAt + i * entryBytes, suite),
    ),
    params,
    salt: readBytes(record, saltAt, SALT_BYTES),
    head: record.subarray(0, nonceAt),
    commitment: readBytes(record, commitmentAt, COMMITMENT_BYTES),
  };
}

/**
 * AAD of the wrap: the context and all clear bytes before the nonce. Public keys, Argon2 parameters and salt can therefore
 * be read first, and are proven by the wrap.
 */
export function bindVaultKey(ctx: KeyContext, head: Uint8Array): Uint8Array {
  return aad('cardvault vault key', [ctx.env, ctx.aid, ctx.kid, head]);
}

/**
 * The clear bytes of a record before its nonce; the commitment, the last 32 of them, is still to be written. RangeError
 * for a key id of more than 255 bytes, or too many generations.
 */
export function vaultKeyHead(
  ctx: KeyContext,
  key: UnlockedKey,
  salt: Uint8Array,
  params: Argon2Params,
  { summary, recovery }: KeyTraits,
): Uint8Array {
  const kid = utf8(ctx.kid);
  if (kid.length > 255 || key.generations.length > GENERATIONS_MAX) {
    throw new RangeError('vault key too large');
  }
  const header = new Uint8Array(HEADER_BYTES + 1);
  const suite = suiteOf(key);
  writeHeader(header, typeOf(summary, recovery !== undefined), 0, suite);
  header[HEADER_BYTES] = kid.length;
  const publicEntries = key.generations.flatMap((generation) => publicEntryOf(suite, generation));
  const numbers = [u32(params.memoryKiB), u32(params.passes), u32(params.parallelism)];
  const count = u32(key.generations.length);
  const recoveries = recovery === undefined ? [] : [recovery];
  const commitment = new Uint8Array(COMMITMENT_BYTES);
  return concat([header, kid, count, ...publicEntries, ...recoveries, salt, ...numbers, commitment]);
}
