import type { JsonObject } from '../json/json.ts';
import { type Path, parsePath, WHOLE } from '../json/path.ts';
import type { RuleRun, RuleStep } from './arguments.ts';
import { createWorkBudget } from './budget.ts';
import type { RuleOperation } from './check.ts';
import { compileOperation } from './operations.ts';
import { copyJson, WorkingObject } from './working.ts';

interface CompiledOperation {
  readonly input: Path;
  readonly output: Path;
  readonly step: RuleStep;
  /** Input and output are the same, so that copying would change nothing. */
  readonly inPlace: boolean;
}

/** Compiled rules. They contain functions, so they cannot be sent to another thread. */
export interface CompiledRules {
  readonly operations: readonly CompiledOperation[];
}

export interface RuleEnvironment {
  readonly now: () => number;
  /** Random bytes from a cryptographically secure source. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** Receives the outcome of each operation, in order. */
  readonly onOperation?: (outcome: OperationOutcome) => void;
}

/** `missing`: without its input; `copied`: its input is not supported, and is the output. */
export type OperationOutcome = 'done' | 'missing' | 'copied';

/** Compiles one operation; `at` is its index, for errors. */
function compile(operation: RuleOperation, at: number): CompiledOperation {
  const input = operation.input_field ?? WHOLE;
  const output = operation.output_field ?? input;
  const step = compileOperation(operation.name, operation.arguments ?? {}, `operations[${at}].arguments`);
  return { input: parsePath(input), output: parsePath(output), step, inPlace: input === output };
}

/**
 * Compiles the operations of several rules, in order; `order_position` is ignored. Throws `invalid_request` for a list
 * that was damaged after its check.
 */
export function compileRules(lists: readonly (readonly RuleOperation[])[]): CompiledRules {
  return { operations: lists.flat().map(compile) };
}

/** Runs one operation. An unsupported input is copied to the output. */
function runOperation(operation: CompiledOperation, working: WorkingObject, run: RuleRun): OperationOutcome {
  const input = working.read(operation.input);
  if (input === undefined) {
    return 'missing';
  }
  const output = operation.step(input, run);
  run.checkTime();
  if (output !== undefined && output !== input) {
    working.write(operation.output, output);
  } else if (!operation.inPlace) {
    working.write(operation.output, copyJson(input));
  }
  return output === undefined ? 'copied' : 'done';
}

/**
 * Runs rules on an object and returns a new one that shares nothing with it. Values that no operation has written are
 * unchanged, including member order and number literals. An operation without its input field is skipped; one that does
 * not support its input copies it to its output field. Throws `rule_limit` when the rules need more than 100 ms, when
 * the object or an intermediate text exceeds 1 MiB, or when the object has more than 64 levels.
 */
export function runRules(rules: CompiledRules, object: JsonObject, environment: RuleEnvironment): JsonObject {
  const working = new WorkingObject(object);
  const { now, randomBytes, onOperation } = environment;
  const run: RuleRun = { ...createWorkBudget(now), randomBytes, whole: () => working.current() };
  for (const operation of rules.operations) {
    const outcome = runOperation(operation, working, run);
    onOperation?.(outcome);
    run.checkTime();
  }
  return working.current();
}
