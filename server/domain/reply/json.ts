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

/** An object or a list around what is read. */
interface Outer {
  readonly name: string;
  readonly branch: Branch;
  readonly names: Set<string> | undefined;
}

/**
 * The texts and numbers of a JSON text, or of JSON lines, in order; undefined for any other text. Throws
 * `invalid_json` for an object with a name twice, which two readers may read in two ways, and `json_too_deep`.
 */
export function jsonLeaves(text: string, root: Branch = ROOT): Leaf[] | undefined {
  if (!isJsonText(text)) {
    return undefined;
  }
  const view = readAs(text, ['backslash']);
  const leaves: Leaf[] = [];
  const outer: Outer[] = [];
  // The items of a list have its name.
  let [name, branch] = ['', root];
  let names: Set<string> | undefined;
  visitJson(view, {
    name(from, to) {
      name = decode(text.slice(sourceAt(view, from), sourceAt(view, to)));
      names ??= new Set();
      if (names.has(name)) {
        throw new VaultError('invalid_json');
      }
      names.add(name);
    },
    text(from, to) {
      const [start, end] = [sourceAt(view, from), sourceAt(view, to)];
      const value = decode(text.slice(start, end));
      leaves.push({ name, branch, value, start, end, write: encode, notation: JSON_NOTATION });
    },
    number(from, to) {
      const [start, end] = [sourceAt(view, from), sourceAt(view, to)];
      const value = text.slice(start, end);
      const leaf = { name, branch, value, start, end };
      leaves.push(/^\d+$/.test(value) ? leaf : { ...leaf, isInexact: true });
    },
    open() {
      if (outer.length >= LEVELS_MAX) {
        throw new VaultError('json_too_deep');
      }
      outer.push({ name, branch, names });
      branch = branchOf(name, branch);
      names = undefined;
    },
    close() {
      ({ name, branch, names } = outer.pop() ?? { name: '', branch: root, names: undefined });
    },
  });
  return leaves;
}
