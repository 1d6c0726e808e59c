/** Rules: checked when they are made, and run by the jobs that store and read items. */
import type { Lane } from '../../pool/job.ts';
import { bytes, type Given, json, list, local, message, type Taken, text } from '../codec.ts';
import { defineJob } from '../define.ts';

/** Rules by id, each with its sealed record, in the order in which they run. */
export const RULES = list(message({ id: text, record: bytes }));
/** The same on the server's side. */
export type RuleSet = Given<typeof RULES>;
/** The same in a thread. */
export type ThreadRules = Taken<typeof RULES>;

/** Rules may hold a thread for as long as rules may take: such jobs travel alone, behind those without. */
export function laneByRules({ rules }: { readonly rules: RuleSet }): Lane {
  return rules.length === 0 ? 'hot' : 'bulk';
}

/** Jobs on rules by themselves. */
export const RULE_JOBS = {
  /** The operations that a rule's body holds, as JSON text; `invalid_request` names the place of a fault. */
  checkRule: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: local<string>(), body: bytes }),
    output: bytes,
  }),
  /** The id of the stored rule that a test names; `invalid_request` where it names none and has no operations. */
  readRuleTest: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: local<string>(), params: json<ReadRuleTestParams>(), body: bytes }),
    output: json<{ readonly id?: string | undefined }>(),
  }),
  /** Runs a rule, that of a test or the stored one, over the input of the test; gives the JSON text of the reply. */
  testRule: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({ params: json<TestRuleParams>(), rules: RULES, body: bytes }),
    output: bytes,
  }),
};

/** How a test is read. */
export interface ReadRuleTestParams {
  /** Whether members that are not known are errors. */
  readonly refuseUnknown: boolean;
}

/** For whom a test is run. */
export interface TestRuleParams {
  readonly aid: string;
  /** Whether the account sees numbers masked, and so do its rules. */
  readonly forcedMask: boolean;
}
