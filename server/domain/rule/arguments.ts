import { VaultError } from '../../core/errors.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';

/** What an operation may use during a run, in addition to its input. */
export interface RuleRun {
  /** Random bytes from a cryptographically secure source. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** Throws when the time limit is exceeded; call it between two long parts of an operation. */
  readonly checkTime: () => void;
  /** Counts steps in templates; see `createRuleBudget`. */
  readonly spend: (steps: number) => void;
  /** The working object as it is now. Names that an input cannot have are looked up in it. */
  readonly whole: () => JsonObject;
}

/** A compiled operation: its output for an input, or undefined if it does not support that input. */
export type RuleStep = (input: JsonValue, run: RuleRun) => JsonValue | undefined;

/** Reads the arguments of an operation; each reader throws `invalid_request` at the place of the argument. */
export interface RuleArguments {
  /** Whether the argument is present. */
  readonly has: (name: string) => boolean;
  /** A text; required without a fallback. */
  readonly text: (
    name: string,
    options: { readonly lengthMax: number; readonly fallback?: string },
  ) => string;
  /** A whole number in a range, as a JSON number. */
  readonly integer: (
    name: string,
    options: { readonly min: number; readonly max: number; readonly fallback: number },
  ) => number;
  /** `true` or `false`; false by default. */
  readonly flag: (name: string) => boolean;
  /** One of some fixed texts, exactly as written; required without a fallback. */
  readonly choice: <Word extends string>(name: string, words: readonly Word[], fallback?: Word) => Word;
  /** A list of texts; empty by default. */
  readonly texts: (
    name: string,
    options: { readonly countMax: number; readonly lengthMax: number },
  ) => string[];
  /** The error of an argument, for the operation's own checks. */
  readonly invalid: (name: string, expected: string) => VaultError;
}

function isText(value: unknown, lengthMax: number): value is string {
  return typeof value === 'string' && value.length <= lengthMax && value.isWellFormed();
}

function textExpected(lengthMax: number): string {
  return `must be a text of at most ${lengthMax} characters`;
}

function integerExpected(min: number, max: number): string {
  const isAny = max === Number.MAX_SAFE_INTEGER;
  return isAny ? 'must be an integer' : `must be an integer of ${min} to ${max}`;
}

/** Creates a reader of the arguments at `place`, such as `body[2].arguments`. */
export function readArguments(given: Readonly<Record<string, unknown>>, place: string): RuleArguments {
  const invalid = (name: string, expected: string): VaultError =>
    new VaultError('invalid_request', { field: `${place}.${name}`, expected });
  const has = (name: string): boolean => Object.hasOwn(given, name);
  /** The argument, or the fallback; throws if there is neither. */
  const valueOrFallback = (name: string, fallback?: unknown): unknown => {
    if (!has(name) && fallback === undefined) {
      throw invalid(name, 'is missing');
    }
    return has(name) ? given[name] : fallback;
  };
  return {
    has,
    invalid,
    text: (name, { lengthMax, fallback }) => {
      const value = valueOrFallback(name, fallback);
      if (!isText(value, lengthMax)) {
        throw invalid(name, textExpected(lengthMax));
      }
      return value;
    },
    integer: (name, { min, max, fallback }) => {
      const value = valueOrFallback(name, fallback);
      if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
        throw invalid(name, integerExpected(min, max));
      }
      return value;
    },
    flag: (name) => {
      const value = valueOrFallback(name, false);
      if (typeof value !== 'boolean') {
        throw invalid(name, 'must be `true` or `false`');
      }
      return value;
    },
    choice: (name, words, fallback) => {
      const value = valueOrFallback(name, fallback);
      const word = words.find((known) => known === value);
      if (word === undefined) {
        throw invalid(name, `must be one of ${words.map((known) => `\`${known}\``).join(', ')}`);
      }
      return word;
    },
    texts: (name, { countMax, lengthMax }) => {
      const value = valueOrFallback(name, []);
      if (!Array.isArray(value) || value.length > countMax) {
        throw invalid(name, `must be a list of at most ${countMax} texts`);
      }
      return value.map((item: unknown, at) => {
        if (!isText(item, lengthMax)) {
          throw invalid(`${name}[${at}]`, textExpected(lengthMax));
        }
        return item;
      });
    },
  };
}
