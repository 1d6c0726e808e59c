import { parseRecovery } from '../../crypto/key/recovery.ts';
import {
  changePassphrase,
  createVaultKey,
  type KeyRecords,
  parseVaultKey,
  recoverVaultKey,
  replaceRecovery,
  setSummary,
  unlockVaultKey,
} from '../../crypto/key/vault-key.ts';
import { sealWarm } from '../../crypto/key/warm.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { KEY_JOBS } from './jobs.ts';
import { openWarmKey, WARM_MISS } from './open.ts';

interface KeyPlace {
  readonly aid: string;
  readonly user: string;
}

function openRecoveryRecord(
  { sealer }: ThreadContext,
  { aid, user }: KeyPlace,
  recovery: Uint8Array,
): Uint8Array {
  return sealer.open('record', aid, 'recovery', [user], recovery);
}

function openRecords(context: ThreadContext, place: KeyPlace, { record, recovery }: KeyRecords): KeyRecords {
  return {
    record: context.sealer.open('record', place.aid, 'key', [place.user], record),
    recovery: recovery && openRecoveryRecord(context, place, recovery),
  };
}

function sealRecords(
  { sealer }: ThreadContext,
  { aid, user }: KeyPlace,
  { record, recovery }: KeyRecords,
): { readonly record: Uint8Array; readonly recovery: Uint8Array | undefined } {
  return {
    record: sealer.seal('record', aid, 'key', [user], record),
    recovery: recovery && sealer.seal('record', aid, 'recovery', [user], recovery),
  };
}

export const KEY_HANDLERS: ThreadHandlers<typeof KEY_JOBS> = {
  async createKey(context, { key, summary, passphrase }) {
    const ids = { env: context.env, ...key };
    const record = await createVaultKey(ids, passphrase, context.argon2, summary);
    return sealRecords(context, key, { record }).record;
  },

  async unlockKey(context, { key, record: sealed, passphrase }) {
    const { record } = openRecords(context, key, { record: sealed });
    const ids = { env: context.env, ...key };
    const { key: opened, upgraded } = await unlockVaultKey(ids, record, passphrase, context.argon2);
    using unlocked = opened;
    const blob = sealWarm(context.processKey, ids, upgraded ?? record, passphrase, unlocked);
    return { blob, upgraded: upgraded && sealRecords(context, key, { record: upgraded }).record };
  },

  async changePassphrase(context, { key, from, to, summary, ...sealed }) {
    const records = openRecords(context, key, sealed);
    const ids = { env: context.env, ...key };
    return sealRecords(context, key, await changePassphrase(ids, records, from, to, context.argon2, summary));
  },

  async setSummary(context, { key, record: sealed, passphrase, summary }) {
    const ids = { env: context.env, ...key };
    const { record } = openRecords(context, key, { record: sealed });
    const changed = await setSummary(ids, record, passphrase, context.argon2, summary);
    return sealRecords(context, key, { record: changed }).record;
  },

  describeKey(context, { place, record }) {
    const { kid, gen, summary } = parseVaultKey(openRecords(context, place, { record }).record);
    return { kid, gen, summary };
  },

  checkWarm(context, { key: name, blob, passphrase }) {
    const key = openWarmKey(context, name, blob, passphrase);
    return key ? { kind: 'open' } : WARM_MISS;
  },

  async replaceRecovery(context, { key, record: sealed, passphrase, wanted }) {
    const ids = { env: context.env, ...key };
    const { record } = openRecords(context, key, { record: sealed });
    return sealRecords(context, key, await replaceRecovery(ids, record, passphrase, context.argon2, wanted));
  },

  async recoverKey(context, { key, shares, to, ...sealed }) {
    const ids = { env: context.env, ...key };
    const records = openRecords(context, key, sealed);
    return sealRecords(context, key, await recoverVaultKey(ids, records, shares, to, context.argon2));
  },

  describeRecovery(context, { place, recovery }) {
    const { threshold, shares } = parseRecovery(openRecoveryRecord(context, place, recovery));
    return { threshold, shares };
  },
};
