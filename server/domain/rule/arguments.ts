import { VaultError } from '../../core/errors.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';

/** Resources of an operation during a run. */
export interface RuleRun {
  /** Random bytes from a cryptographically secure source. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** Throws when the time limit is exceeded; call it between two long parts of an operation. */
  readonly checkTime: () => void;
  /** Counts steps in templates; see `createWorkBudget`. */
  readonly spend: (steps: number) => void;
  /** The current working object, for names that an input cannot have. */
  readonly whole: () => JsonObject;
}

/** A compiled operation: its output for an input, or undefined if it does not support that input. */
export type RuleStep = (input: JsonValue, run: RuleRun) => JsonValue | undefined;

/** A step for texts, and for numbers as their literals; other inputs are not supported. */
export function textStep(outputOf: (text: string) => JsonValue | undefined): RuleStep {
  return (input) => {
    const text = input instanceof JsonNumber ? input.text : input;
    return typeof text === 'string' ? outputOf(text) : undefined;
  };
}

function isText(value: unknown, lengthMax: number): value is string {
  return typeof value === 'string' && value.length <= lengthMax && value.isWellFormed();
}

function textExpected(lengthMax: number): string {
  return `must be a text of at most ${lengthMax} characters`;
}

/** The arguments at a place such as `body[2].arguments`; each method throws `invalid_request` at its argument. */
export class RuleArguments {
  constructor(
    private readonly given: Readonly<Record<string, unknown>>,
    private readonly place: string,
  ) {}

  has(name: string): boolean {
    return Object.hasOwn(this.given, name);
  }

  invalid(name: string, expected: string): VaultError {
    return new VaultError('invalid_request', { field: `${this.place}.${name}`, expected });
  }

  /** A text; required without a fallback. */
  text(name: string, { lengthMax, fallback }: { readonly lengthMax: number; readonly fallback?: string }) {
    const value = this.#valueOr(name, fallback);
    if (!isText(value, lengthMax)) {
      throw this.invalid(name, textExpected(lengthMax));
    }
    return value;
  }

  /** An integer in a range. */
  integer(
    name: string,
    { min, max, fallback }: { readonly min: number; readonly max: number; readonly fallback: number },
  ): number {
    const value = this.#valueOr(name, fallback);
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
      const isAny = max === Number.MAX_SAFE_INTEGER;
      throw this.invalid(name, isAny ? 'must be an integer' : `must be an integer of ${min} to ${max}`);
    }
    return value;
  }

  /** `true` or `false`; false by default. */
  flag(name: string): boolean {
    const value = this.#valueOr(name, false);
    if (typeof value !== 'boolean') {
      throw this.invalid(name, 'must be `true` or `false`');
    }
    return value;
  }

  /** One of these texts, exactly; required without a fallback. */
  choice<Word extends string>(name: string, words: readonly Word[], fallback?: Word): Word {
    const value = this.#valueOr(name, fallback);
    const word = words.find((known) => known === value);
    if (word === undefined) {
      throw this.invalid(name, `must be one of ${words.map((known) => `\`${known}\``).join(', ')}`);
    }
    return word;
  }

  /** A list of texts; empty by default. */
  texts(name: string, countMax: number, lengthMax: number): string[] {
    const value = this.#valueOr(name, []);
    if (!Array.isArray(value) || value.length > countMax) {
      throw this.invalid(name, `must be a list of at most ${countMax} texts`);
    }
    return value.map((item: unknown, at) => {
      if (!isText(item, lengthMax)) {
        throw this.invalid(`${name}[${at}]`, textExpected(lengthMax));
      }
      return item;
    });
  }

  #valueOr(name: string, fallback: unknown): unknown {
    if (!this.has(name) && fallback === undefined) {
      throw this.invalid(name, 'is missing');
    }
    return this.has(name) ? this.given[name] : fallback;
  }
}
