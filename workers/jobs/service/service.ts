/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { encodeReference } from '../../crypto/item/lookup.ts';
import { hashGenerated, hashPassword, verifyGenerated, verifyPassword } from '../../crypto/primitives/kdf.ts';
import { randomBytes, randomPassphrase } from '../../crypto/primitives/random.ts';
import { hmac, KEY_BYTES } from '../../crypto/primitives/symmetric.ts';
import { ROOT_PLACE, type ThreadHandlers } from '../context.ts';
import type { SERVICE_JOBS } from './jobs.ts';

/** The handlers of `SERVICE_JOBS`. */
export const SERVICE_HANDLERS: ThreadHandlers<typeof SERVICE_JOBS> = {
  createRoot({ sealer }) {
    return sealer.seal(...ROOT_PLACE, randomBytes(KEY_BYTES));
  },

  checkRoot({ sealer }, { root }) {
    sealer.open(...ROOT_PLACE, root);
  },

  cursorKey({ rootKey }) {
    return rootKey('cursor', '');
  },

  fingerprint({ rootKey }, { account, data }) {
    return hmac(rootKey('idem', account), data);
  },

  encodeReference({ rootKey }, { aid, reference, exact }) {
    return encodeReference(rootKey('ref-index', aid), reference, exact);
  },

  sealRecord({ sealer }, { place: { purpose, account, kind, path }, plaintext }) {
    return sealer.seal(purpose, account, kind, path, plaintext);
  },

  openRecord({ sealer }, { place: { purpose, account, kind, path }, record }) {
    return sealer.open(purpose, account, kind, path, record);
  },

  hashPassword({ rootKey }, { password, isGenerated }) {
    return isGenerated
      ? hashGenerated(password, rootKey('password-generated', ''))
      : hashPassword(password, rootKey('password', ''));
  },

  verifyPassword({ rootKey }, { password, phc }) {
    return verifyPassword(password, rootKey('password', ''), phc);
  },

  verifyGenerated({ rootKey }, { password, hash }) {
    return verifyGenerated(password, rootKey('password-generated', ''), hash);
  },

  makePassphrase(_context, { length }) {
    return randomPassphrase(length);
  },
};
