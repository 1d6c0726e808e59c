/** Finds stored numbers and card numbers among digits, in time linear in their count. */
import { onlyDigits } from '../card/digits.ts';

/** The lengths of numbers that are found by their check digit. */
const [LUHN_MIN, LUHN_MAX] = [13, 19];
/** From so many digits on, a stored number is found within others; a shorter one only alone. */
const WITHIN_MIN = 12;
const ALONE_MIN = 6;
/** So many digits of a longer stored number are looked for. */
const PREFIX_MAX = 64;

/** An automaton after Aho and Corasick. */
export interface Automaton {
  /** The next state for each state and digit. */
  readonly next: Int32Array;
  /** For each state the longest number that ends there, counted from 1; 0: none. */
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
  // In the order of their depth: where the longest other beginning goes on.
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

/** The state behind a digit. */
export function stateAfter({ next }: Automaton, state: number, unit: number): number {
  return next[state * 10 + unit - 0x30] ?? ROOT;
}

/** The numbers that one reply is searched for. */
export interface StoredNumbers {
  readonly within: Automaton;
  readonly alone: ReadonlySet<string>;
}

/** Prepares a search. Numbers with fewer than 6 digits may be anything else in a reply, and are not looked for. */
export function prepareNumbers(numbers: readonly string[]): StoredNumbers {
  const all = [...new Set(numbers.map(onlyDigits))];
  const long = all.filter(({ length }) => length >= WITHIN_MIN);
  return {
    within: automatonOf(long.map((digits) => digits.slice(0, PREFIX_MAX))),
    alone: new Set(all.filter(({ length }) => length >= ALONE_MIN && length < WITHIN_MIN)),
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

/** Whether 13 to 19 of the digits in a row pass Luhn: by sums, so that each part is looked at in one step. */
export function holdsLuhnNumber(digits: string): boolean {
  const { length } = digits;
  // Sums up to each digit, modulo 10, with every second digit doubled: those at even places, or those at odd ones.
  const sums = [new Uint8Array(length + 1), new Uint8Array(length + 1)] as const;
  for (let at = 0; at < length; at++) {
    const digit = digits.charCodeAt(at) - 0x30;
    const doubled = digit > 4 ? 2 * digit - 9 : 2 * digit;
    const isEven = at % 2 === 0;
    sums[0][at + 1] = ((sums[0][at] ?? 0) + (isEven ? doubled : digit)) % 10;
    sums[1][at + 1] = ((sums[1][at] ?? 0) + (isEven ? digit : doubled)) % 10;
    const sum = sums[at % 2 === 0 ? 1 : 0];
    for (let from = at + 1 - LUHN_MIN; from >= 0 && from >= at + 1 - LUHN_MAX; from--) {
      if (sum[from] === sum[at + 1]) {
        return true;
      }
    }
  }
  return false;
}

/** Whether a run of digits is to be masked. */
export function isHiddenRun(digits: string, { within, alone }: StoredNumbers): boolean {
  return digits.length < WITHIN_MIN
    ? alone.has(digits)
    : holdsOneOf(within, digits) || holdsLuhnNumber(digits);
}
