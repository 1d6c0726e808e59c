/** Reads the tree of a bulk reply item by item, while it is still arriving. */
import { VaultConnectionError } from './errors.ts';

/** Takes the reply's text in pieces of any size and gives back the items that each piece completes. */
export interface TreeReader {
  readonly push: (text: string) => readonly string[];
  /** Throws unless the tree was complete: a reply cut off anywhere is an error, never a shorter list. */
  readonly end: () => void;
}

const ROOT = 1;
const LIST = 2;
const OUTSIDE: Readonly<Record<number, RegExp>> = { 0: /[\s{]/, [ROOT]: /[\s",:[\]}]/, [LIST]: /[\s,{\]]/ };

/**
 * A reader of `{ "<user>": [ item, … ] }` that holds no more than the item in progress. Each item comes back
 * as its exact JSON text.
 */
export const createTreeReader = (): TreeReader => {
  let pending = '';
  let at = 0;
  let itemStart = 0;
  let depth = 0;
  let started = false;
  let inString = false;
  let escaped = false;

  const step = (char: string): boolean => {
    if (inString) {
      inString = escaped || char !== '"';
      escaped = !escaped && char === '\\';
      return false;
    }
    if (depth <= LIST && (OUTSIDE[depth]?.test(char) !== true || (started && depth === 0 && char === '{'))) {
      throw brokenOff();
    }
    if (char === '"') {
      inString = true;
    } else if (char === '{' || char === '[') {
      if (depth === LIST) {
        itemStart = at;
      }
      started = true;
      depth += 1;
    } else if (char === '}' || char === ']') {
      depth -= 1;
      return depth === LIST;
    }
    return false;
  };

  return {
    push: (text) => {
      pending += text;
      const items: string[] = [];
      for (; at < pending.length; at += 1) {
        if (step(pending.charAt(at))) {
          items.push(pending.slice(itemStart, at + 1));
        }
      }
      const kept = depth > LIST ? itemStart : at;
      pending = pending.slice(kept);
      at -= kept;
      itemStart = 0;
      return items;
    },
    end: () => {
      if (!started || depth !== 0) {
        throw brokenOff();
      }
    },
  };
};

const brokenOff = (): VaultConnectionError =>
  new VaultConnectionError('The reply broke off before it was complete.');
