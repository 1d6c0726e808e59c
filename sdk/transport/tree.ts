/** Parses the tree of a bulk reply item by item, while it arrives. */
import { VaultConnectionError } from './errors.ts';

/** Accepts the text of the reply in pieces of any size, and returns the items that each piece completes. */
export interface TreeReader {
  readonly push: (text: string) => readonly string[];
  /** Throws if the tree is incomplete: a truncated reply is an error, never a shorter list. */
  readonly end: () => void;
}

/** Far more than any item, also after rules and with every character escaped. */
const ITEM_LENGTH_MAX = 2 ** 24;
const ROOT = 1;
const LIST = 2;
const OUTSIDE: Readonly<Record<number, RegExp>> = { 0: /[\s{]/, [ROOT]: /[\s",:[\]}]/, [LIST]: /[\s,{\]]/ };

/**
 * A parser of `{ "<user>": [ item, … ] }` that keeps at most the current item in memory. Each item is returned as its
 * exact JSON text.
 */
export function createTreeReader(): TreeReader {
  /** The received parts of the current item. */
  let parts: string[] = [];
  let heldLength = 0;
  let depth = 0;
  let started = false;
  let inString = false;
  let escaped = false;

  const step = (char: string): void => {
    if (inString) {
      inString = escaped || char !== '"';
      escaped = !escaped && char === '\\';
      return;
    }
    if (depth <= LIST && (OUTSIDE[depth]?.test(char) !== true || (started && depth === 0 && char === '{'))) {
      throw brokenOff();
    }
    if (char === '"') {
      inString = true;
    } else if (char === '{' || char === '[') {
      started = true;
      depth += 1;
    } else if (char === '}' || char === ']') {
      depth -= 1;
    }
  };

  /** Keeps the start of an incomplete item. */
  const hold = (part: string): void => {
    parts.push(part);
    heldLength += part.length;
    if (heldLength > ITEM_LENGTH_MAX) {
      throw new VaultConnectionError('An item of the reply has no end.');
    }
  };

  const take = (part: string): string => {
    const item = parts.join('') + part;
    parts = [];
    heldLength = 0;
    return item;
  };

  return {
    push: (text) => {
      const items: string[] = [];
      let itemStart = 0;
      for (let at = 0; at < text.length; at += 1) {
        const before = depth;
        step(text.charAt(at));
        if (before === LIST && depth > LIST) {
          itemStart = at;
        } else if (before > LIST && depth === LIST) {
          items.push(take(text.slice(itemStart, at + 1)));
        }
      }
      if (depth > LIST) {
        hold(text.slice(itemStart));
      }
      return items;
    },
    end: () => {
      if (!started || depth !== 0) {
        throw brokenOff();
      }
    },
  };
}

function brokenOff(): VaultConnectionError {
  return new VaultConnectionError('The reply broke off before it was complete.');
}
