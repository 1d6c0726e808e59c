import type { JsonObject } from '../json/json.ts';
import { type Path, parsePath, WHOLE } from '../json/path.ts';
import type { RuleRun, RuleStep } from './arguments.ts';
import { createRuleBudget } from './budget.ts';
import type { Operation } from './check.ts';
import { compileOperation } from './operations.ts';
import { copyJson, createWorkingObject, type WorkingObject } from './working.ts';

export type { Operation } from './check.ts';
export { OPERATION_NAMES } from './operations.ts';

interface CompiledOperation {
  readonly input: Path;
  readonly output: Path;
  readonly step: RuleStep;
  /** Whether what it copies would land on itself. */
  readonly inPlace: boolean;
}

/** Rules made ready to run; for one thread, since it contains functions. */
export interface CompiledRules {
  readonly operations: readonly CompiledOperation[];
}

/** The time and the chance that running rules depends on. */
export interface RuleEnvironment {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Random bytes from a source fit for secrets. */
  readonly randomBytes: (length: number) => Uint8Array;
}

function compile(operation: Operation, at: number): CompiledOperation {
  const input = operation.input_field ?? WHOLE;
  const output = operation.output_field ?? input;
  const step = compileOperation(operation.name, operation.arguments ?? {}, `operations[${at}].arguments`);
  return { input: parsePath(input), output: parsePath(output), step, inPlace: input === output };
}

/**
 * Makes the operations of some rules ready, in the order of the rules and of each list; what `order_position`
 * says does not count. Operations come from {@link Operation} lists that were checked when they were stored; a
 * list that was damaged since then is rejected with `invalid_request`.
 */
export function compileRules(lists: readonly (readonly Operation[])[]): CompiledRules {
  return {
    operations: lists.flat().map(compile),
  };
}

function runOperation(operation: CompiledOperation, working: WorkingObject, run: RuleRun): void {
  const input = working.read(operation.input);
  if (input === undefined) {
    return;
  }
  const output = operation.step(input, run);
  run.checkTime();
  if (output !== undefined && output !== input) {
    working.write(operation.output, output);
  } else if (!operation.inPlace) {
    working.write(operation.output, copyJson(input));
  }
}

/**
 * Runs rules on an object and gives a new one, which shares nothing with the object given; that one stays as it
 * is. What no operation wrote comes out exactly as it was, member order and the digits of numbers included. An
 * operation whose input field is missing is skipped; one that cannot work on its input copies it to its output
 * field. Ends with `rule_limit`, and no result at all, when the rules need more than 100 ms, the object or a text
 * on the way grows over 1 MiB, or the object gets more than 64 levels.
 */
export function runRules(rules: CompiledRules, object: JsonObject, environment: RuleEnvironment): JsonObject {
  const run: RuleRun = { ...createRuleBudget(environment.now), randomBytes: environment.randomBytes };
  const working = createWorkingObject(object);
  for (const operation of rules.operations) {
    runOperation(operation, working, run);
    run.checkTime();
  }
  return working.current();
}
