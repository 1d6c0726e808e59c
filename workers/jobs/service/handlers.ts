import { PEPPER_MARK } from '../../../server/domain/account.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { parseJson } from '../../../server/domain/json/json.ts';
import { encodeReference, lastFourDigest, metadataDigest } from '../../crypto/item/lookup.ts';
import { hashGenerated, hashPassword, verifyGenerated, verifyPassword } from '../../crypto/primitives/kdf.ts';
import { randomPassphrase } from '../../crypto/primitives/random.ts';
import { hmac, KEY_BYTES } from '../../crypto/primitives/symmetric.ts';
import { encodeRoots, newRoots } from '../../crypto/record/roots.ts';
import type { Purpose } from '../../crypto/record/service-record.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import { ROOT_PLACE } from '../root-keys.ts';
import type { SERVICE_JOBS } from './jobs.ts';

/** Replaces the pepper of a root that is gone: its passwords are wrong, and take as long. */
const NO_PEPPER = new Uint8Array(KEY_BYTES);

/** The verifier followed by the id of the root of its pepper, `@ID`. */
function namePepper({ writeRootId }: ThreadContext, hash: string): string {
  const id = writeRootId();
  return id === undefined ? hash : `${hash}${PEPPER_MARK}${id}`;
}

/** The pepper that a verifier names, and the verifier without that id. */
function pepperOf({ rootKeyOf }: ThreadContext, purpose: Purpose, named: string) {
  const [hash = '', id] = named.split(PEPPER_MARK);
  return { pepper: rootKeyOf(id, purpose) ?? NO_PEPPER, hash };
}

export const SERVICE_HANDLERS: ThreadHandlers<typeof SERVICE_JOBS> = {
  createRoot({ sealer }) {
    return sealer.seal(...ROOT_PLACE, encodeRoots(newRoots()));
  },

  checkRoot({ sealer }, { root }) {
    sealer.open(...ROOT_PLACE, root);
  },

  cursorKeys({ rootKey, rootKeys }) {
    return [rootKey('cursor', ''), ...rootKeys('cursor', '')];
  },

  parseBody(_context, { limits, body }) {
    return encodeJson(parseJson(body, limits));
  },

  fingerprint({ rootKey }, { account, data }) {
    return hmac(rootKey('idem', account), data);
  },

  encodeReference({ rootKeys }, { aid, reference, exact }) {
    return rootKeys('ref-index', aid).map((key) => encodeReference(key, reference, exact));
  },

  metadataDigest({ rootKeys }, { aid, name, value }) {
    return rootKeys('metadata-index', aid).map((key) => metadataDigest(key, name, value));
  },

  lastFourDigest({ rootKeys }, { aid, lastFour }) {
    return rootKeys('metadata-index', aid).map((key) => lastFourDigest(key, lastFour));
  },

  sealRecord({ sealer }, { place: { purpose, account, kind, path }, plaintext }) {
    return sealer.seal(purpose, account, kind, path, plaintext);
  },

  openRecord({ sealer }, { place: { purpose, account, kind, path }, record }) {
    return sealer.open(purpose, account, kind, path, record);
  },

  async hashPassword(context, { password, isGenerated }) {
    const { rootKey } = context;
    const hash = isGenerated
      ? hashGenerated(password, rootKey('password-generated', ''))
      : await hashPassword(password, rootKey('password', ''));
    return namePepper(context, hash);
  },

  async verifyPassword(context, { password, phc }) {
    const { pepper, hash } = pepperOf(context, 'password', phc);
    return (await verifyPassword(password, pepper, hash)) && pepper !== NO_PEPPER;
  },

  verifyGenerated(context, { password, hash: named }) {
    const { pepper, hash } = pepperOf(context, 'password-generated', named);
    return verifyGenerated(password, pepper, hash) && pepper !== NO_PEPPER;
  },

  makePassphrase(_context, { length }) {
    return randomPassphrase(length);
  },
};
