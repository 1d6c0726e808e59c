/** The root of a vault, and what derives from it: index keys, fingerprints and the cursor key. */
import { bytes, json, message, nothing, text } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';

export const ROOT_JOBS = {
  /** A new random root, sealed. */
  createRoot: defineJob({ lane: 'hot', input: message({}), output: bytes }),
  /** Opens a sealed root; `integrity_failed` when the master key does not fit. */
  checkRoot: defineJob({ lane: 'hot', input: message({ root: bytes }), output: nothing }),
  /** The 32-byte key that authenticates cursors. */
  cursorKey: defineJob({ lane: 'hot', input: message({}), output: bytes }),
  /** The HMAC-SHA-256 of data under a key of the account. */
  fingerprint: defineJob({
    lane: 'hot',
    share: ({ account }) => singlesOf(account),
    input: message({ account: text, data: bytes }),
    output: bytes,
  }),
  /** The prefix under which a reference stands in the reference index; `exact` adds the end mark. */
  encodeReference: defineJob({
    lane: 'hot',
    share: ({ aid }) => singlesOf(aid),
    input: message({ aid: text, reference: text, exact: json<boolean>() }),
    output: bytes,
  }),
};
