/**
 * Entries of an item's action log: service records, chained. Every entry names how many entries its writer
 * had seen and the keyed tag of the newest of them, so that an edited, removed or reordered entry shows in
 * those written after it. Two writers at the same time may name the same predecessor.
 */
import type { ItemContext } from '../item/meta.ts';
import { equalBytes, IntegrityError } from '../primitives/bytes.ts';
import { TAG_BYTES } from '../primitives/symmetric.ts';
import type { ServiceSealer } from '../record/service-record.ts';
import { type ActionLogEntry, decodeLogEntry, encodeLogEntry, type ReadLogEntry } from './entry-content.ts';
import { openLogRecord } from './seal.ts';

/** What stands before the first entry. */
const NO_TAG = new Uint8Array(TAG_BYTES);

/**
 * The tag that the next writer names after having seen `entry` as the newest: its last 16 bytes, which stay the same
 * when it is sealed again.
 */
export function tagOf(entry: Uint8Array): Uint8Array {
  return entry.subarray(-TAG_BYTES);
}

/** Seals one entry, cut as `encodeLogEntry` does. */
export function sealLogEntry(sealer: ServiceSealer, ids: ItemContext, entry: ActionLogEntry): Uint8Array {
  return sealer.seal('audit', ids.aid, 'log', [ids.kid, ids.token], encodeLogEntry(entry));
}

/** Opens one entry. Rejects damage and any other item's with `IntegrityError`. */
export function openLogEntry(sealer: ServiceSealer, ids: ItemContext, entry: Uint8Array): ReadLogEntry {
  return decodeLogEntry(openLogRecord(sealer, ids, entry));
}

/** A part of a log, oldest first, and the tags of all entries that stand before it, laid end to end. */
export interface LogPart {
  readonly before: Uint8Array;
  readonly entries: readonly Uint8Array[];
}

/** The tag of entry number `position`, counted from 1, which may stand before the part. */
function tagAt({ before, entries }: LogPart, position: number): Uint8Array {
  const at = position * TAG_BYTES;
  const entry = entries[position - 1 - before.length / TAG_BYTES];
  return at <= before.length ? before.subarray(at - TAG_BYTES, at) : tagOf(entry ?? NO_TAG);
}

/** Whether an entry stands where it was written; a damaged one does not. */
function isInPlace(
  sealer: ServiceSealer,
  ids: ItemContext,
  part: LogPart,
  entry: Uint8Array,
  position: number,
): boolean {
  try {
    const { seenLength, seenTag } = openLogEntry(sealer, ids, entry);
    const named = seenLength === 0 ? NO_TAG : tagAt(part, seenLength);
    return seenLength < position && equalBytes(seenTag, named);
  } catch (error) {
    if (error instanceof IntegrityError) {
      return false;
    }
    throw error;
  }
}

/**
 * Checks a part of a log: each entry opens, saw fewer entries than stand before it, and names the tag of the newest
 * that it saw. Returns the first position (from 1, in the whole log) where that fails. Entries that were cut off at the
 * end cannot be seen from the rest.
 */
export function verifyLogPart(sealer: ServiceSealer, ids: ItemContext, part: LogPart): number | undefined {
  const first = part.before.length / TAG_BYTES + 1;
  const wrong = part.entries.findIndex((entry, i) => !isInPlace(sealer, ids, part, entry, first + i));
  return wrong < 0 ? undefined : first + wrong;
}
