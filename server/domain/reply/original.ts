import type { JsonValue } from '../json/json.ts';
import type { Leaf } from './leaves.ts';

/** A place in a text, and the tag that replaces it. */
interface Hole {
  readonly start: number;
  readonly end: number;
  readonly tag: string;
}

/** A template that is made from a text: the places that tags replace, and the parts beside the named values. */
export interface Original {
  readonly text: string;
  readonly holes: Hole[];
  readonly parts: JsonValue[];
  /** The tags of the parts, by name and text. */
  readonly tags: Map<string, string>;
}

const PARTS = 'original_parts';
/** Braces that would open a tag: two or more, or any before a tag. */
const OPENING = /\{{2,}/g;
const OPENING_AT_END = /\{{2,}|\{$/g;

/** Starts a template from a text, which must be well-formed Unicode. */
export function startOriginal(text: string): Original {
  return { text, holes: [], parts: [], tags: new Map() };
}

/** Replaces a value by the tag of its name: by a raw one where only that gives back what is written there. */
export function tagValue(
  original: Original,
  name: string,
  { value, start, end, write }: Pick<Leaf, 'value' | 'start' | 'end'> & Partial<Leaf>,
): void {
  const raw = original.text.slice(start, end);
  const isVerbatim = value === raw && write?.(value) !== raw;
  if (isVerbatim) {
    original.holes.push({ start, end, tag: `{{{${name}}}}` });
  } else if (write !== undefined) {
    original.holes.push({ start, end, tag: `{{${name}}}` });
  } else {
    keepPlace(original, name, start, end);
  }
}

/** Replaces a place by a raw tag, and keeps what is written there under `name` in a part of its own. */
export function keepPlace(original: Original, name: string, start: number, end: number): void {
  original.holes.push({ start, end, tag: partTag(original, name, original.text.slice(start, end)) });
}

/** Keeps places that do not overlap what was replaced before. They are given in ascending order. */
export function keepFree(
  original: Original,
  name: string,
  places: Iterable<readonly [start: number, end: number]>,
): void {
  const isFree = createFreeCheck(original);
  for (const [start, end] of places) {
    if (isFree(start, end)) {
      keepPlace(original, name, start, end);
    }
  }
}

/** Replaces a text wherever else it occurs by a raw tag: of its name, or of a part of its own when `kept`. */
export function hideText(original: Original, name: string, value: string, kept = false): void {
  const { text, holes } = original;
  const isFree = createFreeCheck(original);
  for (let start = text.indexOf(value); start >= 0; ) {
    const end = start + value.length;
    const free = isFree(start, end);
    if (free) {
      holes.push({ start, end, tag: kept ? partTag(original, name, value) : `{{{${name}}}}` });
    }
    start = text.indexOf(value, free ? end : start + 1);
  }
}

/** Gives the template, and the parts that it needs beside the named values. */
export function finishOriginal(original: Original): {
  readonly template: string;
  readonly parts: JsonValue[];
} {
  const { text, holes, parts } = original;
  let template = '';
  let at = 0;
  for (const { start, end, tag } of holes.sort((a, b) => a.start - b.start)) {
    template += literal(original, text.slice(at, start), OPENING_AT_END) + tag;
    at = end;
  }
  template += literal(original, text.slice(at), OPENING);
  return { template, parts };
}

function literal(original: Original, text: string, opening: RegExp): string {
  return text.replace(opening, (braces) => partTag(original, 'braces', braces));
}

function partTag({ tags, parts }: Original, name: string, raw: string): string {
  const key = `${name} ${raw}`;
  const tag = tags.get(key) ?? `{{{${PARTS}.${parts.length}.${name}}}}`;
  if (!tags.has(key)) {
    tags.set(key, tag);
    parts.push(new Map([[name, raw]]));
  }
  return tag;
}

/** Says of places, in ascending order, whether they overlap nothing that is replaced already. */
function createFreeCheck({ text, holes }: Original): (start: number, end: number) => boolean {
  const taken = holes.toSorted((a, b) => a.start - b.start);
  let next = 0;
  return (start, end) => {
    while ((taken[next]?.end ?? text.length + 1) <= start) {
      next++;
    }
    return (taken[next]?.start ?? text.length) >= end;
  };
}
