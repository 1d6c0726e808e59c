/** Stored numbers and card numbers among digits, found in linear time. */
import { onlyDigits } from '../card/digits.ts';
import { luhnSums, partPassesLuhn } from '../card/luhn.ts';
import { isMaskedNumberName } from '../card/sensitive-names.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { plainNumbers } from './plain-numbers.ts';

/** Lengths of numbers that are found by their check digit. */
const [LUHN_MIN, LUHN_MAX] = [13, 19];
/** Stored numbers with this length are also found within other digits, shorter ones only alone. */
const WITHIN_MIN = 12;
const ALONE_MIN = 6;
/** Searched digits of a longer stored number. */
const PREFIX_MAX = 64;

/** An Aho–Corasick automaton. */
export interface Automaton {
  /** Next state for each state and digit. */
  readonly next: Int32Array;
  /** For each state the longest number that ends there, counted from 1, or 0. */
  readonly ends: Int32Array;
}

const ROOT = 0;

/** Puts the numbers into a tree. */
function treeOf(numbers: readonly string[], { next, ends }: Automaton): number {
  let states = 1;
  for (const [index, digits] of numbers.entries()) {
    let state = ROOT;
    for (let at = 0; at < digits.length; at++) {
      const edge = state * 10 + digits.charCodeAt(at) - 0x30;
      if (next[edge] === ROOT) {
        next[edge] = states++;
      }
      state = next[edge] ?? ROOT;
    }
    if (ends[state] === 0) {
      ends[state] = index + 1;
    }
  }
  return states;
}

/** Builds an automaton for numbers of ASCII digits. */
export function automatonOf(numbers: readonly string[]): Automaton {
  const size = 1 + numbers.reduce((sum, { length }) => sum + length, 0);
  const automaton = { next: new Int32Array(size * 10), ends: new Int32Array(size) };
  const { next, ends } = automaton;
  const states = treeOf(numbers, automaton);
  // In breadth-first order: the longest proper suffix of each state.
  const others = new Int32Array(states);
  const queue = new Int32Array(states);
  let queued = 1;
  for (let taken = 0; taken < queued; taken++) {
    const state = queue[taken] ?? ROOT;
    const other = others[state] ?? ROOT;
    if (ends[state] === 0) {
      ends[state] = ends[other] ?? 0;
    }
    for (let digit = 0; digit < 10; digit++) {
      const child = next[state * 10 + digit] ?? ROOT;
      const onward = state === ROOT ? ROOT : (next[other * 10 + digit] ?? ROOT);
      if (child === ROOT) {
        next[state * 10 + digit] = onward;
      } else {
        others[child] = onward;
        queue[queued++] = child;
      }
    }
  }
  return automaton;
}

export function stateAfter({ next }: Automaton, state: number, unit: number): number {
  return next[state * 10 + unit - 0x30] ?? ROOT;
}

/** The numbers that one reply is searched for. */
export interface StoredNumbers {
  readonly within: Automaton;
  readonly alone: ReadonlySet<string>;
  /** Whole values that are no numbers, whatever digits they have. */
  readonly tokens: ReadonlySet<string>;
}

/**
 * Prepares a search. Numbers with fewer than 6 digits are ignored: they may be anything else in a reply. `tokens` are those
 * that were put into the reply.
 */
export function prepareNumbers(numbers: readonly string[], tokens: readonly string[] = []): StoredNumbers {
  const all = [...new Set(numbers.map(onlyDigits))];
  const long = all.filter(({ length }) => length >= WITHIN_MIN);
  return {
    within: automatonOf(long.map((digits) => digits.slice(0, PREFIX_MAX))),
    alone: new Set(all.filter(({ length }) => length >= ALONE_MIN && length < WITHIN_MIN)),
    tokens: new Set(tokens),
  };
}

function holdsOneOf(automaton: Automaton, digits: string): boolean {
  let state = ROOT;
  for (let at = 0; at < digits.length; at++) {
    state = stateAfter(automaton, state, digits.charCodeAt(at));
    if (automaton.ends[state] !== 0) {
      return true;
    }
  }
  return false;
}

/** Tells whether 13 to 19 consecutive digits pass Luhn. */
export function holdsLuhnNumber(digits: string): boolean {
  const sums = luhnSums(digits);
  for (let to = LUHN_MIN; to <= digits.length; to++) {
    for (let from = to - LUHN_MIN; from >= 0 && from >= to - LUHN_MAX; from--) {
      if (partPassesLuhn(sums, from, to)) {
        return true;
      }
    }
  }
  return false;
}

/** Tells whether a run of digits is masked. */
export function isHiddenRun(digits: string, { within, alone }: StoredNumbers): boolean {
  return digits.length < WITHIN_MIN
    ? alone.has(digits)
    : holdsOneOf(within, digits) || holdsLuhnNumber(digits);
}

/** The digits of all values under the name of a number, at any depth. Card numbers are also found by their check digit. */
export function storedNumbers(object: JsonObject): readonly string[] {
  const found = new Set<string>();
  const visit = (value: JsonValue, isNumber: boolean): void => {
    if (value instanceof Map) {
      for (const [name, member] of value) {
        visit(member, isNumber || isMaskedNumberName(name));
      }
    } else if (Array.isArray(value)) {
      for (const member of value) {
        visit(member, isNumber);
      }
    } else if (isNumber && (typeof value === 'string' || value instanceof JsonNumber)) {
      const digits = onlyDigits(typeof value === 'string' ? plainNumbers(value) : value.text);
      if (digits.length >= ALONE_MIN) {
        found.add(digits);
      }
    }
  };
  visit(object, false);
  return [...found];
}
