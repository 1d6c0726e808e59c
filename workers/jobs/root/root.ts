/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { createHmac } from 'node:crypto';
import { encodeReference } from '../../crypto/item/lookup.ts';
import { randomBytes } from '../../crypto/primitives/random.ts';
import { ROOT_PATH, type ThreadHandlers } from '../context.ts';
import type { ROOT_JOBS } from './jobs.ts';

/** Handlers of jobs of `jobs.ts`, which says what each promises. */
export const ROOT_HANDLERS: ThreadHandlers<typeof ROOT_JOBS> = {
  createRoot({ sealer }) {
    return sealer.seal('record', ROOT_PATH.account, ROOT_PATH.kind, ROOT_PATH.path, randomBytes(32));
  },

  checkRoot({ sealer }, { root }) {
    sealer.open('record', ROOT_PATH.account, ROOT_PATH.kind, ROOT_PATH.path, root);
  },

  cursorKey(context) {
    return context.rootKey('cursor', '');
  },

  fingerprint(context, { account, data }) {
    return createHmac('sha256', context.rootKey('idem', account)).update(data).digest();
  },

  encodeReference(context, { aid, reference, exact }) {
    return encodeReference(context.rootKey('ref-index', aid), reference, exact);
  },
};
