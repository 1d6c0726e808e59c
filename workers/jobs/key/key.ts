/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import * as vaultKey from '../../crypto/key/vault-key.ts';
import type { ThreadContext } from '../context.ts';
import type { In, Out } from '../define.ts';
import type { KEY_JOBS, KeyName } from './jobs.ts';
import { keyContext, withWarmKey } from './open.ts';

type Jobs = typeof KEY_JOBS;

interface KeyPlace {
  readonly aid: string;
  readonly user: string;
}

function openRecord({ sealer }: ThreadContext, { aid, user }: KeyPlace, record: Uint8Array): Uint8Array {
  return sealer.open('record', aid, 'key', [user], record);
}

function sealRecord({ sealer }: ThreadContext, { aid, user }: KeyPlace, record: Uint8Array): Uint8Array {
  return sealer.seal('record', aid, 'key', [user], record);
}

export async function createKey(
  context: ThreadContext,
  { key, passphrase }: In<Jobs['createKey']>,
): Promise<Out<Jobs['createKey']>> {
  const record = await vaultKey.createVaultKey(keyContext(context, key), passphrase, context.argon2);
  return sealRecord(context, key, record);
}

export async function unlockKey(
  context: ThreadContext,
  { key: place, record: sealed, passphrase }: In<Jobs['unlockKey']>,
): Promise<Out<Jobs['unlockKey']>> {
  const record = openRecord(context, place, sealed);
  const ids = keyContext(context, place);
  const { key, upgraded } = await vaultKey.unlockVaultKey(ids, record, passphrase, context.argon2);
  try {
    const blob = vaultKey.sealWarm(context.processKey, ids, upgraded ?? record, passphrase, key);
    return { blob, upgraded: upgraded && sealRecord(context, place, upgraded) };
  } finally {
    vaultKey.wipeKey(key);
  }
}

export async function changePassphrase(
  context: ThreadContext,
  { key, record, from, to }: In<Jobs['changePassphrase']>,
): Promise<Out<Jobs['changePassphrase']>> {
  const opened = openRecord(context, key, record);
  const ids = keyContext(context, key);
  return sealRecord(context, key, await vaultKey.changePassphrase(ids, opened, from, to, context.argon2));
}

export function describeKey(
  context: ThreadContext,
  { place, record }: In<Jobs['describeKey']>,
): Out<Jobs['describeKey']> {
  const { kid, gen } = vaultKey.describeVaultKey(openRecord(context, place, record));
  return { kid, gen };
}

export function checkWarm(
  context: ThreadContext,
  { key, blob, passphrase }: In<Jobs['checkWarm']>,
): Out<Jobs['checkWarm']> {
  return withWarmKey<Out<Jobs['checkWarm']>>(context, key satisfies KeyName, blob, passphrase, () => ({
    kind: 'open',
  }));
}
