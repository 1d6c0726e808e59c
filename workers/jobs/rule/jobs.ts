import type { Lane } from '../../pool/job.ts';
import { bytes, type Given, json, list, local, message, type Taken, text } from '../codec.ts';
import { defineJob } from '../define.ts';

/** Rules by id, each with its encrypted record, in the order in which they are applied. */
export const RULES = list(message({ id: text, record: bytes }));
/** Rules as the server sends them. */
export type RuleSet = Given<typeof RULES>;
/** Rules as a thread receives them. */
export type ThreadRules = Taken<typeof RULES>;

/** The lane of a job. Rules may occupy a thread for long, so jobs with rules go after those without. */
export function laneByRules({ rules }: { readonly rules: RuleSet }): Lane {
  return rules.length === 0 ? 'hot' : 'bulk';
}

export const RULE_JOBS = {
  /** Returns the operations of a rule's body as JSON text; `invalid_request` names the invalid field. */
  checkRule: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: local<string>(), body: bytes }),
    output: bytes,
  }),
  /** Returns the id of the stored rule that a test names; `invalid_request` if it has neither an id nor operations. */
  readRuleTest: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({
      aid: local<string>(),
      params: json<{ readonly refuseUnknown: boolean }>(),
      body: bytes,
    }),
    output: json<{ readonly id?: string | undefined }>(),
  }),
  /** Applies a rule, that of a test or a stored one, to the input of the test; returns the JSON text of the reply. */
  testRule: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    /** `forcedMask`: the account sees numbers masked, and so do its rules. */
    input: message({
      params: json<{ readonly aid: string; readonly forcedMask: boolean }>(),
      rules: RULES,
      body: bytes,
    }),
    output: bytes,
  }),
};
