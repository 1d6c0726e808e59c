/** Handlers of the jobs in `jobs.ts`, which says what each promises. */

import { parseVaultKey } from '../../crypto/key/record.ts';
import { parseRecovery } from '../../crypto/key/recovery.ts';
import {
  changePassphrase,
  createVaultKey,
  recoverVaultKey,
  replaceRecovery,
  unlockVaultKey,
} from '../../crypto/key/vault-key.ts';
import { sealWarm } from '../../crypto/key/warm.ts';
import type { ThreadHandlers } from '../context.ts';
import type { KEY_JOBS } from './jobs.ts';
import { openWarmKey, WARM_MISS } from './open.ts';
import { openRecords, openRecoveryRecord, sealRecords } from './records.ts';

/** The handlers of `KEY_JOBS`. */
export const KEY_HANDLERS: ThreadHandlers<typeof KEY_JOBS> = {
  async createKey(context, { key: { kid, ...place }, summary, passphrase }) {
    const ids = { env: context.env, aid: place.aid, kid };
    const record = await createVaultKey(ids, passphrase, context.argon2, summary);
    return sealRecords(context, place, { record }).record;
  },

  async unlockKey(context, { key: { kid, ...place }, record: sealed, passphrase }) {
    const { record } = openRecords(context, place, { record: sealed });
    const ids = { env: context.env, aid: place.aid, kid };
    const unlocked = await unlockVaultKey(ids, record, passphrase, context.argon2);
    using key = unlocked.key;
    const { upgraded } = unlocked;
    const blob = sealWarm(context.processKey, ids, upgraded ?? record, passphrase, key);
    return { blob, upgraded: upgraded && sealRecords(context, place, { record: upgraded }).record };
  },

  async changePassphrase(context, { key: { kid, ...place }, from, to, ...sealed }) {
    const records = openRecords(context, place, sealed);
    const ids = { env: context.env, aid: place.aid, kid };
    return sealRecords(context, place, await changePassphrase(ids, records, from, to, context.argon2));
  },

  describeKey(context, { place, record }) {
    const { kid, gen, summary } = parseVaultKey(openRecords(context, place, { record }).record);
    return { kid, gen, summary };
  },

  checkWarm(context, { key: name, blob, passphrase }) {
    const key = openWarmKey(context, name, blob, passphrase);
    return key ? { kind: 'open' } : WARM_MISS;
  },

  async replaceRecovery(context, { key: { kid, ...place }, record: sealed, passphrase, wanted }) {
    const ids = { env: context.env, aid: place.aid, kid };
    const { record } = openRecords(context, place, { record: sealed });
    return sealRecords(
      context,
      place,
      await replaceRecovery(ids, record, passphrase, context.argon2, wanted ?? undefined),
    );
  },

  async recoverKey(context, { key: { kid, ...place }, shares, to, ...sealed }) {
    const ids = { env: context.env, aid: place.aid, kid };
    const records = openRecords(context, place, sealed);
    return sealRecords(context, place, await recoverVaultKey(ids, records, shares, to, context.argon2));
  },

  describeRecovery(context, { place, recovery }) {
    const { threshold, shares } = parseRecovery(openRecoveryRecord(context, place, recovery));
    return { threshold, shares };
  },
};
