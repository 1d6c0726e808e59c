import { quoteJson } from '../json/json.ts';
import { percentEncode } from '../template/proxy-escape.ts';
import { escapeXml } from '../template/xml-escape.ts';

/** An object, list or element around values; compared by identity. */
export interface Branch {
  readonly name: string;
  readonly up: Branch | undefined;
  readonly depth: number;
}

/** A single value of a reply, and where its source stands in the text (without quotes). */
export interface Leaf {
  readonly name: string;
  readonly branch: Branch;
  readonly value: string;
  readonly start: number;
  readonly end: number;
  /** What a tag `{{x}}` in this place puts out for a text; undefined where only a raw tag can do. */
  readonly write: ((text: string) => string) | undefined;
}

/** How deep a reply may be nested to be read. */
export const REPLY_DEPTH_MAX = 64;

/** The outermost branch. */
export function rootBranch(): Branch {
  return { name: '', up: undefined, depth: 0 };
}

/** A branch inside another. */
export function branchOf(name: string, up: Branch): Branch {
  return { name, up, depth: up.depth + 1 };
}

/** What `{{x}}` writes inside a JSON string literal. */
export function writeInJson(text: string): string {
  return quoteJson(text).slice(1, -1);
}

/** What `{{x}}` writes in XML text and attributes. */
export const writeXml = escapeXml;

/** What `{{x}}` writes in a form body. */
export const writeForm = percentEncode;

/** What `{{x}}` writes in plain text. */
export function writeText(text: string): string {
  return text;
}

/** How many branches two branches share from the root on. */
export function sharedDepth(one: Branch, other: Branch): number {
  let a: Branch | undefined = one;
  let b: Branch | undefined = other;
  while (a !== undefined && b !== undefined && a !== b) {
    if (a.depth >= b.depth) {
      a = a.up;
    } else {
      b = b.up;
    }
  }
  return a === undefined || b === undefined ? -1 : a.depth;
}
