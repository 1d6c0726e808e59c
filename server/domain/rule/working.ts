import type { JsonObject, JsonValue } from '../json/json.ts';
import { indexIn, type Path, type PathStep, readPath } from '../json/path.ts';
import { jsonBytes, jsonTextBytes, overLimit, RULE_LIMITS } from './budget.ts';

/** The position of a path in an object, and its missing steps. */
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

/** The place of a step in a container, with the precedence of `readPath`; undefined if it has none. */
function placeIn(container: JsonValue, step: PathStep, levels: number): Place | undefined {
  if (container instanceof Map) {
    const literal = step.next !== undefined && container.has(step.rest);
    const key = literal ? step.rest : step.step;
    return { container, key, old: container.get(key), levels, missing: literal ? undefined : step.next };
  }
  const index = Array.isArray(container) ? indexIn(container, step.step) : undefined;
  return Array.isArray(container) && index !== undefined
    ? { container, key: step.step, old: container[index], levels, missing: step.next }
    : undefined;
}

/** The position of a write; undefined if the path leads through a scalar or to a missing index of an array. */
function findPlace(root: JsonObject, path: PathStep): Place | undefined {
  let place = placeIn(root, path, 1);
  while (place?.old !== undefined && place.missing !== undefined) {
    place = placeIn(place.old, place.missing, place.levels + 1);
  }
  return place;
}

/** The value inside one new object for each step. */
function wrap(value: JsonValue, missing: Path): JsonValue {
  return missing === undefined ? value : new Map([[missing.step, wrap(value, missing.next)]]);
}

/**
 * A working copy of an object, with its size. A write replaces the value at the path and creates missing objects. It
 * has no effect if the path leads through a scalar (including null) or to a missing index of an array, and at `*` for
 * a value that is not an object. Throws `rule_limit` before the object would exceed its size or depth.
 */
export class WorkingObject {
  #root: JsonObject;
  #bytes: number;

  constructor(object: JsonObject) {
    this.#bytes = checkedBytes(jsonBytes(object, RULE_LIMITS.levelsMax));
    this.#root = copyJson(object);
  }

  current(): JsonObject {
    return this.#root;
  }

  /** The value at a path. It belongs to the working object: copy it before it is used elsewhere. */
  read(path: Path): JsonValue | undefined {
    return readPath(this.#root, path);
  }

  /** Sets a value at a path; the value must not be used elsewhere. */
  write(path: Path, value: JsonValue): void {
    if (path !== undefined) {
      this.#writeAt(findPlace(this.#root, path), value);
    } else if (value instanceof Map) {
      this.#bytes = checkedBytes(jsonBytes(value, RULE_LIMITS.levelsMax));
      this.#root = value;
    }
  }

  #writeAt(place: Place | undefined, value: JsonValue): void {
    if (place === undefined) {
      return;
    }
    const { container, key, old, levels } = place;
    const added = wrap(value, place.missing);
    let growth = jsonBytes(added, RULE_LIMITS.levelsMax - levels);
    if (old !== undefined) {
      growth -= jsonBytes(old, RULE_LIMITS.levelsMax);
    } else if (container instanceof Map) {
      growth += jsonTextBytes(key) + (container.size === 0 ? 1 : 2);
    }
    this.#bytes = checkedBytes(this.#bytes + growth);
    if (container instanceof Map) {
      container.set(key, added);
    } else {
      container[Number(key)] = added;
    }
  }
}

function checkedBytes(bytes: number): number {
  if (bytes > RULE_LIMITS.bytesMax) {
    throw overLimit();
  }
  return bytes;
}
