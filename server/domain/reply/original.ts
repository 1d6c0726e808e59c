import type { JsonValue } from '../json/json.ts';
import type { Leaf } from './leaves.ts';

/** A place in a text with the tag that stands for it. */
interface Hole {
  readonly start: number;
  readonly end: number;
  readonly tag: string;
}

/** The making of a template out of a text in which some places become tags. */
export interface Original {
  /** Replaces a value by the tag of its name: by a raw one where only that gives back what is written there. */
  readonly tag: (name: string, leaf: Pick<Leaf, 'value' | 'start' | 'end'> & Partial<Leaf>) => void;
  /** Replaces a place by a raw tag, with what is written there kept under `name` in a part of its own. */
  readonly keep: (name: string, start: number, end: number) => void;
  /** Replaces a text wherever else it stands by a raw tag: of its name, or with a part of its own when `kept`. */
  readonly hide: (name: string, value: string, kept?: boolean) => void;
  /** As `keep`, for places in their order, where nothing of one was replaced before. */
  readonly keepFree: (name: string, places: Iterable<readonly [start: number, end: number]>) => void;
  /** The template, and the parts that it needs beside the named values. */
  readonly finish: () => { readonly template: string; readonly parts: JsonValue[] };
}

const PARTS = 'original_parts';
/** Braces that would open a tag: two or more, or any before a tag. */
const OPENING = /\{{2,}/g;
const OPENING_AT_END = /\{{2,}|\{$/g;

/** Begins with a text that is well-formed Unicode. */
export function createOriginal(text: string): Original {
  const holes: Hole[] = [];
  const parts: JsonValue[] = [];
  const tags = new Map<string, string>();

  const partTag = (name: string, raw: string): string => {
    const key = `${name} ${raw}`;
    const tag = tags.get(key) ?? `{{{${PARTS}.${parts.length}.${name}}}}`;
    if (!tags.has(key)) {
      tags.set(key, tag);
      parts.push(new Map([[name, raw]]));
    }
    return tag;
  };
  const keep = (name: string, start: number, end: number): void => {
    holes.push({ start, end, tag: partTag(name, text.slice(start, end)) });
  };
  const tag: Original['tag'] = (name, { value, start, end, write }) => {
    const raw = text.slice(start, end);
    const isVerbatim = value === raw && write?.(value) !== raw;
    if (isVerbatim) {
      holes.push({ start, end, tag: `{{{${name}}}}` });
    } else if (write !== undefined) {
      holes.push({ start, end, tag: `{{${name}}}` });
    } else {
      keep(name, start, end);
    }
  };
  const hide: Original['hide'] = (name, value, kept = false) => {
    const taken = holes.toSorted((a, b) => a.start - b.start);
    let next = 0;
    for (let at = text.indexOf(value); at >= 0; ) {
      while ((taken[next]?.end ?? text.length + 1) <= at) {
        next++;
      }
      const free = (taken[next]?.start ?? text.length) >= at + value.length;
      if (free) {
        holes.push({
          start: at,
          end: at + value.length,
          tag: kept ? partTag(name, value) : `{{{${name}}}}`,
        });
      }
      at = text.indexOf(value, free ? at + value.length : at + 1);
    }
  };
  const literal = (start: number, end: number, beforeTag: boolean): string =>
    text
      .slice(start, end)
      .replace(beforeTag ? OPENING_AT_END : OPENING, (braces) => partTag('braces', braces));
  const finish: Original['finish'] = () => {
    let template = '';
    let at = 0;
    for (const hole of holes.sort((a, b) => a.start - b.start)) {
      template += literal(at, hole.start, true) + hole.tag;
      at = hole.end;
    }
    template += literal(at, text.length, false);
    return { template, parts };
  };
  const keepFree: Original['keepFree'] = (name, places) => {
    const taken = holes.toSorted((a, b) => a.start - b.start);
    let next = 0;
    for (const [start, end] of places) {
      while ((taken[next]?.end ?? text.length + 1) <= start) {
        next++;
      }
      if ((taken[next]?.start ?? text.length) >= end) {
        keep(name, start, end);
      }
    }
  };
  return { tag, keep, hide, keepFree, finish };
}
