/** Takes apart what the survey script of the store says of a page of items. */
import { IntegrityError } from '../../crypto/primitives/bytes.ts';
import type { LongLog } from './jobs.ts';

/** All that Redis has of one item. */
export interface SurveyedItem {
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly sad: Uint8Array;
  readonly identity: Uint8Array;
  readonly logLength: number;
  /** Fields of the item's hash. */
  readonly fields: number;
  /** The first entries of the log; an empty one is missing. */
  readonly entries: readonly Uint8Array[];
  readonly hasSeeds: boolean;
  /** Another type of key has the item's name, or the log has no length. */
  readonly isStrange: boolean;
  /** -1 when the time index does not have it. */
  readonly storedAt: number;
  /** ms; -1 never, -2 when there is none. */
  readonly sadExpiresAt: number;
}

/** Eight u32: four lengths, log length, hash fields, log entries, flags; then two f64: stored at, expiry. */
const HEAD_BYTES = 48;
const IS_STRANGE = 1;
const HAS_SEEDS = 2;

interface Cursor {
  readonly blob: Uint8Array;
  readonly view: DataView;
  at: number;
}

function take(cursor: Cursor, length: number): Uint8Array {
  const { blob, at } = cursor;
  if (at + length > blob.length) {
    throw new IntegrityError('survey');
  }
  cursor.at += length;
  return blob.subarray(at, at + length);
}

function takeU32(cursor: Cursor): number {
  const { at } = cursor;
  take(cursor, 4);
  return cursor.view.getUint32(at);
}

function readItem(cursor: Cursor): SurveyedItem {
  const { view, at: head } = cursor;
  take(cursor, HEAD_BYTES);
  const word = (index: number): number => view.getUint32(head + 4 * index);
  const flags = word(7);
  return {
    item: take(cursor, word(0)),
    meta: take(cursor, word(1)),
    sad: take(cursor, word(2)),
    identity: take(cursor, word(3)),
    logLength: word(4),
    fields: word(5),
    entries: Array.from({ length: word(6) }, () => take(cursor, takeU32(cursor))),
    hasSeeds: (flags & HAS_SEEDS) !== 0,
    isStrange: (flags & IS_STRANGE) !== 0,
    storedAt: view.getFloat64(head + 32),
    sadExpiresAt: view.getFloat64(head + 40),
  };
}

/** The items of a survey, in its order. Throws an `IntegrityError` for one that is cut. */
export function readSurvey(blob: Uint8Array, items: number): SurveyedItem[] {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const cursor = { blob, view, at: 0 };
  return Array.from({ length: items }, () => readItem(cursor));
}

/** The logs of a page that go on behind it. */
export function longLogs(survey: readonly SurveyedItem[]): LongLog[] {
  return survey.flatMap(({ entries, logLength }, item) =>
    logLength > entries.length ? [{ item, first: entries.length + 1, length: logLength }] : [],
  );
}
