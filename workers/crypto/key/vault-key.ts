/**
 * Creation, unlocking, passphrase change and recovery of vault keys. The record holds nothing that the service alone could
 * open; the caller seals it once more in a service record, against forgery.
 */
import { concat, equalBytes, IntegrityError, PassphraseError, wipe } from '../primitives/bytes.ts';
import { POINT_BYTES } from '../primitives/hpke.ts';
import { type Argon2Params, checkNewParams, deriveKek } from '../primitives/kdf.ts';
import { randomBytes } from '../primitives/random.ts';
import { NONCE_BYTES, openAt, SALT_BYTES, sealAt, TAG_BYTES } from '../primitives/symmetric.ts';
import type { KeyContext } from '../record/service-record.ts';
import {
  bindVaultKey,
  COMMITMENT_BYTES,
  type KeyTraits,
  type ParsedVaultKey,
  parseVaultKey,
  vaultKeyHead,
} from './record.ts';
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
  TOKEN_KEY_BYTES,
  type UnlockedKey,
  unlockedKey,
} from './unlocked.ts';

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

/** An open key with one more generation, under a new passphrase and for the same shares. */
async function renewKey(
  ctx: KeyContext,
  old: UnlockedKey,
  records: KeyRecords,
  passphrase: Uint8Array,
  params: Argon2Params,
): Promise<KeyRecords> {
  const parsed = parseVaultKey(records.record);
  const next = newGeneration(generationOf(old).gen + 1);
  using key = unlockedKey(old.kid, old.tokenKey, [...old.generations, next]);
  const recovery = recoveryOf(ctx, parsed, records.recovery);
  return {
    record: await wrapKey(ctx, key, passphrase, params, parsed),
    recovery: recovery && (await resealRecovery(ctx, recovery, key)),
  };
}

/**
 * The records under a new passphrase: every generation is wrapped again and a new one is added, which all later writes use.
 * The shares of a recovery open that one too. Errors as `unlockVaultKey`; RangeError after 4,095 changes.
 */
export async function changePassphrase(
  ctx: KeyContext,
  records: KeyRecords,
  oldPassphrase: Uint8Array,
  newPassphrase: Uint8Array,
  params: Argon2Params,
): Promise<KeyRecords> {
  const old = await openKey(ctx, records.record, oldPassphrase);
  return await renewKey(ctx, old, records, newPassphrase, params);
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
