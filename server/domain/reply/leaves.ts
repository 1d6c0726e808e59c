/** A value of a reply, and the place of its source in the text, without quotes. */
export interface Value {
  readonly value: string;
  readonly start: number;
  readonly end: number;
  /** Output of a tag `{{x}}` in this place for a text; undefined if only a raw tag reproduces the source. */
  readonly write?: ((text: string) => string) | undefined;
}

/** An object, list or element around values; compared by identity. */
export interface Branch {
  readonly name: string;
  readonly up: Branch | undefined;
  readonly depth: number;
}

/** A value with its name. */
export interface Leaf extends Value {
  readonly name: string;
  readonly branch: Branch;
}

/** The outermost branch of every reply. */
export const ROOT: Branch = { name: '', up: undefined, depth: 0 };

export function branchOf(name: string, up: Branch): Branch {
  return { name, up, depth: up.depth + 1 };
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
