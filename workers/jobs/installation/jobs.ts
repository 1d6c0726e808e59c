/** Jobs on the root record: its state, and the steps of a rotation from one root to the next. */
import type { RootStage, RootStep } from '../../crypto/record/roots.ts';
import { bytes, json, list, message, text } from '../codec.ts';
import { defineJob } from '../define.ts';

export type { RootStep } from '../../crypto/record/roots.ts';

/** Facts of a root record, without any key. */
export interface RootFacts {
  /** The name of the state, which is independent of the master key that seals the record. */
  readonly state: string;
  readonly stage: RootStage;
  /** Ids of its roots, the oldest first. */
  readonly ids: readonly string[];
  /** Ms since 1970 when the newest root was first written; 0 if none was rotated. */
  readonly movedAtMs: number;
}

/** Jobs on the root. All fail with `integrity_failed` for a record that does not open or a step that does not follow. */
export const ROOT_JOBS = {
  /** Reads the facts of a sealed root record. */
  describeRoot: defineJob({ lane: 'hot', input: message({ root: bytes }), output: json<RootFacts>() }),
  /** Returns the sealed record after a step. */
  stepRoot: defineJob({
    lane: 'hot',
    input: message({ root: bytes, step: json<RootStep>(), nowMs: json<number>() }),
    output: bytes,
  }),
  /**
   * Returns the HMACs of data under keys of the roots that are not used for writing, none or one; and whether the root in use is
   * the newest.
   */
  otherFingerprints: defineJob({
    lane: 'hot',
    input: message({ account: text, data: bytes }),
    output: message({ prints: list(bytes), isWritingNewest: json<boolean>() }),
  }),
};
