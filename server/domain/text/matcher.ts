/** The search for many byte strings at once, in bytes that come one after the other (Aho–Corasick). */

/** A part of the bytes read so far: from `start` up to and without `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Adds a span to a list, as one with the last ones that it overlaps. */
function addSpan(spans: Span[], start: number, end: number): void {
  let [from, to] = [start, end];
  for (
    let last = spans.at(-1);
    last !== undefined && last.end > from && last.start < to;
    last = spans.at(-1)
  ) {
    [from, to] = [Math.min(from, last.start), Math.max(to, last.end)];
    spans.pop();
  }
  spans.push({ start: from, end: to });
}

/**
 * Byte strings as a tree with links from each node to that of its longest end that is in the tree as well. Children are lists:
 * a table of 256 entries for each node would be large, and almost all nodes have one child.
 */
export class Patterns {
  readonly longest: number;
  /** Of each node: its number of bytes, and the length of the longest pattern that ends there, or 0. */
  readonly depth: Int32Array;
  readonly found: Int32Array;
  /** The children of the root. */
  readonly root = new Int32Array(256);
  readonly #byte: Uint8Array;
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #link: Int32Array;

  constructor(patterns: readonly Uint8Array[]) {
    const size = patterns.reduce((sum, { length }) => sum + length, 1);
    this.longest = patterns.reduce((max, { length }) => Math.max(max, length), 0);
    this.#byte = new Uint8Array(size);
    [this.depth, this.found] = [new Int32Array(size), new Int32Array(size)];
    [this.#child, this.#sibling, this.#link] = [
      new Int32Array(size),
      new Int32Array(size),
      new Int32Array(size),
    ];
    let nodes = 1;
    for (const pattern of patterns) {
      let node = 0;
      for (const byte of pattern) {
        const child = this.#childOf(node, byte);
        if (child === 0) {
          this.#addChild(node, byte, nodes);
        }
        node = child === 0 ? nodes++ : child;
      }
      this.found[node] = pattern.length;
    }
    this.#linkAll();
  }

  #childOf(node: number, byte: number): number {
    if (node === 0) {
      return this.root[byte] as number;
    }
    let child = this.#child[node] as number;
    while (child !== 0 && this.#byte[child] !== byte) {
      child = this.#sibling[child] as number;
    }
    return child;
  }

  #addChild(node: number, byte: number, child: number): void {
    this.#byte[child] = byte;
    this.depth[child] = (this.depth[node] as number) + 1;
    this.#sibling[child] = this.#child[node] as number;
    this.#child[node] = child;
    if (node === 0) {
      this.root[byte] = child;
    }
  }

  /** Sets the links, those of shorter nodes first. */
  #linkAll(): void {
    const queue = [0];
    for (const node of queue) {
      for (let child = this.#child[node] as number; child !== 0; child = this.#sibling[child] as number) {
        const link = node === 0 ? 0 : this.next(this.#link[node] as number, this.#byte[child] as number);
        this.#link[child] = link;
        this.found[child] ||= this.found[link] as number;
        queue.push(child);
      }
    }
  }

  /** The node of the longest end of the bytes read that is in the tree, after one more byte. */
  next(node: number, byte: number): number {
    for (let at = node; at !== 0; at = this.#link[at] as number) {
      const child = this.#childOf(at, byte);
      if (child !== 0) {
        return child;
      }
    }
    return this.root[byte] as number;
  }
}

/** Finds patterns in bytes, each of which stands for a part of the bytes that were received. */
export class Matcher {
  readonly #patterns: Patterns;
  readonly #spans: Span[];
  /** Where the last bytes start, as many as the longest pattern has. */
  readonly #starts: Float64Array;
  readonly #mask: number;
  #count = 0;
  #node = 0;

  /** What is found is added to `spans`. */
  constructor(patterns: Patterns, spans: Span[]) {
    this.#patterns = patterns;
    this.#spans = spans;
    this.#starts = new Float64Array(2 ** Math.ceil(Math.log2(patterns.longest + 1)));
    this.#mask = this.#starts.length - 1;
  }

  put(byte: number, start: number, end: number): void {
    const patterns = this.#patterns;
    if (this.#node === 0 && patterns.root[byte] === 0) {
      return;
    }
    const node = patterns.next(this.#node, byte);
    this.#node = node;
    this.#starts[this.#count & this.#mask] = start;
    this.#count = (this.#count + 1) & this.#mask;
    const length = patterns.found[node] as number;
    if (length > 0) {
      addSpan(this.#spans, this.#startOf(length), end);
    }
  }

  #startOf(length: number): number {
    return this.#starts[(this.#count - length) & this.#mask] as number;
  }

  /** Where what may become a match begins: nothing found later starts before. */
  get from(): number {
    return this.#node === 0
      ? Number.POSITIVE_INFINITY
      : this.#startOf(this.#patterns.depth[this.#node] as number);
  }
}
