/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import * as kdf from '../../crypto/primitives/kdf.ts';
import { randomPassphrase } from '../../crypto/primitives/random.ts';
import type { ThreadHandlers } from '../context.ts';
import type { PASSWORD_JOBS } from './jobs.ts';

/** Handlers of jobs of `jobs.ts`, which says what each promises. */
export const PASSWORD_HANDLERS: ThreadHandlers<typeof PASSWORD_JOBS> = {
  hashPassword(context, { password }) {
    return kdf.hashPassword(password, context.rootKey('password', ''));
  },

  verifyPassword(context, { password, phc }) {
    return kdf.verifyPassword(password, context.rootKey('password', ''), phc);
  },

  makePassphrase(_context, { length }) {
    return randomPassphrase(length);
  },
};
