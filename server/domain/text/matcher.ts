/** The search for many byte strings at once, in bytes that come in stretches (Aho–Corasick). */
import type { Stretch } from './unescaper.ts';

/** A part of the received bytes: from `start` up to and without `end`. */
export interface Span {
  start: number;
  end: number;
}

const [PLUS, SPACE] = [0x2b, 0x20];

/**
 * Byte strings as a tree; each node links to that of its longest suffix in the tree. A node is followed by its first
 * child, usually the only one; a table of 256 entries for each would be large.
 */
export class Patterns {
  readonly longest: number;
  /** For each node its number of bytes, and the length of the longest pattern that ends there, or 0. */
  readonly depth: Int32Array;
  readonly found: Int32Array;
  readonly root = new Int32Array(256);
  readonly #parent: Int32Array;
  readonly #byte: Uint8Array;
  readonly #link: Int32Array;
  /** The other children, by node and byte. */
  readonly #others = new Map<number, number>();

  /** The patterns are texts of Latin-1. */
  constructor(patterns: readonly string[]) {
    const size = patterns.reduce((sum, { length }) => sum + length, 2);
    this.longest = patterns.reduce((max, { length }) => Math.max(max, length), 0);
    [this.depth, this.found] = [new Int32Array(size), new Int32Array(size)];
    [this.#parent, this.#link] = [new Int32Array(size), new Int32Array(size)];
    this.#byte = new Uint8Array(size);
    let nodes = 1;
    for (const pattern of patterns) {
      let node = 0;
      for (const byte of Buffer.from(pattern.replaceAll('+', ' '), 'latin1')) {
        node = this.#childOf(node, byte) || this.#addChild(node, byte, nodes++);
      }
      this.found[node] = pattern.length;
    }
    const byDepth = Array.from({ length: nodes }, (_, node) => node).sort(
      (a, b) => (this.depth[a] as number) - (this.depth[b] as number),
    );
    for (const node of byDepth) {
      const parent = this.#parent[node] as number;
      const link = parent === 0 ? 0 : this.next(this.#link[parent] as number, this.#byte[node] as number);
      this.#link[node] = link;
      this.found[node] ||= this.found[link] as number;
    }
  }

  #childOf(node: number, byte: number): number {
    if (node === 0) {
      return this.root[byte] as number;
    }
    const isFirst = this.#parent[node + 1] === node && this.#byte[node + 1] === byte;
    return isFirst ? node + 1 : (this.#others.get(node * 256 + byte) ?? 0);
  }

  #addChild(node: number, byte: number, child: number): number {
    this.#parent[child] = node;
    this.#byte[child] = byte;
    this.depth[child] = (this.depth[node] as number) + 1;
    if (node === 0) {
      this.root[byte] = child;
    } else if (child !== node + 1) {
      this.#others.set(node * 256 + byte, child);
    }
    return child;
  }

  /** The node of the longest suffix of the bytes read, after one more byte. */
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

/** Finds patterns and their positions in the received bytes. */
export class Matcher {
  readonly #patterns: Patterns;
  readonly #spans: Span[];
  /** The ends of the last bytes: one more than the longest pattern has. */
  readonly #ends: Float64Array;
  #count = 0;
  #node = 0;

  /** Matches are added to `spans`. */
  constructor(patterns: Patterns, spans: Span[]) {
    this.#patterns = patterns;
    this.#spans = spans;
    this.#ends = new Float64Array(2 ** Math.ceil(Math.log2(patterns.longest + 1)));
  }

  search({ bytes, ends }: Stretch): void {
    const { root, found } = this.#patterns;
    const [places, mask] = [this.#ends, this.#ends.length - 1];
    let [node, count] = [this.#node, this.#count];
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] === PLUS ? SPACE : (bytes[at] as number);
      count = (count + 1) & mask;
      places[count] = ends[at] as number;
      if (node !== 0 || root[byte] !== 0) {
        node = this.#patterns.next(node, byte);
        if (found[node] !== 0) {
          this.#count = count;
          this.#add(found[node] as number);
        }
      }
    }
    [this.#node, this.#count] = [node, count];
  }

  /** Later matches start at or after this position. */
  get settled(): number {
    return this.#startOf(this.#patterns.depth[this.#node] as number);
  }

  /** The start of the last bytes. */
  #startOf(length: number): number {
    return this.#ends[(this.#count - length) & (this.#ends.length - 1)] as number;
  }

  /** Adds a span of the last bytes, as one with the last span if they overlap. */
  #add(length: number): void {
    const [start, end] = [this.#startOf(length), this.#startOf(0)];
    const last = this.#spans.at(-1);
    if (last !== undefined && last.end > start && last.start < end) {
      [last.start, last.end] = [Math.min(start, last.start), Math.max(end, last.end)];
    } else {
      this.#spans.push({ start, end });
    }
  }
}
