/**
 * The bytes of a recovery record, which custodians' shares open instead of a passphrase.
 *
 * `header 4 | kid length 1 | kid | id 16 | public key 1216 | commitment 32 | generations then 4 | check 32 | threshold 1 |
 * n 1 | n times (recipient 62 | length 2 | share in the age format) | gen 4 | enc 1120 | nonce 12 | wrap of the private keys
 * and the token key (32 each) | tag 16`
 *
 * All before `gen` is the head, which never changes; the record of the key has its digest. The wrap is made again at each
 * change of the passphrase, with the public key: neither shares nor custodians are needed for it.
 */
import { VaultError } from '../../../server/core/errors.ts';
import { aad } from '../primitives/aad.ts';
import {
  checkHeader,
  concat,
  EMPTY,
  equalBytes,
  HEADER_BYTES,
  IntegrityError,
  readBytes,
  readU8,
  readU16,
  readU32,
  TYPE,
  textOf,
  u16,
  u32,
  utf8,
  wipe,
  writeHeader,
  X_WING_SUITE,
} from '../primitives/bytes.ts';
import { type KeyPair, POINT_BYTES } from '../primitives/hpke.ts';
import { randomBytes } from '../primitives/random.ts';
import {
  HASH_BYTES,
  hkdf,
  hmac,
  KEY_BYTES,
  NONCE_BYTES,
  openAt,
  sealAt,
  sha256,
  TAG_BYTES,
} from '../primitives/symmetric.ts';
import {
  exportXWing,
  setupXWingReceiver,
  setupXWingSender,
  X_WING_ENC_BYTES,
  X_WING_PUBLIC_BYTES,
  xWingPublicOf,
} from '../primitives/x-wing.ts';
import { sealToRecipient } from '../record/age-file.ts';
import type { KeyContext } from '../record/service-record.ts';
import { combineShares, type ShareSet, splitSecret } from './share.ts';
import { TOKEN_KEY_BYTES, type UnlockedKey } from './unlocked.ts';

const ID_BYTES = 16;
const RECIPIENT_BYTES = 62;

/** A share as it is stored: only the recipient opens it. */
interface SealedShare {
  readonly recipient: string;
  /** Armored text in the age format. */
  readonly share: string;
}

/** The parts of a recovery record that need no shares: views into it. */
export interface ParsedRecovery extends ShareSet {
  readonly kid: string;
  readonly publicKey: Uint8Array;
  readonly commitment: Uint8Array;
  /** Number of generations of the key when the recovery was made. */
  readonly since: number;
  /** Proves the token key and those generations to the holders of the secret. */
  readonly check: Uint8Array;
  readonly shares: readonly SealedShare[];
  readonly head: Uint8Array;
  /** Number of private keys in the wrap. */
  readonly gen: number;
}

/** The digest of a recovery in the record of its key. */
export function recoveryDigest({ head }: ParsedRecovery): Uint8Array {
  return sha256(head);
}

/** Takes a record apart; `IntegrityError` for wrong lengths. */
export function parseRecovery(record: Uint8Array): ParsedRecovery {
  checkHeader(record, TYPE.recovery, HEADER_BYTES + 1, X_WING_SUITE);
  let at = HEADER_BYTES + 1;
  const take = (length: number): Uint8Array => {
    at += length;
    return readBytes(record, at - length, length);
  };
  const kid = textOf(take(readU8(record, HEADER_BYTES)));
  const [id, publicKey, commitment] = [take(ID_BYTES), take(X_WING_PUBLIC_BYTES), take(HASH_BYTES)];
  const [since, check] = [readU32(take(4), 0), take(HASH_BYTES)];
  const [threshold, count] = [readU8(take(1), 0), readU8(take(1), 0)];
  const shares = Array.from({ length: count }, () => {
    const recipient = textOf(take(RECIPIENT_BYTES));
    return { recipient, share: textOf(take(readU16(take(2), 0))) };
  });
  const head = record.subarray(0, at);
  const gen = readU32(take(4), 0);
  const wrapBytes = NONCE_BYTES + gen * POINT_BYTES + TOKEN_KEY_BYTES + TAG_BYTES;
  if (record.length !== at + X_WING_ENC_BYTES + wrapBytes) {
    throw new IntegrityError('recovery');
  }
  return { kid, id, publicKey, commitment, since, check, threshold, shares, head, gen };
}

/** The keys that derive from the secret of a recovery. */
interface Derived extends Disposable {
  readonly pair: KeyPair;
  readonly checkKey: Uint8Array;
  readonly commitment: Uint8Array;
}

function derive({ env, aid, kid }: KeyContext, id: Uint8Array, secret: Uint8Array): Derived {
  const all = hkdf(secret, aad('cardvault recovery', [env, aid, kid, id]), 2 * KEY_BYTES + HASH_BYTES);
  const privateKey = all.subarray(0, KEY_BYTES);
  return {
    pair: { privateKey, publicKey: xWingPublicOf(privateKey) },
    checkKey: all.subarray(KEY_BYTES, 2 * KEY_BYTES),
    commitment: all.subarray(2 * KEY_BYTES),
    [Symbol.dispose]: () => wipe(all),
  };
}

/** Binds the token key and the first generations of a key to the secret, which is then forgotten. */
function checkOf(checkKey: Uint8Array, key: UnlockedKey, since: number): Uint8Array {
  const publicKeys = key.generations.slice(0, since).map(({ publicKey }) => publicKey);
  const input = aad('cardvault recovery check', [since, key.tokenKey, ...publicKeys]);
  try {
    return hmac(checkKey, input);
  } finally {
    wipe(input);
  }
}

function hpkeInfo({ env, aid, kid }: KeyContext, head: Uint8Array): Uint8Array {
  return aad('cardvault recovery hpke', [env, aid, kid, sha256(head)]);
}

/** The key of a wrap, used once: each wrap has another `enc`. The exporter secret is wiped. */
function wrapKeyOf(exporterSecret: Uint8Array): Uint8Array {
  try {
    return exportXWing(exporterSecret, aad('cardvault recovery key', []), KEY_BYTES);
  } finally {
    wipe(exporterSecret);
  }
}

function bindWrap({ env, aid, kid }: KeyContext, clear: Uint8Array): Uint8Array {
  return aad('cardvault recovery wrap', [env, aid, kid, clear]);
}

/** The record of a recovery for the current generations of a key. Its wrap is new; the same shares open it. */
export async function resealRecovery(
  ctx: KeyContext,
  { head, publicKey }: Pick<ParsedRecovery, 'head' | 'publicKey'>,
  key: UnlockedKey,
): Promise<Uint8Array> {
  const { enc, context } = await setupXWingSender(publicKey, hpkeInfo(ctx, head));
  const wrapKey = wrapKeyOf(context.exporterSecret);
  const secrets = concat([...key.generations.map(({ privateKey }) => privateKey), key.tokenKey]);
  const clear = concat([head, u32(key.generations.length), enc]);
  try {
    const out = new Uint8Array(clear.length + NONCE_BYTES + secrets.length + TAG_BYTES);
    out.set(clear);
    sealAt(out, clear.length, wrapKey, secrets, bindWrap(ctx, clear));
    return out;
  } finally {
    wipe(wrapKey, secrets);
  }
}

async function sealShares(
  ctx: KeyContext,
  set: ShareSet,
  secret: Uint8Array,
  recipients: readonly string[],
): Promise<SealedShare[]> {
  const texts = await splitSecret(ctx, set, secret, recipients.length);
  try {
    return await Promise.all(
      recipients.map(async (recipient, i) => ({
        recipient,
        share: await sealToRecipient(recipient, i, texts[i] ?? EMPTY),
      })),
    );
  } finally {
    wipe(...texts);
  }
}

function shareField({ recipient, share }: SealedShare): Uint8Array {
  const [name, text] = [utf8(recipient), utf8(share)];
  if (name.length !== RECIPIENT_BYTES || text.length > 0xffff) {
    throw new RangeError('a share out of bounds');
  }
  return concat([name, u16(text.length), text]);
}

/**
 * The record of a new recovery of an open key: a random secret, of which each recipient gets a share and which is then
 * forgotten. Rejects an invalid recipient with `invalid_request`.
 */
export async function makeRecovery(
  ctx: KeyContext,
  key: UnlockedKey,
  recipients: readonly string[],
  threshold: number,
): Promise<Uint8Array> {
  const [id, secret] = [randomBytes(ID_BYTES), randomBytes(KEY_BYTES)];
  try {
    using derived = derive(ctx, id, secret);
    const shares = await sealShares(ctx, { id, threshold }, secret, recipients);
    const header = new Uint8Array(HEADER_BYTES);
    writeHeader(header, TYPE.recovery, 0, X_WING_SUITE);
    const { publicKey } = derived.pair;
    const since = key.generations.length;
    const kid = utf8(ctx.kid);
    const head = concat([
      ...[header, Uint8Array.of(kid.length), kid, id, publicKey, derived.commitment, u32(since)],
      ...[checkOf(derived.checkKey, key, since), Uint8Array.of(threshold, shares.length)],
      ...shares.map(shareField),
    ]);
    return await resealRecovery(ctx, { head, publicKey }, key);
  } finally {
    wipe(secret);
  }
}

/**
 * Opens a key with shares. The commitment proves them before anything else of the record is used; wrong ones are not
 * distinguished: `recovery_refused`, also without a recovery. `read` assembles the key and proves each private half by its
 * public one. A record that was edited or moved: `IntegrityError`.
 */
export async function openRecovery(
  ctx: KeyContext,
  record: Uint8Array | undefined,
  shares: readonly Uint8Array[],
  read: (secrets: Uint8Array, parsed: ParsedRecovery) => UnlockedKey,
): Promise<UnlockedKey> {
  const parsed = record && parseRecovery(record);
  // Without a recovery, no share fits, and to find that out takes the same work.
  const none = { id: randomBytes(ID_BYTES), threshold: 2, commitment: randomBytes(HASH_BYTES) };
  const { id, threshold, commitment } = parsed ?? none;
  const { secret, isWhole } = await combineShares(ctx, { id, threshold }, shares);
  try {
    using derived = derive(ctx, id, secret);
    const isProven = equalBytes(derived.commitment, commitment);
    if (!isProven || !isWhole || record === undefined || parsed === undefined) {
      throw new VaultError('recovery_refused');
    }
    const key = read(await openWrap(ctx, record, parsed, derived.pair), parsed);
    if (!equalBytes(checkOf(derived.checkKey, key, parsed.since), parsed.check)) {
      key[Symbol.dispose]();
      throw new IntegrityError('recovery');
    }
    return key;
  } finally {
    wipe(secret);
  }
}

/** The private halves and the token key of a wrap. */
async function openWrap(
  ctx: KeyContext,
  record: Uint8Array,
  { head, publicKey }: ParsedRecovery,
  pair: KeyPair,
): Promise<Uint8Array> {
  if (!equalBytes(pair.publicKey, publicKey)) {
    throw new IntegrityError('recovery');
  }
  const encAt = head.length + 4;
  const enc = readBytes(record, encAt, X_WING_ENC_BYTES);
  const context = await setupXWingReceiver(enc, pair.privateKey, hpkeInfo(ctx, head));
  const wrapKey = wrapKeyOf(context.exporterSecret);
  const clear = record.subarray(0, encAt + X_WING_ENC_BYTES);
  try {
    return openAt(record, clear.length, wrapKey, bindWrap(ctx, clear));
  } finally {
    wipe(wrapKey);
  }
}
