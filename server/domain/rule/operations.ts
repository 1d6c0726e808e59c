import { unknownName } from '../text/unknown-name.ts';
import { RuleArguments, type RuleStep } from './arguments.ts';
import { compileEncode, compileEncrypt, compileHash, compileNonce } from './bytes.ts';
import { compileConvertToInt, compileParseFloat } from './number.ts';
import { compileParseJson, compileTemplate } from './template.ts';
import { compileFormat, compileMask, compileReplace, compileStringify, compileSubstr } from './text.ts';

interface OperationKind {
  /** Other arguments are rejected. */
  readonly arguments: readonly string[];
  readonly compile: (args: RuleArguments) => RuleStep;
}

/** All published operations. */
const OPERATIONS = {
  noop: { arguments: [], compile: () => (input) => input },
  stringify: { arguments: [], compile: compileStringify },
  substr: { arguments: ['start', 'end'], compile: compileSubstr },
  parse_float: { arguments: [], compile: compileParseFloat },
  parse_json: { arguments: [], compile: compileParseJson },
  convert_to_int: { arguments: ['base'], compile: compileConvertToInt },
  replace: { arguments: ['substr', 'new_str'], compile: compileReplace },
  mask: { arguments: ['start', 'end', 'char'], compile: compileMask },
  format: { arguments: ['format_string', 'keys'], compile: compileFormat },
  template: { arguments: ['template'], compile: compileTemplate },
  hash: { arguments: ['algorithm', 'key', 'hex_key'], compile: compileHash },
  encode: { arguments: ['scheme', 'hex_input'], compile: compileEncode },
  nonce: { arguments: ['length', 'encoding'], compile: compileNonce },
  encrypt: { arguments: ['algorithm', 'public_key'], compile: compileEncrypt },
} as const satisfies Record<string, OperationKind>;

export type OperationName = keyof typeof OPERATIONS;

/** All names, in their published order. */
export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[];

/** Tells whether a value is the name of an operation, exactly as published. */
export function isOperationName(value: unknown): value is OperationName {
  return typeof value === 'string' && Object.hasOwn(OPERATIONS, value);
}

/**
 * Checks the arguments of an operation and compiles it. Throws `invalid_request` at an invalid argument, and at an unknown
 * one.
 */
export function compileOperation(
  name: OperationName,
  given: Readonly<Record<string, unknown>>,
  place: string,
): RuleStep {
  const kind: OperationKind = OPERATIONS[name];
  const unknown = Object.keys(given).find((argument) => !kind.arguments.includes(argument));
  if (unknown !== undefined) {
    throw unknownName(place, unknown, kind.arguments, undefined, 'invalid_request');
  }
  return kind.compile(new RuleArguments(given, place));
}
