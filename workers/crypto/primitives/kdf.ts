/** Argon2id (RFC 9106): passphrases into keys, account passwords into verifiers. */
import { argon2 } from 'node:crypto';
import { FAST_HASH_PREFIX, isFastHash } from '../../../server/domain/account.ts';
import { aad } from './aad.ts';
import { EMPTY, equalBytes, IntegrityError, wipe } from './bytes.ts';
import { randomBytes } from './random.ts';
import { HASH_BYTES, hkdf, hmac, SALT_BYTES } from './symmetric.ts';

/** The cost of Argon2id (RFC 9106, section 3.1). */
export interface Argon2Params {
  /** Memory in KiB (m). */
  readonly memoryKiB: number;
  /** Passes over the memory (t). */
  readonly passes: number;
  /** Lanes (p). */
  readonly parallelism: number;
}

/** The lowest cost of new records, and the cost for account passwords. */
export const ARGON2_FLOOR: Argon2Params = { memoryKiB: 19_456, passes: 2, parallelism: 1 };

/** RFC 9106's second recommended profile. */
export const ARGON2_DEFAULT: Argon2Params = { memoryKiB: 65_536, passes: 3, parallelism: 4 };

function isWithin(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

/** Bounds for records that are read: up to 1 GiB, ten passes and 16 lanes. */
function isReadable({ memoryKiB, passes, parallelism }: Argon2Params): boolean {
  return isWithin(memoryKiB, 19_456, 1_048_576) && isWithin(passes, 1, 10) && isWithin(parallelism, 1, 16);
}

/** Rejects parameters out of bounds in a stored record: a forged one must not cost 64 GiB. */
export function checkStoredParams(params: Argon2Params): void {
  if (!isReadable(params)) {
    throw new IntegrityError();
  }
}

/** Rejects, with RangeError, a setting under the floor or over the bounds that readers accept. */
export function checkNewParams(params: Argon2Params): void {
  if (!isReadable(params) || params.passes < ARGON2_FLOOR.passes) {
    throw new RangeError('Argon2 setting out of bounds');
  }
}

let memoryDivisor = 1;

/**
 * Divides the memory that Argon2id uses from now on in this thread, with any parameters. For tests whose subject is not the
 * cost: no setting leads here, and a thread of a production vault does not start with it.
 */
export function divideArgon2Memory(divisor: number): void {
  memoryDivisor = divisor;
}

/** Computes 32 bytes on a thread of the runtime. Its error is not passed on: it could contain its input. */
function argon2id(message: Uint8Array, nonce: Uint8Array, params: Argon2Params): Promise<Uint8Array> {
  const { memoryKiB, passes, parallelism } = params;
  const memory = Math.ceil(memoryKiB / memoryDivisor);
  const inputs = { message, nonce, parallelism, tagLength: HASH_BYTES, memory, passes };
  return new Promise((resolve, reject) => {
    argon2('argon2id', inputs, (error, tag) => (error ? reject(new Error('Argon2id failed')) : resolve(tag)));
  });
}

/**
 * Stretches a passphrase, its exact bytes, off-thread: 32 bytes of key-encryption key and 32 bytes of commitment, which
 * identifies the passphrase without helping to open anything. The caller wipes both.
 */
export async function deriveKek(
  passphrase: Uint8Array,
  salt: Uint8Array,
  params: Argon2Params,
): Promise<{ readonly kek: Uint8Array; readonly commitment: Uint8Array }> {
  checkStoredParams(params);
  if (salt.length !== SALT_BYTES) {
    throw new IntegrityError();
  }
  const tag = await argon2id(passphrase, salt, params);
  try {
    const both = hkdf(tag, aad('cardvault kek', []), 64);
    return { kek: both.subarray(0, 32), commitment: both.subarray(32) };
  } finally {
    wipe(tag);
  }
}

/** The base64 of the PHC string format. */
const UNPADDED = { omitPadding: true } as const;

const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/**
 * A verifier of an account password as a PHC string: Argon2id at the floor over HMAC-SHA-256(pepper,
 * password). Without the pepper no guess can be tested against it.
 */
export async function hashPassword(password: Uint8Array, pepper: Uint8Array): Promise<string> {
  const { memoryKiB, passes, parallelism } = ARGON2_FLOOR;
  const salt = randomBytes(SALT_BYTES);
  const message = hmac(pepper, password);
  try {
    const tag = await argon2id(message, salt, ARGON2_FLOOR);
    return `$argon2id$v=19$m=${memoryKiB},t=${passes},p=${parallelism}$${salt.toBase64(UNPADDED)}$${tag.toBase64(UNPADDED)}`;
  } finally {
    wipe(message);
  }
}

/** Verifies a password. Any text that `hashPassword` does not return: `IntegrityError`. */
export async function verifyPassword(
  password: Uint8Array,
  pepper: Uint8Array,
  phc: string,
): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(phc) ?? [];
  const params = { memoryKiB: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  checkStoredParams(params);
  const message = hmac(pepper, password);
  let found: Uint8Array = EMPTY;
  try {
    found = await argon2id(message, Buffer.from(salt ?? '', 'base64'), params);
    return equalBytes(found, Buffer.from(tag ?? '', 'base64'));
  } finally {
    wipe(message, found);
  }
}

/** The rest of a fast verifier: salt and tag. */
const FAST = /^([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;
/** Replaces a missing verifier; no password has it. */
const NO_VERIFIER = `${'A'.repeat(22)}$${'A'.repeat(43)}`;

function tagOf(salt: Uint8Array, password: Uint8Array, pepper: Uint8Array): Uint8Array {
  const message = Buffer.concat([salt, password]);
  try {
    return hmac(pepper, message);
  } finally {
    wipe(message);
  }
}

/** A verifier of a generated password: HMAC-SHA-256(pepper, salt | password). Its 256 bits need no stretching. */
export function hashGenerated(password: Uint8Array, pepper: Uint8Array): string {
  const salt = randomBytes(SALT_BYTES);
  const tag = tagOf(salt, password, pepper);
  return `${FAST_HASH_PREFIX}${salt.toBase64(UNPADDED)}$${tag.toBase64(UNPADDED)}`;
}

/**
 * Verifies a generated password. An empty hash matches no password, and takes as long. Any other text that `hashGenerated`
 * does not return: `IntegrityError`.
 */
export function verifyGenerated(password: Uint8Array, pepper: Uint8Array, hash: string): boolean {
  const isNone = hash === '';
  if (!isNone && !isFastHash(hash)) {
    throw new IntegrityError();
  }
  const [, salt, tag] = FAST.exec(isNone ? NO_VERIFIER : hash.slice(FAST_HASH_PREFIX.length)) ?? [];
  if (salt === undefined || tag === undefined) {
    throw new IntegrityError();
  }
  const found = tagOf(Buffer.from(salt, 'base64'), password, pepper);
  return equalBytes(found, Buffer.from(tag, 'base64')) && !isNone;
}
