/** Paths such as `items[*].id`, and the part of a JSON value that they show. */
import { JsonNumber, type JsonValue } from './json.ts';

/** `*`: a member of any name. */
const ANY_MEMBER: unique symbol = Symbol('*');
/** `[*]`: any item of a list. */
const ANY_ITEM: unique symbol = Symbol('[*]');

/** A text is the name of a member, a number the index of an item. */
type NamedStep = string | number | typeof ANY_MEMBER | typeof ANY_ITEM;

/** A parsed path, never empty. */
export type NamedPath = readonly NamedStep[];

export const NAMED_PATHS_MAX = 64;

const STEPS_MAX = 16;
const CHARACTERS_MAX = 255;

/** `[*]`, `[0]`, `["name"]` or a plain name; indexes have at most nine digits. */
const TOKEN = /\[(?:(\*|0|[1-9]\d{0,8})|("(?:[^"\\]|\\.)*"))\]|([^.[\]]+)/y;

/** The text of a JSON string literal; undefined if it is invalid or has a lone surrogate that is not escaped. */
function readLiteral(literal: string): string | undefined {
  try {
    const name: unknown = literal.isWellFormed() ? JSON.parse(literal) : undefined;
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Parses a path: steps joined by dots, each a name or `*`, followed by any number of `[n]` or `[*]`. A step `["a.b"]`
 * holds a JSON string; the dot before it may be omitted. A path may begin with `[n]` or `[*]`. Undefined for other
 * texts, over 255 characters, and over 16 steps (indexes count with the step before them).
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

/**
 * Prepares paths that {@link parseNamedPath} accepts. Other texts, and paths after the first {@link NAMED_PATHS_MAX},
 * are ignored: a mistake shows less, never more.
 */
export function prepareNamed(paths: readonly string[]): readonly NamedPath[] {
  return paths
    .slice(0, NAMED_PATHS_MAX)
    .map(parseNamedPath)
    .filter((path) => path !== undefined);
}

/** How the steps of a path lead from place to place in a tree. */
export interface Steps<Place> {
  /** The members of a name; of any name without one. */
  readonly members: (place: Place, name: string | undefined) => Iterable<Place>;
  /** The item at an index; all items without one. */
  readonly items: (place: Place, index: number | undefined) => Iterable<Place>;
}

/**
 * Visits the places at a path in the order of the text, until a visit returns true; returns that. `trail` begins with the
 * places after each of the first steps, and is that of each visited place, which must copy what it keeps.
 */
export function visitPlaces<Place>(
  trail: Place[],
  path: NamedPath,
  steps: Steps<Place>,
  visit: (place: Place, trail: readonly Place[]) => boolean,
): boolean {
  const place = trail[trail.length - 1];
  if (place === undefined) {
    return false;
  }
  const step = path[trail.length - 1];
  if (step === undefined) {
    return visit(place, trail);
  }
  const isItem = typeof step === 'number' || step === ANY_ITEM;
  const places = isItem
    ? steps.items(place, step === ANY_ITEM ? undefined : step)
    : steps.members(place, step === ANY_MEMBER ? undefined : step);
  for (const next of places) {
    trail.push(next);
    const isDone = visitPlaces(trail, path, steps, visit);
    trail.pop();
    if (isDone) {
      return true;
    }
  }
  return false;
}

/** The first place at a path, in the order of the text; undefined if there is none. */
export function firstPlace<Place>(place: Place, path: NamedPath, steps: Steps<Place>): Place | undefined {
  let first: Place | undefined;
  visitPlaces([place], path, steps, (found) => {
    first = found;
    return true;
  });
  return first;
}

/** The number of first steps that two paths share, up to the last `*` or `[*]` among these. */
export function sharedSteps(one: NamedPath, other: NamedPath): number {
  let shared = 0;
  for (const [at, step] of one.entries()) {
    if (step !== other[at]) {
      break;
    }
    if (step === ANY_ITEM || step === ANY_MEMBER) {
      shared = at + 1;
    }
  }
  return shared;
}

/** Tells whether a path leads to the member of these names. */
export function isPathOf(path: NamedPath, names: readonly string[]): boolean {
  return (
    path.length === names.length && names.every((name, at) => path[at] === name || path[at] === ANY_MEMBER)
  );
}

/** The names in a path. */
export function namesIn(path: NamedPath): readonly string[] {
  return path.filter((step) => typeof step === 'string');
}

/** The name at the end of a path, before its last indexes and without the `@` of an attribute; undefined for `*`. */
export function lastName(path: NamedPath): string | undefined {
  const last = path.findLast((step) => typeof step === 'string' || step === ANY_MEMBER);
  return typeof last === 'string' ? last.replace(/^@/, '') : undefined;
}

/** A JSON value, with leaves of one kind. */
type Tree<Leaf> = Leaf | Tree<Leaf>[] | Map<string, Tree<Leaf>>;

/** The steps in the objects and lists of a JSON value. */
export function createTreeSteps<Leaf>(): Steps<Tree<Leaf>> {
  return {
    members(value, name) {
      if (!(value instanceof Map)) {
        return [];
      }
      const member = name === undefined ? undefined : value.get(name);
      return name === undefined ? value.values() : member === undefined ? [] : [member];
    },
    items(value, index) {
      if (!Array.isArray(value)) {
        return [];
      }
      return index === undefined ? value : value.slice(index, index + 1);
    },
  };
}

const JSON_STEPS: Steps<JsonValue> = createTreeSteps();

/** The first value at a path, in the order of the text; undefined if there is none. */
export function firstNamed(value: JsonValue, path: NamedPath): JsonValue | undefined {
  return firstPlace(value, path, JSON_STEPS);
}

/** A place in a value, for all paths that lead to it. */
interface Place {
  readonly paths: readonly NamedPath[];
  /** A path ends here. */
  readonly end: boolean;
  /** The places after each first step; undefined until used. */
  readonly next: Map<NamedStep, Place | undefined>;
}

function createPlace(paths: readonly NamedPath[]): Place {
  const steps = paths.flatMap((path) => path.slice(0, 1));
  return {
    paths,
    end: paths.some(({ length }) => length === 0),
    next: new Map(steps.map((step) => [step, undefined])),
  };
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
  const through = place.paths.filter(([first]) => first === key || first === any);
  const created = createPlace(through.map((path) => path.slice(1)));
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
 * The part of a value that the paths show: texts, numbers, booleans and nulls at the end of a path, in their objects
 * and lists; undefined if nothing is shown. Visits each value at most once.
 */
export function pickNamed(value: JsonValue, paths: readonly NamedPath[]): JsonValue | undefined {
  return pick(value, createPlace(paths));
}
