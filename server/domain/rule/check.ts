import { VaultError } from '../../core/errors.ts';
import { countSteps } from '../json/path.ts';
import { nearestOf, unknownName } from '../text/unknown-name.ts';
import { compileOperation, isOperationName, OPERATION_NAMES, type OperationName } from './operations.ts';

export interface RuleOperation {
  readonly name: OperationName;
  /** A dotted path; `*`, the default, is the whole object. */
  readonly input_field?: string;
  /** A dotted path; the input field by default. */
  readonly output_field?: string;
  /** Stored and returned, but ignored: the order of the list counts. */
  readonly order_position?: number;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

type Members = Readonly<Record<string, unknown>>;

const OPERATIONS_MAX = 64;
const FIELD_LENGTH_MAX = 1024;
const FIELD_STEPS_MAX = 64;
/** All texts in the arguments of a rule together, to bound the time of compiling. */
const TEXT_LENGTH_MAX = 131_072;
const MEMBERS: ReadonlySet<string> = new Set([
  'name',
  'input_field',
  'output_field',
  'order_position',
  'arguments',
] satisfies (keyof RuleOperation)[]);

function invalid(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member: inherited ones such as `constructor` do not count. */
function own(members: Members, name: keyof RuleOperation): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

function checkField(
  members: Members,
  name: 'input_field' | 'output_field',
  place: string,
): string | undefined {
  const field = own(members, name);
  if (field === undefined) {
    return undefined;
  }
  const isPath = typeof field === 'string' && field !== '' && field.length <= FIELD_LENGTH_MAX;
  if (!isPath || countSteps(field) > FIELD_STEPS_MAX || !field.isWellFormed()) {
    throw invalid(
      `${place}.${name}`,
      `must be a path of 1 to ${FIELD_LENGTH_MAX} characters with at most ${FIELD_STEPS_MAX} steps`,
    );
  }
  return field;
}

function nameExpected(name: unknown): string {
  const near = typeof name === 'string' ? nearestOf(name, OPERATION_NAMES) : undefined;
  return near === undefined
    ? `must be one of ${OPERATION_NAMES.map((known) => `\`${known}\``).join(', ')}`
    : `is no operation: did you mean \`${near}\`?`;
}

/** Checks one operation, including its arguments, by compiling it. */
function checkOperation(value: unknown, place: string): RuleOperation {
  if (!isMembers(value)) {
    throw invalid(place, 'must be an operation: an object with `name`');
  }
  const unknown = Object.keys(value).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) {
    throw unknownName(place, unknown, [...MEMBERS], undefined, 'invalid_request');
  }
  const name = own(value, 'name');
  const position = own(value, 'order_position');
  const args = own(value, 'arguments');
  if (!isOperationName(name)) {
    throw invalid(`${place}.name`, nameExpected(name));
  }
  const input = checkField(value, 'input_field', place);
  const output = checkField(value, 'output_field', place);
  if (position !== undefined && !Number.isSafeInteger(position)) {
    throw invalid(`${place}.order_position`, 'must be an integer');
  }
  if (args !== undefined && !isMembers(args)) {
    throw invalid(`${place}.arguments`, 'must be an object');
  }
  compileOperation(name, args ?? {}, `${place}.arguments`);
  return {
    name,
    ...(input === undefined ? {} : { input_field: input }),
    ...(output === undefined ? {} : { output_field: output }),
    ...(typeof position === 'number' ? { order_position: position } : {}),
    ...(args === undefined ? {} : { arguments: args }),
  };
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : Array.isArray(value) ? value.reduce(addLength, 0) : 0;
}

function addLength(sum: number, value: unknown): number {
  return sum + lengthOf(value);
}

function textLength({ arguments: args = {} }: RuleOperation): number {
  return Object.values(args).reduce(addLength, 0);
}

/**
 * Checks the body that creates a rule: a list of 1 to 64 operations, or an object with it as `operations`, whose other
 * members are ignored, so that a rule can be sent back as it was returned. Names and types are exact, unknown members
 * and arguments are rejected. Throws `invalid_request` with the place, such as `body[2].name`; for an unknown name,
 * it is as in other bodies.
 */
export function checkOperations(value: unknown): readonly RuleOperation[] {
  const wrapped = isMembers(value) && Object.hasOwn(value, 'operations');
  const list = wrapped ? value['operations'] : value;
  const place = wrapped ? 'body.operations' : 'body';
  if (!Array.isArray(list) || list.length === 0 || list.length > OPERATIONS_MAX) {
    throw invalid(
      place,
      `must be a list of 1 to ${OPERATIONS_MAX} operations, or an object with it as \`operations\``,
    );
  }
  let length = 0;
  return list.map((item: unknown, at) => {
    const operation = checkOperation(item, `${place}[${at}]`);
    length += textLength(operation);
    if (length > TEXT_LENGTH_MAX) {
      throw invalid(place, `must have at most ${TEXT_LENGTH_MAX} characters in its arguments`);
    }
    return operation;
  });
}
