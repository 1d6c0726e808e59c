/**
 * The vault key's life: creation, unlocking, passphrase change. The record holds nothing that the service
 * alone could open; the caller seals it once more in a service record, against forgery.
 */
import { concat, equalBytes, IntegrityError, PassphraseError, wipe } from '../primitives/bytes.ts';
import { generateKeyPair, POINT_BYTES, publicOf } from '../primitives/hpke.ts';
import { type Argon2Params, checkNewParams, deriveKek } from '../primitives/kdf.ts';
import { randomBytes } from '../primitives/random.ts';
import { NONCE_BYTES, openAt, SALT_BYTES, sealAt, TAG_BYTES } from '../primitives/symmetric.ts';
import type { KeyContext } from '../record/service-record.ts';
import {
  bindVaultKey,
  COMMITMENT_BYTES,
  type ParsedVaultKey,
  parseVaultKey,
  vaultKeyHead,
} from './record.ts';
import { type Generation, generationOf, TOKEN_KEY_BYTES, type UnlockedKey, unlockedKey } from './unlocked.ts';

/**
 * Wraps an open key under a passphrase, with a fresh salt. The key-encryption key belongs to this salt alone, so it seals
 * one record in its life. RangeError for a setting out of bounds, before Argon2id is paid.
 */
async function wrapKey(
  ctx: KeyContext,
  key: UnlockedKey,
  passphrase: Uint8Array,
  params: Argon2Params,
  summary: boolean,
): Promise<Uint8Array> {
  checkNewParams(params);
  const salt = randomBytes(SALT_BYTES);
  const head = vaultKeyHead(ctx, key, salt, params, summary);
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
 * Splits the opened wrap into views, which the key takes over, and proves that each private half belongs to the public
 * one in the record: about 30 us a generation, beside 200 ms of Argon2id.
 */
function readKey({ kid, gen, publicKeys }: ParsedVaultKey, secrets: Uint8Array): UnlockedKey {
  const generations: Generation[] = publicKeys.map((publicKey, i) => {
    const privateKey = secrets.subarray(i * POINT_BYTES, (i + 1) * POINT_BYTES);
    return { gen: i + 1, privateKey, publicKey };
  });
  const key = unlockedKey(kid, secrets.subarray(gen * POINT_BYTES), generations);
  if (generations.every(({ privateKey, publicKey }) => equalBytes(publicOf(privateKey), publicKey))) {
    return key;
  }
  key[Symbol.dispose]();
  throw new IntegrityError('key');
}

/**
 * Opens a record with its passphrase. The commitment distinguishes a wrong passphrase (`PassphraseError`) from a damaged record
 * (`IntegrityError`); it is compared in constant time, once Argon2id is paid.
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
 * The setting where it is higher, the record's own value where that is; undefined when nothing rises. A lower setting
 * never weakens a record. Lanes follow the setting: memory and passes are what a guess costs.
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

/** A random open vault key of one generation, which is stored nowhere yet. The caller disposes of it. */
export function throwawayKey(kid: string): UnlockedKey {
  return unlockedKey(kid, randomBytes(TOKEN_KEY_BYTES), [{ gen: 1, ...generateKeyPair() }]);
}

/**
 * The record of a new vault key of one generation, with a random token key. Nothing of the key stays in memory: its maker
 * unlocks it like everybody. `summary`: summaries of its cards are kept. Rejects a setting under the floor with RangeError.
 */
export async function createVaultKey(
  ctx: KeyContext,
  passphrase: Uint8Array,
  params: Argon2Params,
  summary = false,
): Promise<Uint8Array> {
  using key = throwawayKey(ctx.kid);
  return await wrapKey(ctx, key, passphrase, params, summary);
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
  const { params: stored, summary } = parseVaultKey(record);
  const higher = raised(stored, params);
  if (!higher) {
    return { key };
  }
  try {
    return { key, upgraded: await wrapKey(ctx, key, passphrase, higher, summary) };
  } catch (error) {
    key[Symbol.dispose]();
    throw error;
  }
}

/**
 * The record under a new passphrase: every generation is wrapped again and a new one is added, which all
 * later writes use. Errors as `unlockVaultKey`; RangeError after 4,095 changes.
 */
export async function changePassphrase(
  ctx: KeyContext,
  record: Uint8Array,
  oldPassphrase: Uint8Array,
  newPassphrase: Uint8Array,
  params: Argon2Params,
): Promise<Uint8Array> {
  const old = await openKey(ctx, record, oldPassphrase);
  const next = { gen: generationOf(old).gen + 1, ...generateKeyPair() };
  using key = unlockedKey(old.kid, old.tokenKey, [...old.generations, next]);
  return await wrapKey(ctx, key, newPassphrase, params, parseVaultKey(record).summary);
}
