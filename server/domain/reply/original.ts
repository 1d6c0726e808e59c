import type { JsonValue } from '../json/json.ts';
import type { Leaf } from './leaves.ts';

/** A range of the text that is replaced by a tag. */
interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly tag: string;
}

/** Builds a template from a text, in which some ranges are replaced by tags. */
export interface Original {
  /** Replaces a value by the tag of its name, in the form that restores exactly what is written there. */
  readonly tag: (name: string, leaf: Pick<Leaf, 'value' | 'start' | 'end'> & Partial<Leaf>) => void;
  /** Replaces a range by a raw tag; its text is kept under `name` in a separate part. */
  readonly keep: (name: string, start: number, end: number) => void;
  /** Replaces all other occurrences of a text by a raw tag: of its name, or of a separate part if `kept`. */
  readonly hide: (name: string, value: string, kept?: boolean) => void;
  /** Like `keep`, for ranges in ascending order; skips ranges that overlap a replacement. */
  readonly keepFree: (name: string, ranges: Iterable<readonly [start: number, end: number]>) => void;
  /** The template, and the parts that it needs besides the named values. */
  readonly finish: () => { readonly template: string; readonly parts: JsonValue[] };
}

interface State {
  readonly text: string;
  readonly replacements: Replacement[];
  readonly parts: JsonValue[];
  /** Tags of parts, by name and text. */
  readonly tags: Map<string, string>;
}

const PARTS = 'original_parts';
/** Braces that would start a tag: two or more, or any before a tag. */
const OPENING = /\{{2,}/g;
const OPENING_AT_END = /\{{2,}|\{$/g;

/** The tag of a part with this text; equal parts are shared. */
function partTag({ parts, tags }: State, name: string, raw: string): string {
  const key = `${name} ${raw}`;
  const tag = tags.get(key) ?? `{{{${PARTS}.${parts.length}.${name}}}}`;
  if (!tags.has(key)) {
    tags.set(key, tag);
    parts.push(new Map([[name, raw]]));
  }
  return tag;
}

function keep(state: State, name: string, start: number, end: number): void {
  state.replacements.push({ start, end, tag: partTag(state, name, state.text.slice(start, end)) });
}

function replaceLeaf(state: State, name: string, leaf: Parameters<Original['tag']>[1]): void {
  const { value, start, end, write } = leaf;
  const raw = state.text.slice(start, end);
  const isVerbatim = value === raw && write?.(value) !== raw;
  if (isVerbatim) {
    state.replacements.push({ start, end, tag: `{{{${name}}}}` });
  } else if (write !== undefined) {
    state.replacements.push({ start, end, tag: `{{${name}}}` });
  } else {
    keep(state, name, start, end);
  }
}

/** Returns a function that says whether a range is free of replacements; its ranges must be in ascending order. */
function createFreeCheck({ text, replacements }: State): (start: number, end: number) => boolean {
  const taken = replacements.toSorted((a, b) => a.start - b.start);
  let next = 0;
  return (start, end) => {
    while ((taken[next]?.end ?? text.length + 1) <= start) {
      next++;
    }
    return (taken[next]?.start ?? text.length) >= end;
  };
}

function hide(state: State, name: string, value: string, kept: boolean): void {
  const isFree = createFreeCheck(state);
  for (let start = state.text.indexOf(value); start >= 0; ) {
    const end = start + value.length;
    const free = isFree(start, end);
    if (free) {
      const tag = kept ? partTag(state, name, value) : `{{{${name}}}}`;
      state.replacements.push({ start, end, tag });
    }
    start = state.text.indexOf(value, free ? end : start + 1);
  }
}

function finish(state: State): ReturnType<Original['finish']> {
  const literal = (start: number, end: number, beforeTag: boolean): string =>
    state.text
      .slice(start, end)
      .replace(beforeTag ? OPENING_AT_END : OPENING, (braces) => partTag(state, 'braces', braces));
  let template = '';
  let at = 0;
  for (const { start, end, tag } of state.replacements.sort((a, b) => a.start - b.start)) {
    template += literal(at, start, true) + tag;
    at = end;
  }
  template += literal(at, state.text.length, false);
  return { template, parts: state.parts };
}

/** Starts with a text that is well-formed Unicode. */
export function createOriginal(text: string): Original {
  const state: State = { text, replacements: [], parts: [], tags: new Map() };
  return {
    tag: (name, leaf) => replaceLeaf(state, name, leaf),
    keep: (name, start, end) => keep(state, name, start, end),
    hide: (name, value, kept = false) => hide(state, name, value, kept),
    keepFree: (name, ranges) => {
      const isFree = createFreeCheck(state);
      for (const [start, end] of ranges) {
        if (isFree(start, end)) {
          keep(state, name, start, end);
        }
      }
    },
    finish: () => finish(state),
  };
}
