/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { parseRecovery } from '../../crypto/key/recovery.ts';
import { recoverVaultKey, replaceRecovery } from '../../crypto/key/vault-key.ts';
import type { ThreadHandlers } from '../context.ts';
import { openRecords, openRecoveryRecord, sealRecords } from './records.ts';
import type { RECOVERY_JOBS } from './recovery-jobs.ts';

/** The handlers of `RECOVERY_JOBS`. */
export const RECOVERY_HANDLERS: ThreadHandlers<typeof RECOVERY_JOBS> = {
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
