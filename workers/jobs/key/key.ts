/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { parseVaultKey } from '../../crypto/key/record.ts';
import { changePassphrase, createVaultKey, unlockVaultKey } from '../../crypto/key/vault-key.ts';
import { sealWarm } from '../../crypto/key/warm.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { KEY_JOBS } from './jobs.ts';
import { openWarmKey, WARM_MISS } from './open.ts';

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

/** The handlers of `KEY_JOBS`. */
export const KEY_HANDLERS: ThreadHandlers<typeof KEY_JOBS> = {
  async createKey(context, { key: { kid, ...place }, summary, passphrase }) {
    const ids = { env: context.env, aid: place.aid, kid };
    return sealRecord(context, place, await createVaultKey(ids, passphrase, context.argon2, summary));
  },

  async unlockKey(context, { key: { kid, ...place }, record: sealed, passphrase }) {
    const record = openRecord(context, place, sealed);
    const ids = { env: context.env, aid: place.aid, kid };
    const unlocked = await unlockVaultKey(ids, record, passphrase, context.argon2);
    using key = unlocked.key;
    const { upgraded } = unlocked;
    const blob = sealWarm(context.processKey, ids, upgraded ?? record, passphrase, key);
    return { blob, upgraded: upgraded && sealRecord(context, place, upgraded) };
  },

  async changePassphrase(context, { key: { kid, ...place }, record, from, to }) {
    const opened = openRecord(context, place, record);
    const ids = { env: context.env, aid: place.aid, kid };
    return sealRecord(context, place, await changePassphrase(ids, opened, from, to, context.argon2));
  },

  describeKey(context, { place, record }) {
    const { kid, gen, summary } = parseVaultKey(openRecord(context, place, record));
    return { kid, gen, summary };
  },

  checkWarm(context, { key: name, blob, passphrase }) {
    const key = openWarmKey(context, name, blob, passphrase);
    return key ? { kind: 'open' } : WARM_MISS;
  },
};
