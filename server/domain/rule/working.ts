import type { JsonObject, JsonValue } from '../json/json.ts';
import { indexIn, type Path, type PathStep, readPath } from '../json/path.ts';
import { jsonBytes, jsonTextBytes, overLimit, RULE_LIMITS } from './budget.ts';

/** The object that the operations of one item change, with its size. */
export interface WorkingObject {
  /** The value at a path. It belongs to the working object: copy it before it is used elsewhere. */
  readonly read: (path: Path) => JsonValue | undefined;
  /** Sets a value at a path; the value must not be used elsewhere. */
  readonly write: (path: Path, value: JsonValue) => void;
  /** The current object. */
  readonly current: () => JsonObject;
}

/** The position of a path in an object, and its steps that do not exist yet. */
interface Place {
  readonly container: JsonObject | JsonValue[];
  readonly key: string;
  readonly old: JsonValue | undefined;
  /** The number of levels down to and including the container. */
  readonly levels: number;
  readonly missing: Path;
}

/** A copy that shares no object and no array with the original. */
export function copyJson<Value extends JsonValue>(value: Value): Value;
export function copyJson(value: JsonValue): JsonValue {
  if (value instanceof Map) {
    const copy: JsonObject = new Map();
    for (const [name, member] of value) {
      copy.set(name, typeof member === 'object' ? copyJson(member) : member);
    }
    return copy;
  }
  return Array.isArray(value) ? value.map((item) => copyJson(item)) : value;
}

/** A member whose name is the rest of the path takes precedence, as in `readPath`. */
function placeInObject(container: JsonObject, step: PathStep, levels: number): Place {
  const literal = step.next !== undefined && container.has(step.rest);
  const key = literal ? step.rest : step.step;
  return { container, key, old: container.get(key), levels, missing: literal ? undefined : step.next };
}

function placeInArray(container: JsonValue[], step: PathStep, levels: number): Place | undefined {
  const index = indexIn(container, step.step);
  return index === undefined
    ? undefined
    : { container, key: step.step, old: container[index], levels, missing: step.next };
}

/**
 * The position of a write. Undefined if the path leads through a scalar or to an index that the array does not have.
 */
function findPlace(root: JsonObject, path: PathStep): Place | undefined {
  let at: JsonValue = root;
  let step = path;
  for (let levels = 1; ; levels++) {
    let place: Place | undefined;
    if (at instanceof Map) {
      place = placeInObject(at, step, levels);
    } else if (Array.isArray(at)) {
      place = placeInArray(at, step, levels);
    }
    if (place?.old === undefined || place.missing === undefined) {
      return place;
    }
    at = place.old;
    step = place.missing;
  }
}

/** The value inside one new object for each step. */
function wrap(value: JsonValue, missing: Path): JsonValue {
  return missing === undefined ? value : new Map([[missing.step, wrap(value, missing.next)]]);
}

function put({ container, key }: Place, value: JsonValue): void {
  if (container instanceof Map) {
    container.set(key, value);
  } else {
    container[Number(key)] = value;
  }
}

/**
 * Creates a working copy of an object, which is not changed. A write replaces the value at the path and creates
 * missing objects. It has no effect if the path leads through a scalar (including null) or to a missing index of an
 * array, and at `*` for a value that is not an object. Throws `rule_limit`, before anything is written, when the
 * object would exceed its size or depth.
 */
export function createWorkingObject(object: JsonObject): WorkingObject {
  let bytes = checkedBytes(jsonBytes(object, RULE_LIMITS.levelsMax));
  let root = copyJson(object);

  const replaceRoot = (value: JsonValue): void => {
    if (value instanceof Map) {
      bytes = checkedBytes(jsonBytes(value, RULE_LIMITS.levelsMax));
      root = value;
    }
  };
  const writeAt = (place: Place, value: JsonValue): void => {
    const added = wrap(value, place.missing);
    let growth = jsonBytes(added, RULE_LIMITS.levelsMax - place.levels);
    if (place.old !== undefined) {
      growth -= jsonBytes(place.old, RULE_LIMITS.levelsMax);
    } else if (place.container instanceof Map) {
      growth += jsonTextBytes(place.key) + (place.container.size === 0 ? 1 : 2);
    }
    bytes = checkedBytes(bytes + growth);
    put(place, added);
  };
  const write = (path: Path, value: JsonValue): void => {
    if (path === undefined) {
      replaceRoot(value);
      return;
    }
    const place = findPlace(root, path);
    if (place !== undefined) {
      writeAt(place, value);
    }
  };
  return { read: (path) => readPath(root, path), write, current: () => root };
}

function checkedBytes(bytes: number): number {
  if (bytes > RULE_LIMITS.bytesMax) {
    throw overLimit();
  }
  return bytes;
}
