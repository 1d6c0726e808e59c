/** Rules: checked when they are made, and run by the jobs that store and read items. */
import type { Lane } from '../../pool/job.ts';
import { bytes, type Given, list, local, message, type Taken, text } from '../codec.ts';
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
};
