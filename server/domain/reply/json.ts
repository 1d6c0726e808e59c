import { VaultError } from '../../core/errors.ts';
import { type JsonValue, parseJson, quoteJson } from '../json/json.ts';
import { isJsonText, visitJson } from '../text/json-tokens.ts';
import { readAs, sourceAt } from '../text/notations.ts';
import { type Branch, branchOf, type Leaf, type Notation, ROOT } from './leaves.ts';

const encoder = new TextEncoder();

/** The value of a JSON reply, which may begin with a byte order mark; undefined for any other text. */
export function replyJson(text: string): JsonValue | undefined {
  try {
    return parseJson(encoder.encode(text.startsWith('\ufeff') ? text.slice(1) : text));
  } catch (error) {
    if (error instanceof VaultError) {
      return undefined;
    }
    throw error;
  }
}

const LEVELS_MAX = 64;

const JSON_NOTATION: Notation = {
  pattern: /\\(?:u[\da-f]{4}|[^u])/gi,
  read: (match) => JSON.parse(`"${match}"`),
};

function decode(source: string): string {
  return source.includes('\\') ? JSON.parse(`"${source}"`) : source;
}

function encode(text: string): string {
  return quoteJson(text).slice(1, -1);
}

/** A value with its places: a leaf, which may be a word, a list, or an object. */
export type JsonTree = Leaf | JsonTree[] | Map<string, JsonTree>;

/** A JSON text, or JSON lines. */
export interface JsonDocument {
  /** The texts and numbers, in order. */
  readonly leaves: Leaf[];
  /** The value of each line. */
  readonly roots: readonly JsonTree[];
}

/** An object or a list, and the name of what it is in. */
interface Outer {
  readonly name: string;
  readonly branch: Branch;
  readonly inside: JsonTree[] | Map<string, JsonTree>;
}

/**
 * Reads a JSON text, or JSON lines; undefined for any other text. Throws `invalid_json` for an object with a name twice,
 * which two readers may read in two ways, and `json_too_deep`.
 */
export function readJson(text: string, root: Branch = ROOT): JsonDocument | undefined {
  if (!isJsonText(text)) {
    return undefined;
  }
  const view = readAs(text, ['backslash']);
  const leaves: Leaf[] = [];
  const roots: JsonTree[] = [];
  const outer: Outer[] = [];
  // The items of a list have its name.
  let [name, branch] = ['', root];
  let inside: Outer['inside'] = roots;
  const isItem = (): boolean => inside !== roots && Array.isArray(inside);
  const add = (tree: JsonTree): void => {
    if (Array.isArray(inside)) {
      inside.push(tree);
    } else {
      inside.set(name, tree);
    }
  };
  // One object of one shape: a message may have half a million of them.
  const addLeaf = (from: number, to: number, value: string, isText: boolean, isInexact?: true): Leaf => {
    const [start, end] = [sourceAt(view, from), sourceAt(view, to)];
    const leaf: Leaf = {
      name,
      branch,
      value,
      start,
      end,
      write: isText ? encode : undefined,
      notation: isText ? JSON_NOTATION : undefined,
      quote: isText ? undefined : '"',
      isItem: isItem() ? true : undefined,
      isInexact,
    };
    add(leaf);
    return leaf;
  };
  const sourceOf = (from: number, to: number): string => text.slice(sourceAt(view, from), sourceAt(view, to));
  visitJson(view, {
    name(from, to) {
      name = decode(sourceOf(from, to));
      if (inside instanceof Map && inside.has(name)) {
        throw new VaultError('invalid_json');
      }
    },
    text(from, to) {
      leaves.push(addLeaf(from, to, decode(sourceOf(from, to)), true));
    },
    number(from, to) {
      const value = sourceOf(from, to);
      leaves.push(addLeaf(from, to, value, false, /^\d+$/.test(value) ? undefined : true));
    },
    word(from, to) {
      addLeaf(from, to, sourceOf(from, to), false);
    },
    open(isList) {
      if (outer.length >= LEVELS_MAX) {
        throw new VaultError('json_too_deep');
      }
      const opened = isList ? [] : new Map<string, JsonTree>();
      add(opened);
      outer.push({ name, branch, inside });
      branch = branchOf(name, branch, isItem());
      inside = opened;
    },
    close() {
      ({ name, branch, inside } = outer.pop() ?? { name: '', branch: root, inside: roots });
    },
  });
  return { leaves, roots };
}

/** The texts and numbers of a text that {@link readJson} reads, in order; undefined for any other text. */
export function jsonLeaves(text: string, root: Branch = ROOT): Leaf[] | undefined {
  return readJson(text, root)?.leaves;
}
