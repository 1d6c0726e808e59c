/** Service records: small sealed records of the server, each bound to its place. */
import { bytes, json, message } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';

/** The place that a service record is bound to: it opens nowhere else. */
export interface RecordPlace {
  readonly purpose: 'record' | 'idem' | 'job';
  readonly account: string;
  readonly kind: string;
  readonly path: readonly string[];
}

export const RECORD_JOBS = {
  /** Seals a record for its place. */
  sealRecord: defineJob({
    lane: 'hot',
    input: message({ place: json<RecordPlace>(), plaintext: bytes }),
    output: bytes,
  }),
  /** Opens a record; `integrity_failed` when it was damaged or lies in another place. */
  openRecord: defineJob({
    lane: 'hot',
    share: ({ place }) => singlesOf(place.account),
    input: message({ place: json<RecordPlace>(), record: bytes }),
    output: bytes,
  }),
};
