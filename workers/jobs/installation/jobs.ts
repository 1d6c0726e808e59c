/** The record of the root: its state, and the steps of a rotation from one root to the next. */
import type { RootStage, RootStep } from '../../crypto/record/roots.ts';
import { bytes, json, list, message, text } from '../codec.ts';
import { defineJob } from '../define.ts';

export type { RootStep } from '../../crypto/record/roots.ts';

/** What a root record says, without any key. */
export interface RootFacts {
  /** Names the state: the same for all records of it, whatever master key seals them. */
  readonly state: string;
  readonly stage: RootStage;
  /** Ids of its roots, the oldest first. */
  readonly ids: readonly string[];
  /** When the newest root began to be written, ms since 1970; 0 where none was rotated. */
  readonly movedAtMs: number;
}

/** A record that does not open or a step that does not follow: `integrity_failed`. */
export const ROOT_JOBS = {
  /** What a sealed root record says. */
  describeRoot: defineJob({ lane: 'hot', input: message({ root: bytes }), output: json<RootFacts>() }),
  /** The sealed record after a step. */
  stepRoot: defineJob({
    lane: 'hot',
    input: message({ root: bytes, step: json<RootStep>(), nowMs: json<number>() }),
    output: bytes,
  }),
  /**
   * The HMACs of data under keys of the roots that are not written under, none or one; and whether the root that is
   * written under is the newest.
   */
  otherFingerprints: defineJob({
    lane: 'hot',
    input: message({ account: text, data: bytes }),
    output: message({ prints: list(bytes), isWritingNewest: json<boolean>() }),
  }),
};
