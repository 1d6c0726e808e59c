const STEPS_MAX = 64;
const INDEX = /^\d+$/;

/** How a format writes characters of its values: each match of the pattern is read as a part of the value. */
export interface Notation {
  /** With the flag `g`. */
  readonly pattern: RegExp;
  readonly read: (match: string) => string;
}

/** A value of a text, and the place of its source in it, without quotes. */
export interface Value {
  readonly value: string;
  readonly start: number;
  readonly end: number;
  /** Output of a tag `{{x}}` in this place for a text; undefined if no such tag reproduces the source. */
  readonly write?: ((text: string) => string) | undefined;
}

/** An object, list, row or element around values; compared by identity. */
export interface Branch {
  readonly name: string;
  readonly up: Branch | undefined;
  readonly depth: number;
  /** It is in a list of JSON, and has its name. */
  readonly isItem: boolean;
}

/** A value with its name. */
export interface Leaf extends Value {
  readonly name: string;
  readonly branch: Branch;
  /** The whole name of a form's field or of a table's column, where `name` is its last part. */
  readonly field?: string;
  /** The element whose text it is, around the attributes. */
  readonly own?: Branch | undefined;
  readonly notation?: Notation | undefined;
  /** It is no part of the message, as a comment: what it says is of no card, but must not stay readable. */
  readonly isAside?: true;
  /** A number that is no whole one: no value of a card, but a code must not stay readable. */
  readonly isInexact?: true | undefined;
  /** It is in a list of JSON, and has its name. */
  readonly isItem?: true | undefined;
  /** A number or a word of JSON, and the quote that makes a text of it, as it is written there. */
  readonly quote?: string | undefined;
}

/** Output of a tag where nothing is escaped. */
export function asIs(text: string): string {
  return text;
}

/** The outermost branch of every text. */
export const ROOT: Branch = { name: '', up: undefined, depth: 0, isItem: false };

export function branchOf(name: string, up: Branch, isItem = false): Branch {
  return { name, up, depth: up.depth + 1, isItem };
}

/** The names of a form or of a row: `card[number]` and `card.number` are nested in one branch. */
export class Names {
  readonly #branches = new Map<string, Branch>();

  constructor(private readonly root: Branch = ROOT) {}

  /** The last name of a path, and the branch that it is in. Items of a list have the name of the list. */
  find(path: string): { readonly name: string; readonly branch: Branch; readonly field: string } {
    if (!/[[\].]/.test(path)) {
      return { name: path, branch: this.root, field: path };
    }
    const steps = path.split(/[[\].]+/, STEPS_MAX + 1).filter((step) => step !== '');
    const name = steps.pop() ?? '';
    let branch = this.root;
    let way = '';
    for (const step of steps) {
      way += `${step}.`;
      branch = this.#branches.get(way) ?? branchOf(INDEX.test(step) ? branch.name : step, branch);
      this.#branches.set(way, branch);
    }
    return { name, branch, field: path };
  }
}

/** Number of branches below the root that two branches share. */
export function sharedDepth(one: Branch, other: Branch): number {
  let [a, b] = [one, other];
  while (a !== b) {
    if (a.depth >= b.depth) {
      a = a.up ?? ROOT;
    } else {
      b = b.up ?? ROOT;
    }
  }
  return a.depth;
}

/** Reads the notations of a source. */
export function readNotation(source: string, { pattern, read }: Notation): string {
  return source.replace(pattern, (match) => read(match));
}

/** Gives the place in the text of each character of a leaf's value, and of its end. */
export function createPlaces({ value, start, end, notation }: Leaf, text: string): (at: number) => number {
  // No notation is shorter than what it stands for.
  if (notation === undefined || value.length === end - start) {
    return (at) => start + at;
  }
  const places = new Int32Array(value.length + 1);
  let at = 0;
  let done = start;
  for (const { 0: match, index } of text.slice(start, end).matchAll(notation.pattern)) {
    while (done < start + index) {
      places[at++] = done++;
    }
    for (let units = notation.read(match).length; units > 0; units--) {
      places[at++] = done;
    }
    done = start + index + match.length;
  }
  while (done <= end) {
    places[at++] = done++;
  }
  return (index) => places[index] ?? end;
}

/** The part of a leaf from one character of its value to before another. */
export function partOf<T extends Leaf>(leaf: T, text: string, from: number, to: number): T {
  if (from === 0 && to === leaf.value.length) {
    return leaf;
  }
  const placeOf = createPlaces(leaf, text);
  return { ...leaf, value: leaf.value.slice(from, to), start: placeOf(from), end: placeOf(to) };
}

/** A leaf without the white space around its value. */
export function trimmed(leaf: Leaf, text: string): Leaf {
  const { value } = leaf;
  const inner = value.trim();
  if (inner.length === value.length) {
    return leaf;
  }
  const from = value.length - value.trimStart().length;
  return partOf(leaf, text, from, from + inner.length);
}
