import { IntegrityError } from '../crypto/primitives/bytes.ts';
import type { LongLog } from './walk-kinds.ts';

/** All that Redis has of one item, as survey-items-n.lua gives it. */
export interface SurveyedItem {
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly sad: Uint8Array;
  readonly identity: Uint8Array;
  readonly logLength: number;
  /** Fields of the item's hash. */
  readonly fields: number;
  /** The first entries of the log; an empty one is not there. */
  readonly entries: readonly Uint8Array[];
  readonly hasSeeds: boolean;
  /** Another type of key stands there, or the log has no length. */
  readonly isStrange: boolean;
  /** -1 when the time index does not have it. */
  readonly storedAt: number;
  /** ms; -1 never, -2 when there is none. */
  readonly sadExpiresAt: number;
}

const HEAD_BYTES = 48;

/** Takes a blob apart, item after item. What does not fit is a mistake of ours: `IntegrityError`. */
export function readSurvey(blob: Uint8Array, items: number): SurveyedItem[] {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  let at = 0;
  const take = (length: number): Uint8Array => {
    if (at + length > blob.length) {
      throw new IntegrityError('survey');
    }
    at += length;
    return blob.subarray(at - length, at);
  };
  const u32 = (): number => {
    take(4);
    return view.getUint32(at - 4);
  };
  return Array.from({ length: items }, () => {
    const head = at;
    take(HEAD_BYTES);
    const word = (index: number): number => view.getUint32(head + 4 * index);
    const [item, meta, sad, identity] = [0, 1, 2, 3].map((index) => take(word(index)));
    const entries = Array.from({ length: word(6) }, () => take(u32()));
    return {
      item: item ?? blob.subarray(0, 0),
      meta: meta ?? blob.subarray(0, 0),
      sad: sad ?? blob.subarray(0, 0),
      identity: identity ?? blob.subarray(0, 0),
      logLength: word(4),
      fields: word(5),
      entries,
      hasSeeds: (word(7) & 2) !== 0,
      isStrange: (word(7) & 1) !== 0,
      storedAt: view.getFloat64(head + 32),
      sadExpiresAt: view.getFloat64(head + 40),
    };
  });
}

/** The logs of a page that go on behind it. */
export const longLogs = (survey: readonly SurveyedItem[]): LongLog[] =>
  survey.flatMap(({ entries, logLength }, item) =>
    logLength > entries.length ? [{ item, first: entries.length + 1, length: logLength }] : [],
  );
