/**
 * Paths that name members, such as `items[*].id`, and what they show of a JSON value. Steps belong to no format: another
 * one reads the same steps and walks its own values.
 */
import { JsonNumber, type JsonValue, parseJson } from './json.ts';

/** `*`: a member of any name. */
const ANY_MEMBER: unique symbol = Symbol('*');
/** `[*]`: any item of a list. */
const ANY_ITEM: unique symbol = Symbol('[*]');

/** A text is the name of a member, a number the index of an item. */
type NamedStep = string | number | typeof ANY_MEMBER | typeof ANY_ITEM;

/** A parsed path, never empty. */
export type NamedPath = readonly NamedStep[];

/** Prepared paths, as a tree: each is a way from the root to a node that is an end. */
export interface NamedPaths {
  end: boolean;
  readonly next: Map<NamedStep, NamedPaths>;
}

/** The maximum number of paths that are used together. */
export const NAMED_PATHS_MAX = 64;

const STEPS_MAX = 16;
const CHARACTERS_MAX = 255;

/** `[*]`, `[0]`, `["name"]` or a plain name; indexes have at most nine digits. */
const TOKEN = /\[(?:(\*|0|[1-9]\d{0,8})|("(?:[^"\\]|\\.)*"))\]|([^.[\]]+)/y;

const encoder = new TextEncoder();

/** The text that a JSON string literal stands for; undefined if it is none. */
function readLiteral(literal: string): string | undefined {
  // The encoder would replace a lone surrogate, and the path would name another member.
  if (!literal.isWellFormed()) {
    return undefined;
  }
  try {
    const name = parseJson(encoder.encode(literal));
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Parses a path: steps joined by dots, each a name or `*`, then any number of `[n]` or `[*]`. A step `["a.b"]` holds a
 * JSON string, and the dot before it may be left out. A path may begin with `[n]` or `[*]`. Undefined if the text is no
 * path, has more than 255 characters, or more than 16 steps (indexes count with the step before them).
 */
export function parseNamedPath(text: string): NamedPath | undefined {
  if (text === '' || text.length > CHARACTERS_MAX) {
    return undefined;
  }
  const path: NamedStep[] = [];
  let steps = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    const dotted = at > 0 && text[at] === '.';
    TOKEN.lastIndex = dotted ? at + 1 : at;
    const [, index, literal, plain] = TOKEN.exec(text) ?? [];
    if (index !== undefined && !dotted) {
      path.push(index === '*' ? ANY_ITEM : Number(index));
      steps += at === 0 ? 1 : 0;
      continue;
    }
    const name = literal === undefined ? plain : readLiteral(literal);
    // A plain name needs its dot; an index has none; an empty step matches nothing.
    if (name === undefined || (plain !== undefined && !dotted && at > 0)) {
      return undefined;
    }
    path.push(plain === '*' ? ANY_MEMBER : name);
    steps++;
  }
  return steps > STEPS_MAX ? undefined : path;
}

function createNode(): NamedPaths {
  return { end: false, next: new Map() };
}

/**
 * Prepares paths that {@link parseNamedPath} accepts. Any other text, and paths after the first
 * {@link NAMED_PATHS_MAX}, name nothing: a mistake shows less, never more.
 */
export function prepareNamed(paths: readonly string[]): NamedPaths {
  const root = createNode();
  for (const text of paths.slice(0, NAMED_PATHS_MAX)) {
    const path = parseNamedPath(text);
    let node = root;
    for (const step of path ?? []) {
      let next = node.next.get(step);
      if (next === undefined) {
        next = createNode();
        node.next.set(step, next);
      }
      node = next;
    }
    node.end ||= path !== undefined;
  }
  return root;
}

/** All nodes that the way to a value leads to, as one. A tree has at most {@link NAMED_PATHS_MAX} at one level. */
interface Place {
  readonly nodes: readonly NamedPaths[];
  /** Whether a path ends here. */
  readonly end: boolean;
  /** The places after each step of the nodes; undefined where nothing has needed it yet. */
  readonly next: Map<NamedStep, Place | undefined>;
}

function createPlace(nodes: readonly NamedPaths[]): Place {
  const next = new Map<NamedStep, Place | undefined>();
  for (const node of nodes) {
    for (const step of node.next.keys()) {
      next.set(step, undefined);
    }
  }
  return { nodes, end: nodes.some(({ end }) => end), next };
}

/** The place after a step; undefined if no path goes there. Members that no path names by name share one place. */
function follow(
  place: Place,
  step: string | number,
  any: typeof ANY_MEMBER | typeof ANY_ITEM,
): Place | undefined {
  const key = place.next.has(step) ? step : any;
  const known = place.next.get(key);
  if (known !== undefined || !place.next.has(key)) {
    return known;
  }
  const nodes: NamedPaths[] = [];
  for (const node of place.nodes) {
    const named = key === any ? undefined : node.next.get(key);
    const other = node.next.get(any);
    if (named !== undefined) {
      nodes.push(named);
    }
    if (other !== undefined) {
      nodes.push(other);
    }
  }
  const created = createPlace(nodes);
  place.next.set(key, created);
  return created;
}

function pick(value: JsonValue, place: Place): JsonValue | undefined {
  if (value === null || typeof value !== 'object' || value instanceof JsonNumber) {
    return place.end ? value : undefined;
  }
  if (place.next.size === 0) {
    return undefined;
  }
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const [index, item] of value.entries()) {
      const next = follow(place, index, ANY_ITEM);
      const shown = next && pick(item, next);
      if (shown !== undefined) {
        items.push(shown);
      }
    }
    return items.length === 0 ? undefined : items;
  }
  const members = new Map<string, JsonValue>();
  for (const [name, member] of value) {
    const next = follow(place, name, ANY_MEMBER);
    const shown = next && pick(member, next);
    if (shown !== undefined) {
      members.set(name, shown);
    }
  }
  return members.size === 0 ? undefined : members;
}

/**
 * What the paths show of a value: the texts, numbers, truth values and nulls that a path ends at, in the objects and
 * lists around them. All else is left out; undefined if nothing is shown. Visits each value at most once, whatever the
 * paths are.
 */
export function pickNamed(value: JsonValue, paths: NamedPaths): JsonValue | undefined {
  return pick(value, createPlace([paths]));
}
