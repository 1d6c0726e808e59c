/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import type { ThreadHandlers } from '../context.ts';
import type { RECORD_JOBS } from './jobs.ts';

/** Handlers of jobs of `jobs.ts`, which says what each promises. */
export const RECORD_HANDLERS: ThreadHandlers<typeof RECORD_JOBS> = {
  sealRecord({ sealer }, { place, plaintext }) {
    return sealer.seal(place.purpose, place.account, place.kind, place.path, plaintext);
  },

  openRecord({ sealer }, { place, record }) {
    return sealer.open(place.purpose, place.account, place.kind, place.path, record);
  },
};
