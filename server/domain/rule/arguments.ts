import { VaultError } from '../../core/errors.ts';
import type { JsonValue } from '../json/json.ts';

/** What an operation may use while it runs, besides its input. */
export interface RuleRun {
  /** Random bytes from a source fit for secrets. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** Ends the rules when their time is over: to be asked between two long parts of an operation's work. */
  readonly checkTime: () => void;
  /** Counts work in templates; see `createRuleBudget`. */
  readonly spend: (steps: number) => void;
}

/** One compiled operation: its output for an input, or `undefined` when it cannot work on that input. */
export type RuleStep = (input: JsonValue, run: RuleRun) => JsonValue | undefined;

/** Reads an operation's arguments; each reader refuses what does not fit at the argument's own place. */
export interface RuleArguments {
  /** Whether the argument was given at all. */
  readonly has: (name: string) => boolean;
  /** A text; without a fallback it must be given. */
  readonly text: (
    name: string,
    options: { readonly lengthMax: number; readonly fallback?: string },
  ) => string;
  /** A whole number in a range, as a JSON number. */
  readonly integer: (
    name: string,
    options: { readonly min: number; readonly max: number; readonly fallback: number },
  ) => number;
  /** `true` or `false`; false when it is not given. */
  readonly flag: (name: string) => boolean;
  /** One of a few words, exactly as written; without a fallback it must be given. */
  readonly choice: <Word extends string>(name: string, words: readonly Word[], fallback?: Word) => Word;
  /** A list of texts; empty when it is not given. */
  readonly texts: (
    name: string,
    options: { readonly countMax: number; readonly lengthMax: number },
  ) => string[];
  /** The refusal of an argument, for checks of the operation's own. */
  readonly refusal: (name: string) => VaultError;
}

const isText = (value: unknown, lengthMax: number): value is string =>
  typeof value === 'string' && value.length <= lengthMax && value.isWellFormed();

/** A reader of the arguments that stand at `place`, such as `body[2].arguments`. */
export function readArguments(given: Readonly<Record<string, unknown>>, place: string): RuleArguments {
  const refusal = (name: string): VaultError =>
    new VaultError('invalid_request', { field: `${place}.${name}` });
  const has = (name: string): boolean => Object.hasOwn(given, name);
  /** The argument, or the fallback when it is not given; refused when there is neither. */
  const valueOrFallback = (name: string, fallback?: unknown): unknown => {
    if (!has(name) && fallback === undefined) {
      throw refusal(name);
    }
    return has(name) ? given[name] : fallback;
  };
  return {
    has,
    refusal,
    text: (name, { lengthMax, fallback }) => {
      const value = valueOrFallback(name, fallback);
      if (!isText(value, lengthMax)) {
        throw refusal(name);
      }
      return value;
    },
    integer: (name, { min, max, fallback }) => {
      const value = valueOrFallback(name, fallback);
      if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
        throw refusal(name);
      }
      return value;
    },
    flag: (name) => {
      const value = valueOrFallback(name, false);
      if (typeof value !== 'boolean') {
        throw refusal(name);
      }
      return value;
    },
    choice: (name, words, fallback) => {
      const value = valueOrFallback(name, fallback);
      const word = words.find((known) => known === value);
      if (word === undefined) {
        throw refusal(name);
      }
      return word;
    },
    texts: (name, { countMax, lengthMax }) => {
      const value = valueOrFallback(name, []);
      if (!Array.isArray(value) || value.length > countMax) {
        throw refusal(name);
      }
      return value.map((item: unknown, at) => {
        if (!isText(item, lengthMax)) {
          throw refusal(`${name}[${at}]`);
        }
        return item;
      });
    },
  };
}
