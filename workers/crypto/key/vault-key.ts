/**
 * Vault keys: their record, creation, unlocking, passphrase change and recovery. The record holds nothing that the service
 * alone could open; the caller seals it once more in a service record, against forgery.
 *
 * It has the private halves of all generations and the token key, wrapped under a key that Argon2id derives from the
 * passphrase:
 *
 * `header 4 | kid length 1 | kid | n 4 | n times ([suite 1] | public key 32) | [digest of the recovery 32] | salt 16 | m 4 |
 * t 4 | p 4 | commitment 32 | nonce 12 | wrap of n private keys and the token key (32 each) | tag 16`
 *
 * A record of the suite of X-Wing names the suite of each generation; in the others all have X25519. The type in the header
 * tells whether summaries of the key's cards are kept, and whether there is a recovery. Only the passphrase makes a record with
 * another type or another digest of the recovery.
 */
import { aad } from '../primitives/aad.ts';
import {
  concat,
  equalBytes,
  HEADER_BYTES,
  headerSuite,
  IntegrityError,
  PassphraseError,
  readBytes,
  readU8,
  readU32,
  TYPE,
  textOf,
  u32,
  utf8,
  wipe,
  writeHeader,
} from '../primitives/bytes.ts';
import { POINT_BYTES } from '../primitives/hpke.ts';
import { type Argon2Params, checkNewParams, checkStoredParams, deriveKek } from '../primitives/kdf.ts';
import { randomBytes } from '../primitives/random.ts';
import { HASH_BYTES, NONCE_BYTES, openAt, SALT_BYTES, sealAt, TAG_BYTES } from '../primitives/symmetric.ts';
import type { KeyContext } from '../record/service-record.ts';
import {
  makeRecovery,
  openRecovery,
  type ParsedRecovery,
  parseRecovery,
  recoveryDigest,
  resealRecovery,
} from './recovery.ts';
import {
  type Generation,
  generationOf,
  newGeneration,
  pointOf,
  publicEntryBytes,
  publicEntryOf,
  readPublicEntry,
  suiteOf,
  TOKEN_KEY_BYTES,
  type UnlockedKey,
  unlockedKey,
} from './unlocked.ts';

/** The commitment identifies the passphrase without helping to open anything: the second half of the derived key. */
export const COMMITMENT_BYTES = 32;
/** Limit of passphrase changes; the record grows by 64 bytes each time. */
const GENERATIONS_MAX = 4096;

/** The facts of a key record that do not open the key. */
interface KeyTraits {
  /** A summary of each card is kept under the service key. */
  readonly summary: boolean;
  /** `recoveryDigest` of the recovery, if there is one. */
  readonly recovery?: Uint8Array | undefined;
}

/** The parts of a key record that need no passphrase: views of the right lengths, authenticated by its service record. */
interface ParsedVaultKey extends KeyTraits {
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

/**
 * Wraps an open key under a passphrase, with a fresh salt. The key-encryption key belongs to this salt alone, so it seals
 * one record only. RangeError for a setting out of bounds, before Argon2id runs.
 */
async function wrapKey(
  ctx: KeyContext,
  key: UnlockedKey,
  passphrase: Uint8Array,
  params: Argon2Params,
  traits: KeyTraits,
): Promise<Uint8Array> {
  checkNewParams(params);
  const salt = randomBytes(SALT_BYTES);
  const head = vaultKeyHead(ctx, key, salt, params, traits);
  const { kek, commitment } = await deriveKek(passphrase, salt, params);
  const secrets = concat([...key.generations.map((generation) => generation.privateKey), key.tokenKey]);
  try {
    head.set(commitment, head.length - COMMITMENT_BYTES);
    const out = new Uint8Array(head.length + NONCE_BYTES + secrets.length + TAG_BYTES);
    out.set(head);
    sealAt(out, head.length, kek, secrets, bindVaultKey(ctx, head));
    return out;
  } finally {
    wipe(kek, commitment, secrets);
  }
}

/**
 * Splits the opened wrap into views, which the key owns, and proves that each private half belongs to the public one in the
 * record: about 30 us a generation, compared with 200 ms of Argon2id.
 */
function readKey({ kid, gen, publicHalves }: ParsedVaultKey, secrets: Uint8Array): UnlockedKey {
  const generations: Generation[] = publicHalves.map((half, i) => {
    const privateKey = secrets.subarray(i * POINT_BYTES, (i + 1) * POINT_BYTES);
    return { gen: i + 1, privateKey, ...half };
  });
  const key = unlockedKey(kid, secrets.subarray(gen * POINT_BYTES), generations);
  if (generations.every((generation) => equalBytes(pointOf(generation), generation.publicKey))) {
    return key;
  }
  key[Symbol.dispose]();
  throw new IntegrityError('key');
}

/**
 * Opens a record with its passphrase. The commitment distinguishes a wrong passphrase (`PassphraseError`) from a damaged record
 * (`IntegrityError`); it is compared in constant time, after Argon2id.
 */
async function openKey(ctx: KeyContext, record: Uint8Array, passphrase: Uint8Array): Promise<UnlockedKey> {
  const parsed = parseVaultKey(record);
  if (parsed.kid !== ctx.kid) {
    throw new IntegrityError();
  }
  const { kek, commitment } = await deriveKek(passphrase, parsed.salt, parsed.params);
  try {
    if (!equalBytes(commitment, parsed.commitment)) {
      throw new PassphraseError();
    }
    return readKey(parsed, openAt(record, parsed.head.length, kek, bindVaultKey(ctx, parsed.head)));
  } finally {
    wipe(kek, commitment);
  }
}

/**
 * The higher of the setting and the record's value, each for memory and passes, which make the cost of a guess; undefined
 * if nothing rises. A lower setting never weakens a record. Lanes follow the setting.
 */
function raised(stored: Argon2Params, setting: Argon2Params): Argon2Params | undefined {
  if (stored.memoryKiB >= setting.memoryKiB && stored.passes >= setting.passes) {
    return undefined;
  }
  return {
    memoryKiB: Math.max(stored.memoryKiB, setting.memoryKiB),
    passes: Math.max(stored.passes, setting.passes),
    parallelism: setting.parallelism,
  };
}

/** A random open vault key of one generation, which is not stored. The caller disposes of it. */
export function throwawayKey(kid: string): UnlockedKey {
  return unlockedKey(kid, randomBytes(TOKEN_KEY_BYTES), [newGeneration(1)]);
}

/**
 * The record of a new vault key of one generation, with a random token key. Nothing of the key stays in memory. `summary`:
 * summaries of its cards are kept. Rejects a setting under the floor with RangeError.
 */
export async function createVaultKey(
  ctx: KeyContext,
  passphrase: Uint8Array,
  params: Argon2Params,
  summary = false,
): Promise<Uint8Array> {
  using key = throwawayKey(ctx.kid);
  return await wrapKey(ctx, key, passphrase, params, { summary });
}

/**
 * Opens a vault key: about 200 ms of Argon2id at the default setting. A wrong passphrase: `PassphraseError`;
 * a record that was edited or moved: `IntegrityError`. When the setting has risen since, `upgraded` is the
 * record wrapped again under it, for the caller to store.
 */
export async function unlockVaultKey(
  ctx: KeyContext,
  record: Uint8Array,
  passphrase: Uint8Array,
  params: Argon2Params,
): Promise<{ readonly key: UnlockedKey; readonly upgraded?: Uint8Array }> {
  const key = await openKey(ctx, record, passphrase);
  const parsed = parseVaultKey(record);
  const higher = raised(parsed.params, params);
  if (!higher) {
    return { key };
  }
  try {
    return { key, upgraded: await wrapKey(ctx, key, passphrase, higher, parsed) };
  } catch (error) {
    key[Symbol.dispose]();
    throw error;
  }
}

/** The record of a key, and that of its recovery if it has one: they are stored together. */
export interface KeyRecords {
  readonly record: Uint8Array;
  readonly recovery?: Uint8Array | undefined;
}

/** The recovery that the record of a key names; `IntegrityError` for another one, and for none if it names one. */
function recoveryOf(
  ctx: KeyContext,
  known: KeyTraits,
  record: Uint8Array | undefined,
): ParsedRecovery | undefined {
  const parsed = record && parseRecovery(record);
  const isKnown =
    parsed === undefined
      ? known.recovery === undefined
      : parsed.kid === ctx.kid &&
        known.recovery !== undefined &&
        equalBytes(recoveryDigest(parsed), known.recovery);
  if (!isKnown) {
    throw new IntegrityError('recovery');
  }
  return parsed;
}

/** An open key with one more generation, under a new passphrase and for the same shares; with or without summaries. */
async function renewKey(
  ctx: KeyContext,
  old: UnlockedKey,
  records: KeyRecords,
  passphrase: Uint8Array,
  params: Argon2Params,
  wantsSummary?: boolean,
): Promise<KeyRecords> {
  const parsed = parseVaultKey(records.record);
  const next = newGeneration(generationOf(old).gen + 1);
  using key = unlockedKey(old.kid, old.tokenKey, [...old.generations, next]);
  const recovery = recoveryOf(ctx, parsed, records.recovery);
  return {
    record: await wrapKey(ctx, key, passphrase, params, {
      ...parsed,
      summary: wantsSummary ?? parsed.summary,
    }),
    recovery: recovery && (await resealRecovery(ctx, recovery, key)),
  };
}

/**
 * The records under a new passphrase: every generation is wrapped again and a new one is added, which all later writes use.
 * The shares of a recovery open that one too. `summary`: with or without summaries from then on. Errors as `unlockVaultKey`;
 * RangeError after 4,095 changes.
 */
export async function changePassphrase(
  ctx: KeyContext,
  records: KeyRecords,
  oldPassphrase: Uint8Array,
  newPassphrase: Uint8Array,
  params: Argon2Params,
  summary?: boolean,
): Promise<KeyRecords> {
  const old = await openKey(ctx, records.record, oldPassphrase);
  return await renewKey(ctx, old, records, newPassphrase, params, summary);
}

/** The record with or without summaries. Passphrase, generation and recovery stay. Errors as `unlockVaultKey`. */
export async function setSummary(
  ctx: KeyContext,
  record: Uint8Array,
  passphrase: Uint8Array,
  params: Argon2Params,
  summary: boolean,
): Promise<Uint8Array> {
  using key = await openKey(ctx, record, passphrase);
  const { params: stored, recovery } = parseVaultKey(record);
  return await wrapKey(ctx, key, passphrase, raised(stored, params) ?? stored, { summary, recovery });
}

/** The same with shares in place of the old passphrase; `recovery_refused` if they do not open the key. */
export async function recoverVaultKey(
  ctx: KeyContext,
  records: KeyRecords,
  shares: readonly Uint8Array[],
  newPassphrase: Uint8Array,
  params: Argon2Params,
): Promise<KeyRecords> {
  const known = parseVaultKey(records.record);
  if (known.kid !== ctx.kid) {
    throw new IntegrityError();
  }
  recoveryOf(ctx, known, records.recovery);
  const old = await openRecovery(ctx, records.recovery, shares, (secrets, { gen }) => {
    if (gen !== known.gen) {
      wipe(secrets);
      throw new IntegrityError('recovery');
    }
    return readKey(known, secrets);
  });
  return await renewKey(ctx, old, records, newPassphrase, params);
}

/**
 * The records with the `wanted` recovery in place of the earlier one, or with none. Passphrase and generation stay. Errors
 * as `unlockVaultKey`.
 */
export async function replaceRecovery(
  ctx: KeyContext,
  record: Uint8Array,
  passphrase: Uint8Array,
  params: Argon2Params,
  wanted: { readonly recipients: readonly string[]; readonly threshold: number } | null,
): Promise<KeyRecords> {
  using key = await openKey(ctx, record, passphrase);
  const { params: stored, summary } = parseVaultKey(record);
  const recovery =
    wanted === null ? undefined : await makeRecovery(ctx, key, wanted.recipients, wanted.threshold);
  const traits = { summary, recovery: recovery && recoveryDigest(parseRecovery(recovery)) };
  return {
    record: await wrapKey(ctx, key, passphrase, raised(stored, params) ?? stored, traits),
    recovery,
  };
}
