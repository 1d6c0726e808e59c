/** What the tests of the record formats share: fixed contexts, cheap Argon2, and ways to damage a record. */
import { expect } from 'bun:test';
import {
  type ItemOwner,
  missingExporters,
  missingSender,
  untilSender,
  unwrapDek,
  wrapDekSealed,
} from '../../../workers/crypto/item/envelope.ts';
import { openItem, partsOf, sealItem } from '../../../workers/crypto/item/item.ts';
import type { ItemContext } from '../../../workers/crypto/item/meta.ts';
import { type Generation, type UnlockedKey, unlockedKey } from '../../../workers/crypto/key/unlocked.ts';
import {
  bindVaultKey,
  COMMITMENT_BYTES,
  createVaultKey,
  unlockVaultKey,
  vaultKeyHead,
} from '../../../workers/crypto/key/vault-key.ts';
import { verifyLogPart } from '../../../workers/crypto/log/entry.ts';
import {
  concat,
  EMPTY,
  IntegrityError,
  PassphraseError,
  utf8,
  X25519_SUITE,
} from '../../../workers/crypto/primitives/bytes.ts';
import { generateKeyPair } from '../../../workers/crypto/primitives/hpke.ts';
import { ARGON2_FLOOR, deriveKek } from '../../../workers/crypto/primitives/kdf.ts';
import { NONCE_BYTES, SALT_BYTES, sealAt, TAG_BYTES } from '../../../workers/crypto/primitives/symmetric.ts';
import { type KeyContext, ServiceSealer } from '../../../workers/crypto/record/service-record.ts';
import { createThreadContext, type ThreadContext } from '../../../workers/jobs/context.ts';
import { ROOT_PLACE } from '../../../workers/jobs/root-keys.ts';

export const FLOOR = ARGON2_FLOOR;
export function hex(text: string): Uint8Array {
  return Uint8Array.fromHex(text);
}
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
export function filled(length: number, value: number): Uint8Array {
  return new Uint8Array(length).fill(value);
}

export const CONTEXT = { env: 'staging', aid: 'account-1', kid: 'key-1' } as const;
export const IDS = { ...CONTEXT, token: 'token-1' } as const;
export const PASSPHRASE = utf8('correct horse battery staple');

export function sealerOf(env = 'staging', masterKey = filled(32, 7)): ServiceSealer {
  return new ServiceSealer(env, 'a', [['a', masterKey]]);
}

export const PROCESS_KEY = filled(32, 3);

/** What a worker thread has, of the master key of `sealerOf`. */
export function threadContextOf(env: 'staging' | 'production'): ThreadContext {
  const keys = [['a', filled(32, 7)]] as const;
  const root = sealerOf(env).seal(...ROOT_PLACE, filled(32, 5));
  return createThreadContext({ env, writeId: 'a', keys, processKey: PROCESS_KEY, argon2: FLOOR, root });
}

/** The first position (from 1) at which a whole log is not what was written. */
export function verifyWholeLog(
  sealer: ServiceSealer,
  ids: ItemContext,
  entries: readonly Uint8Array[],
): number | undefined {
  return verifyLogPart(sealer, ids, { before: EMPTY, entries });
}

/** The result of work that seals to a public half, or that opens parts, when it has the set-ups that it needs. */
export async function sealWhenReady<T>(target: ItemOwner, ctx: KeyContext, work: () => T): Promise<T> {
  await ('generations' in target ? undefined : untilSender(target, ctx));
  return work();
}
export async function openWhenReady<T>(
  key: UnlockedKey,
  ctx: KeyContext,
  parts: readonly Uint8Array[],
  work: () => T,
): Promise<T> {
  await missingExporters(key, ctx, parts);
  return work();
}

/** The same at once: set-ups of X25519 are made in calls that answer at once. */
export function wrapReady(...[target, ctx, dek]: Parameters<typeof wrapDekSealed>): Uint8Array {
  void missingSender(target, ctx);
  return wrapDekSealed(target, ctx, dek);
}
export function unwrapReady(...[key, ctx, envelope]: Parameters<typeof unwrapDek>): Uint8Array {
  void missingExporters(key, ctx, [envelope]);
  return unwrapDek(key, ctx, envelope);
}
export function sealItemReady(request: Parameters<typeof sealItem>[0]): ReturnType<typeof sealItem> {
  if (!('generations' in request.owner)) {
    void missingSender(request.owner, request);
  }
  return sealItem(request);
}
export function openItemReady(request: Parameters<typeof openItem>[0]): ReturnType<typeof openItem> {
  void missingExporters(request.key, request, partsOf({ item: request.item, sad: request.sad ?? EMPTY }));
  return openItem(request);
}

/** A fresh open vault key of one generation. */
export async function openNewKey(
  ctx: { readonly env: string; readonly aid: string; readonly kid: string } = CONTEXT,
): Promise<{ readonly record: Uint8Array; readonly key: UnlockedKey }> {
  const record = await createVaultKey(ctx, PASSPHRASE, FLOOR);
  const { key } = await unlockVaultKey(ctx, record, PASSPHRASE, FLOOR);
  return { record, key };
}

/** A generation as keys had it before X-Wing. */
export function x25519Generation(gen: number): Generation {
  return { gen, suite: X25519_SUITE, ...generateKeyPair() };
}

/** The record of an open key whose private halves are these, which may not be those of its public keys. */
export async function recordOf(
  ctx: { readonly env: string; readonly aid: string; readonly kid: string },
  key: UnlockedKey,
  passphrase = PASSPHRASE,
  recovery?: Uint8Array,
): Promise<Uint8Array> {
  const salt = filled(SALT_BYTES, 1);
  const head = vaultKeyHead(ctx, key, salt, FLOOR, { summary: false, recovery });
  const { kek, commitment } = await deriveKek(passphrase, salt, FLOOR);
  head.set(commitment, head.length - COMMITMENT_BYTES);
  const secrets = concat([...key.generations.map(({ privateKey }) => privateKey), key.tokenKey]);
  const record = new Uint8Array(head.length + NONCE_BYTES + secrets.length + TAG_BYTES);
  record.set(head);
  sealAt(record, head.length, kek, secrets, bindVaultKey(ctx, head));
  return record;
}

/** An open vault key of one generation as they were made before X-Wing. */
export async function openOldKey(ctx = CONTEXT): ReturnType<typeof openNewKey> {
  const key = unlockedKey(ctx.kid, crypto.getRandomValues(new Uint8Array(32)), [x25519Generation(1)]);
  const record = await recordOf(ctx, key);
  return { record, key: (await unlockVaultKey(ctx, record, PASSPHRASE, FLOOR)).key };
}

/** The record with one bit of byte `at` turned. */
export function flipped(record: Uint8Array, at: number, bit = at % 8): Uint8Array {
  const copy = new Uint8Array(record);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}

/** Every record that differs from the given one in one byte, or is shorter, or one byte longer. */
export function* damaged(record: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < record.length; at++) {
    yield flipped(record, at);
  }
  for (let length = 0; length < record.length; length++) {
    yield new Uint8Array(record.subarray(0, length));
  }
  const longer = new Uint8Array(record.length + 1);
  longer.set(record);
  yield longer;
}

export function isRefusal(error: unknown): boolean {
  return error instanceof IntegrityError || error instanceof PassphraseError;
}

/** `open` must refuse with one of the two errors that callers know, and must not return. */
export function expectRefused(open: () => unknown): void {
  let result: unknown;
  try {
    result = open();
  } catch (error) {
    if (!isRefusal(error)) {
      throw error;
    }
    return;
  }
  expect(result).toBe('a refusal');
}

/** The same for every damaged form of a record. */
export function expectDamageRefused(record: Uint8Array, open: (damagedRecord: Uint8Array) => unknown): void {
  for (const bad of damaged(record)) {
    expectRefused(() => open(bad));
  }
}
