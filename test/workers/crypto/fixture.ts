/** What the tests of the record formats share: fixed contexts, cheap Argon2, and ways to damage a record. */
import { expect } from 'bun:test';
import type { ItemContext } from '../../../workers/crypto/item/meta.ts';
import type { UnlockedKey } from '../../../workers/crypto/key/unlocked.ts';
import { createVaultKey, unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { verifyLogPart } from '../../../workers/crypto/log/entry.ts';
import { EMPTY, IntegrityError, PassphraseError, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { ARGON2_FLOOR } from '../../../workers/crypto/primitives/kdf.ts';
import { createServiceSealer, type ServiceSealer } from '../../../workers/crypto/record/service-record.ts';

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
  return createServiceSealer({ env, ring: { writeId: 'a', keys: new Map([['a', masterKey]]) } });
}

/** The first position (from 1) at which a whole log is not what was written. */
export function verifyWholeLog(
  sealer: ServiceSealer,
  ids: ItemContext,
  entries: readonly Uint8Array[],
): number | undefined {
  return verifyLogPart(sealer, ids, { before: EMPTY, entries });
}

/** A fresh open vault key of one generation. */
export async function openNewKey(
  ctx: { readonly env: string; readonly aid: string; readonly kid: string } = CONTEXT,
): Promise<{ readonly record: Uint8Array; readonly key: UnlockedKey }> {
  const record = await createVaultKey(ctx, PASSPHRASE, FLOOR);
  const { key } = await unlockVaultKey(ctx, record, PASSPHRASE, FLOOR);
  return { record, key };
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
