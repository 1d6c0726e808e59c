import { JsonWriter } from '../json/bytes.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { isSad } from './sensitive-names.ts';

/**
 * The JSON bytes of an object without its sensitive authentication data, and that data with its positions.
 *
 * `part1` is a list of splices, big-endian: u32 count, then for each splice u32 offset in `part0`, u32 length, and
 * that many bytes of JSON text to insert there. Offsets ascend strictly; no splice is empty.
 */
export interface SplitObject {
  readonly part0: Uint8Array;
  readonly part1?: Uint8Array;
}

interface Split {
  readonly kept: JsonWriter;
  readonly taken: JsonWriter;
  splices: number;
}

const COUNT_BYTES = 4;
const SPLICE_HEADER_BYTES = 8;

const COMMA = 0x2c;
const COLON = 0x3a;

function setUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

function getUint32(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16);
  return (high | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;
}

/** Starts a splice at the current position of `kept`; returns its position in `taken`. */
function openSplice(split: Split): number {
  const { kept, taken } = split;
  if (split.splices === 0) {
    taken.reserve(COUNT_BYTES);
    taken.at += COUNT_BYTES;
  }
  split.splices++;
  const start = taken.at;
  setUint32(taken.reserve(SPLICE_HEADER_BYTES), start, kept.at);
  taken.at += SPLICE_HEADER_BYTES;
  return start;
}

function closeSplice(taken: JsonWriter, start: number): void {
  setUint32(taken.bytes, start + 4, taken.at - start - SPLICE_HEADER_BYTES);
}

/**
 * Writes an object to `kept` and its removed members to `taken`. A run of adjacent removed members is one splice with
 * the commas that it needs: before it if a kept member precedes, otherwise after it if one follows.
 */
function splitObject(split: Split, object: JsonObject): void {
  const { kept, taken } = split;
  kept.byte(0x7b);
  let keptAny = false;
  let splice = -1;
  for (const [name, member] of object) {
    if (isSad(name, member)) {
      const isRun = splice >= 0;
      if (!isRun) {
        splice = openSplice(split);
      }
      if (keptAny || isRun) {
        taken.byte(COMMA);
      }
      taken.member(name, member);
      continue;
    }
    if (splice >= 0) {
      if (!keptAny) {
        taken.byte(COMMA);
      }
      closeSplice(taken, splice);
      splice = -1;
    }
    if (keptAny) {
      kept.byte(COMMA);
    }
    keptAny = true;
    kept.string(name);
    kept.byte(COLON);
    splitValue(split, member);
  }
  if (splice >= 0) {
    closeSplice(taken, splice);
  }
  kept.byte(0x7d);
}

/** Writes a value to `kept`; objects in it are split. */
function splitValue(split: Split, value: JsonValue): void {
  if (value instanceof Map) {
    splitObject(split, value);
  } else if (Array.isArray(value)) {
    splitArray(split, value);
  } else {
    split.kept.value(value);
  }
}

function splitArray(split: Split, items: readonly JsonValue[]): void {
  split.kept.byte(0x5b);
  let isFirst = true;
  for (const item of items) {
    if (!isFirst) {
      split.kept.byte(COMMA);
    }
    isFirst = false;
    splitValue(split, item);
  }
  split.kept.byte(0x5d);
}

/**
 * Separates the sensitive authentication data (PCI DSS 3.3.1) from an object: every such member, at any depth. `part0` is the compact JSON of the rest; `part1` is absent if there is no such data. {@link joinSad} restores
 * the compact JSON of the whole object, byte for byte.
 */
export function splitSad(object: JsonObject): SplitObject {
  const split: Split = { kept: new JsonWriter(), taken: new JsonWriter(), splices: 0 };
  splitObject(split, object);
  const part0 = split.kept.written();
  if (split.splices === 0) {
    return { part0 };
  }
  setUint32(split.taken.bytes, 0, split.splices);
  return { part0, part1: split.taken.written() };
}

function damaged(): never {
  throw new Error('The list of splices is damaged.');
}

/**
 * Joins the parts of {@link splitSad} without parsing the JSON. Throws an Error for splices that are truncated, too
 * long, out of order, or outside `part0`.
 */
export function joinSad(part0: Uint8Array, part1: Uint8Array): Uint8Array {
  const count = part1.length < COUNT_BYTES ? damaged() : getUint32(part1, 0);
  const size = part0.length + part1.length - COUNT_BYTES - SPLICE_HEADER_BYTES * count;
  if (count === 0 || size <= part0.length) {
    damaged();
  }
  const joined = new Uint8Array(size);
  let from = COUNT_BYTES;
  let copied = 0;
  let at = 0;
  for (let left = count; left > 0; left--) {
    const start = from + SPLICE_HEADER_BYTES;
    if (start > part1.length) {
      damaged();
    }
    const offset = getUint32(part1, from);
    const end = start + getUint32(part1, from + 4);
    if (offset <= copied || offset > part0.length || end <= start || end > part1.length) {
      damaged();
    }
    if (at + offset - copied + end - start > size) {
      damaged();
    }
    joined.set(part0.subarray(copied, offset), at);
    at += offset - copied;
    joined.set(part1.subarray(start, end), at);
    at += end - start;
    copied = offset;
    from = end;
  }
  if (from !== part1.length) {
    damaged();
  }
  joined.set(part0.subarray(copied), at);
  return joined;
}
