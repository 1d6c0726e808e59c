import { readBytes, readU32 } from '../../crypto/primitives/bytes.ts';
import type { LongLog } from './jobs.ts';

/** All data of one item in Redis, as the survey script of the store returns it. */
export interface SurveyedItem {
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly sad: Uint8Array;
  readonly identity: Uint8Array;
  readonly logLength: number;
  /** Number of fields of the item's hash. */
  readonly fields: number;
  /** The first entries of the log; an empty one is missing. */
  readonly entries: readonly Uint8Array[];
  readonly hasSeeds: boolean;
  /** The length of the log is recorded. */
  readonly isRecorded: boolean;
  /** It is in the metadata index. */
  readonly hasDigests: boolean;
  /** Another type of key has the item's name, or the log has no length. */
  readonly isUnknown: boolean;
  /** -1 when the time index does not have it. */
  readonly storedAt: number;
  /** ms; -1 never, -2 when there is none. */
  readonly sadExpiresAt: number;
}

/** Eight u32: four lengths, log length, hash fields, log entries, flags; then two f64: stored at, expiry. */
const HEAD_BYTES = 48;
const IS_UNKNOWN = 1;
const HAS_SEEDS = 2;
const IS_RECORDED = 4;
const HAS_DIGESTS = 8;

/** The item at `head`, and the offset of the next one. */
function readItem(blob: Uint8Array, head: number): { readonly item: SurveyedItem; readonly end: number } {
  const fixed = readBytes(blob, head, HEAD_BYTES);
  const view = new DataView(fixed.buffer, fixed.byteOffset, HEAD_BYTES);
  let end = head + HEAD_BYTES;
  const take = (length: number): Uint8Array => {
    const part = readBytes(blob, end, length);
    end += length;
    return part;
  };
  const word = (index: number): number => view.getUint32(4 * index);
  const flags = word(7);
  const item = {
    item: take(word(0)),
    meta: take(word(1)),
    sad: take(word(2)),
    identity: take(word(3)),
    logLength: word(4),
    fields: word(5),
    entries: Array.from({ length: word(6) }, () => take(readU32(take(4), 0))),
    hasSeeds: (flags & HAS_SEEDS) !== 0,
    isRecorded: (flags & IS_RECORDED) !== 0,
    hasDigests: (flags & HAS_DIGESTS) !== 0,
    isUnknown: (flags & IS_UNKNOWN) !== 0,
    storedAt: view.getFloat64(32),
    sadExpiresAt: view.getFloat64(40),
  };
  return { item, end };
}

/** The items of a survey, in its order. Throws an `IntegrityError` for a truncated one. */
export function readSurvey(blob: Uint8Array, items: number): SurveyedItem[] {
  let at = 0;
  return Array.from({ length: items }, () => {
    const { item, end } = readItem(blob, at);
    at = end;
    return item;
  });
}

/** The logs of a page that are longer than their part in it. */
export function longLogs(survey: readonly SurveyedItem[]): LongLog[] {
  return survey.flatMap(({ entries, logLength }, item) =>
    logLength > entries.length ? [{ item, first: entries.length + 1, length: logLength }] : [],
  );
}

/** Counts of records by kind and by the ring key that they are sealed under. */
export type MutableKeyCounts = Record<string, Record<string, number>>;

/** Counts one record of a kind; `keyId` undefined: under no key of the ring. */
export function countByKey(counts: MutableKeyCounts, kind: string, keyId: string | undefined): void {
  counts[kind] ??= {};
  const ofKind = counts[kind];
  const id = keyId ?? '?';
  ofKind[id] = (ofKind[id] ?? 0) + 1;
}
