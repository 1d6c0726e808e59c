import type { JsonValue } from './json.ts';

/** One step of a dotted path; `rest` is the text from this step to the end of the path. */
export interface PathStep {
  readonly step: string;
  readonly rest: string;
  readonly next: PathStep | undefined;
}

/** A dotted path into a JSON value; `undefined` is the value as a whole (`*`). */
export type Path = PathStep | undefined;

/** The path of the complete object. */
export const WHOLE = '*';

const INDEX = /^(?:0|[1-9]\d{0,8})$/;

/**
 * Parses a dotted path such as `card.number` or `cards.0.number`. Every text is a path: an empty step is the member with
 * the empty name, and `*` is an ordinary name.
 */
export function parseSteps(text: string): PathStep {
  let path: Path;
  for (let end = text.length; ; ) {
    // lastIndexOf treats a negative start as 0, which would find a leading dot forever.
    const dot = end === 0 ? -1 : text.lastIndexOf('.', end - 1);
    path = { step: text.slice(dot + 1, end), rest: text.slice(dot + 1), next: path };
    if (dot < 0) {
      return path;
    }
    end = dot;
  }
}

/** Like {@link parseSteps}, but `*` alone is the whole value. */
export function parsePath(text: string): Path {
  return text === WHOLE ? undefined : parseSteps(text);
}

export function countSteps(text: string): number {
  return text.split('.').length;
}

/** The array index that a step names; undefined if it is no index or out of range. */
export function indexIn(items: readonly JsonValue[], step: string): number | undefined {
  const index = INDEX.test(step) ? Number(step) : items.length;
  return index < items.length ? index : undefined;
}

/**
 * The value at a path, undefined if there is none. A member whose name is the complete rest of the path, including dots,
 * takes precedence over nested objects.
 */
export function readPath(value: JsonValue, path: Path): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (let step = path; step !== undefined && at !== undefined; step = step.next) {
    if (at instanceof Map) {
      if (step.next !== undefined && at.has(step.rest)) {
        return at.get(step.rest);
      }
      at = at.get(step.step);
    } else if (Array.isArray(at)) {
      const index = indexIn(at, step.step);
      at = index === undefined ? undefined : at[index];
    } else {
      return undefined;
    }
  }
  return at;
}
