/**
 * The vault key's life: creation, unlocking, passphrase change. The record holds nothing that the service
 * alone could open; the caller seals it once more in a service record, against forgery.
 */
import { NONCE_BYTES, openSealed, sealInto, TAG_BYTES } from '../primitives/aead.ts';
import { concat, equalBytes, IntegrityError, PassphraseError, wipe } from '../primitives/bytes.ts';
import { type Argon2Params, checkNewParams, deriveKek, SALT_BYTES } from '../primitives/kdf.ts';
import { fillRandom, randomBytes } from '../primitives/random.ts';
import { generateKeyPair, POINT_BYTES, publicOf } from '../primitives/x25519.ts';
import type { KeyContext } from '../record/service-record.ts';
import {
  bindVaultKey,
  COMMITMENT_BYTES,
  type ParsedVaultKey,
  parseVaultKey,
  TOKEN_KEY_BYTES,
  vaultKeyHead,
} from './record.ts';
import { type Generation, newestGeneration, type UnlockedKey, wipeKey } from './unlocked.ts';

export { describeVaultKey } from './record.ts';
export { type UnlockedKey, wipeKey } from './unlocked.ts';
export { openWarm, sealWarm } from './warm.ts';

/** Wraps an open key under a passphrase, with a fresh salt. */
async function wrapKey(
  ctx: KeyContext,
  key: UnlockedKey,
  passphrase: Uint8Array,
  params: Argon2Params,
): Promise<Uint8Array> {
  checkNewParams(params);
  const salt = randomBytes(SALT_BYTES);
  const head = vaultKeyHead(ctx, key, salt, params);
  const { kek, commitment } = await deriveKek(passphrase, salt, params);
  const secrets = concat([...key.generations.map((generation) => generation.privateKey), key.tokenKey]);
  try {
    head.set(commitment, head.length - COMMITMENT_BYTES);
    const out = new Uint8Array(head.length + NONCE_BYTES + secrets.length + TAG_BYTES);
    out.set(head);
    fillRandom(out, head.length, NONCE_BYTES);
    const bodyAt = head.length + NONCE_BYTES;
    sealInto(out, bodyAt, kek, out.subarray(head.length, bodyAt), secrets, bindVaultKey(ctx, head));
    return out;
  } finally {
    wipe(kek, commitment, secrets);
  }
}

/** Splits the opened wrap, and proves that each private half belongs to the public one in the record. */
function readKey(parsed: ParsedVaultKey, secrets: Uint8Array): UnlockedKey {
  const generations: Generation[] = parsed.publicKeys.map((publicKey, i) => {
    const privateKey = secrets.slice(i * POINT_BYTES, (i + 1) * POINT_BYTES);
    return { gen: i + 1, privateKey, publicKey: publicKey.slice() };
  });
  const key = { kid: parsed.kid, tokenKey: secrets.slice(parsed.gen * POINT_BYTES), generations };
  for (const { privateKey, publicKey } of generations) {
    if (equalBytes(publicOf(privateKey), publicKey)) {
      continue;
    }
    wipeKey(key);
    throw new IntegrityError();
  }
  return key;
}

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
    const opened = openSealed(kek, parsed.nonce, parsed.wrap, bindVaultKey(ctx, parsed.head));
    const secrets = new Uint8Array(opened);
    wipe(opened);
    try {
      return readKey(parsed, secrets);
    } finally {
      wipe(secrets);
    }
  } finally {
    wipe(kek, commitment);
  }
}

/** The setting where it is higher, the record's own value where that is; undefined when nothing rises. */
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

/** A new vault key of one generation, with a random token key. Refuses a setting under the floor. */
export async function createVaultKey(
  ctx: KeyContext,
  passphrase: Uint8Array,
  params: Argon2Params,
): Promise<Uint8Array> {
  const key: UnlockedKey = {
    kid: ctx.kid,
    tokenKey: randomBytes(TOKEN_KEY_BYTES),
    generations: [{ gen: 1, ...generateKeyPair() }],
  };
  try {
    return await wrapKey(ctx, key, passphrase, params);
  } finally {
    wipeKey(key);
  }
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
  const higher = raised(parseVaultKey(record).params, params);
  if (!higher) {
    return { key };
  }
  try {
    return { key, upgraded: await wrapKey(ctx, key, passphrase, higher) };
  } catch (error) {
    wipeKey(key);
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
  const next: Generation = { gen: newestGeneration(old).gen + 1, ...generateKeyPair() };
  const key: UnlockedKey = { ...old, generations: [...old.generations, next] };
  try {
    return await wrapKey(ctx, key, newPassphrase, params);
  } finally {
    wipeKey(key);
  }
}
