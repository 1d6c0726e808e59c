import { OPERATION_NAMES } from '../../../server/domain/rule/operations.ts';
import type { RuleCase } from './case.ts';
import { TEXT_CASES } from './cases-text.ts';
import { VALUE_CASES } from './cases-value.ts';

/** The cases of all operations, in the published order of these. */
export const RULE_CASES: readonly RuleCase[] = OPERATION_NAMES.flatMap((name) =>
  [...TEXT_CASES, ...VALUE_CASES].filter(({ operation }) => operation.name === name),
);
