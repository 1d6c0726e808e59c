import { VaultError } from '../../core/errors.ts';
import { JsonNumber, type JsonValue, quoteJson } from '../json/json.ts';

/** Limits of all rules of one item together; when one is exceeded, the run ends with `rule_limit`. */
export const RULE_LIMITS = {
  msMax: 100,
  /** Size of the working object as JSON, and of any intermediate text, in UTF-8 bytes. */
  bytesMax: 1_048_576,
  /** Nested levels of the working object; the outermost is level 1. */
  levelsMax: 64,
  /** Tags, lookups and section iterations in templates, independent of the clock. */
  stepsMax: 1_000_000,
  exceeded: overLimit,
} as const satisfies WorkLimits & { readonly levelsMax: number };

/** Reading the clock is slow compared to a step. */
const STEPS_PER_CLOCK_READING = 512;

/** The error for rules that exceed their limits. */
export function overLimit(): VaultError {
  return new VaultError('rule_limit');
}

interface WorkBudget {
  /** Throws when the time limit is exceeded. */
  readonly checkTime: () => void;
  /** Counts work that grows with template and data; checks the time at intervals. */
  readonly spend: (steps: number) => void;
}

/** The limits of a task, and the error when one is exceeded. */
export interface WorkLimits {
  readonly msMax: number;
  readonly stepsMax: number;
  readonly bytesMax: number;
  readonly exceeded: () => VaultError;
}

/** A budget that starts now; `now` is a monotonic clock in milliseconds. */
export function createWorkBudget(now: () => number, limits: WorkLimits = RULE_LIMITS): WorkBudget {
  const endMs = now() + limits.msMax;
  let steps = 0;
  let nextReading = STEPS_PER_CLOCK_READING;
  const checkTime = (): void => {
    if (now() > endMs) {
      throw limits.exceeded();
    }
  };
  const spend = (count: number): void => {
    steps += count;
    if (steps >= nextReading) {
      if (steps > limits.stepsMax) {
        throw limits.exceeded();
      }
      nextReading = steps + STEPS_PER_CLOCK_READING;
      checkTime();
    }
  };
  return { checkTime, spend };
}

/** Counts bytes before a text is built, and throws when their sum exceeds the limit. */
export function createTextMeter(limits: WorkLimits = RULE_LIMITS): (bytes: number) => void {
  let written = 0;
  return (bytes) => {
    written += bytes;
    if (written > limits.bytesMax) {
      throw limits.exceeded();
    }
  };
}

export function jsonTextBytes(text: string): number {
  const isPlain = /^[ !#-[\]-~]*$/.test(text);
  return isPlain ? text.length + 2 : Buffer.byteLength(quoteJson(text), 'utf8');
}

/** The size in bytes of a value as compact JSON. Throws `rule_limit` for more than `levels` nested levels. */
export function jsonBytes(value: JsonValue, levels: number): number {
  if (typeof value === 'string') {
    return jsonTextBytes(value);
  }
  if (value instanceof JsonNumber) {
    return value.text.length;
  }
  if (value === null || typeof value === 'boolean') {
    return value === false ? 5 : 4;
  }
  if (levels <= 0) {
    throw overLimit();
  }
  let bytes = 1;
  if (value instanceof Map) {
    for (const [name, member] of value) {
      bytes += jsonTextBytes(name) + jsonBytes(member, levels - 1) + 2;
    }
    return bytes + (value.size === 0 ? 1 : 0);
  }
  for (const item of value) {
    bytes += jsonBytes(item, levels - 1) + 1;
  }
  return bytes + (value.length === 0 ? 1 : 0);
}
