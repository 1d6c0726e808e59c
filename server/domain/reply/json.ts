import { VaultError } from '../../core/errors.ts';
import { type JsonValue, parseJson, quoteJson } from '../json/json.ts';
import { visitJson } from '../mask/reply-json.ts';
import { readAs, sourceAt } from '../mask/reply-view.ts';
import { type Branch, branchOf, type Leaf, ROOT } from './leaves.ts';

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

function decode(source: string): string {
  return source.includes('\\') ? JSON.parse(`"${source}"`) : source;
}

function encode(text: string): string {
  return quoteJson(text).slice(1, -1);
}

/** The texts and whole numbers of a JSON text, in order; undefined for any other text. */
export function jsonLeaves(text: string): Leaf[] | undefined {
  if (replyJson(text) === undefined) {
    return undefined;
  }
  const view = readAs(text, ['backslash']);
  const leaves: Leaf[] = [];
  const outer: { readonly name: string; readonly branch: Branch }[] = [];
  // The items of a list have its name.
  let [name, branch] = ['', ROOT];
  visitJson(view, {
    name(from, to) {
      name = decode(text.slice(sourceAt(view, from), sourceAt(view, to)));
    },
    text(from, to) {
      const [start, end] = [sourceAt(view, from), sourceAt(view, to)];
      leaves.push({ name, branch, value: decode(text.slice(start, end)), start, end, write: encode });
    },
    number(from, to) {
      const [start, end] = [sourceAt(view, from), sourceAt(view, to)];
      const value = text.slice(start, end);
      if (/^\d+$/.test(value)) {
        leaves.push({ name, branch, value, start, end });
      }
    },
    open() {
      outer.push({ name, branch });
      branch = branchOf(name, branch);
    },
    close() {
      ({ name, branch } = outer.pop() ?? { name: '', branch: ROOT });
    },
  });
  return leaves;
}
