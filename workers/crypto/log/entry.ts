/**
 * Entries of an item's action log: service records, chained. Every entry names how many entries its writer had seen and the
 * keyed tag of the newest of them, its last 16 bytes, so that an edited, removed or reordered entry shows in those written
 * after it. Two writers at the same time may name the same predecessor.
 *
 * An entry that is sealed again, under another master key, gets another tag. So it carries the first one after it, as its
 * name, bound to the seal: `record of type 21 | name 16`. Each entry is re-encrypted separately, and entries that name it,
 * also one that is just being written, stay right.
 */
import type { ItemContext } from '../item/meta.ts';
import { concat, equalBytes, IntegrityError, openedOrNot, TYPE } from '../primitives/bytes.ts';
import { TAG_BYTES } from '../primitives/symmetric.ts';
import type { ServiceSealer } from '../record/service-record.ts';
import { type ActionLogEntry, decodeLogEntry, encodeLogEntry, type ReadLogEntry } from './entry-content.ts';

const TYPE_AT = 1;

/** The service record inside a re-encrypted entry, and its name, both unproven; undefined for any other entry. */
function splitRenewed(
  entry: Uint8Array,
): { readonly record: Uint8Array; readonly name: Uint8Array } | undefined {
  if (entry[TYPE_AT] !== TYPE.renewedLog) {
    return undefined;
  }
  if (entry.length <= TAG_BYTES) {
    throw new IntegrityError('log entry');
  }
  const record = entry.slice(0, -TAG_BYTES);
  record[TYPE_AT] = TYPE.service;
  return { record, name: entry.subarray(-TAG_BYTES) };
}

/** The place of a re-encrypted entry: its name is bound to the seal, so that no other can follow the record. */
function pathOf({ kid, token }: ItemContext, name: Uint8Array): readonly string[] {
  return [kid, token, name.toHex()];
}

/** The plaintext of a stored log entry, re-encrypted or not. Rejects damage and any other place with `IntegrityError`. */
function openLogRecord(sealer: ServiceSealer, ids: ItemContext, entry: Uint8Array): Uint8Array {
  const renewed = splitRenewed(entry);
  return renewed
    ? sealer.open('audit', ids.aid, 'log renewed', pathOf(ids, renewed.name), renewed.record)
    : sealer.open('audit', ids.aid, 'log', [ids.kid, ids.token], entry);
}

/** Id of the ring key that a stored log entry is sealed under; undefined for a key that is not in the ring. */
export function writerOfLog(sealer: ServiceSealer, entry: Uint8Array): string | undefined {
  try {
    return sealer.writerOf(splitRenewed(entry)?.record ?? entry);
  } catch {
    return undefined;
  }
}

/** Seals an entry again under the write key, with the same name and content. Errors as `openLogEntry`. */
export function renewLogRecord(sealer: ServiceSealer, ids: ItemContext, entry: Uint8Array): Uint8Array {
  const name = entry.slice(-TAG_BYTES);
  const plain = openLogRecord(sealer, ids, entry);
  const record = sealer.seal('audit', ids.aid, 'log renewed', pathOf(ids, name), plain);
  record[TYPE_AT] = TYPE.renewedLog;
  return concat([record, name]);
}

/** The tag before the first entry. */
const NO_TAG = new Uint8Array(TAG_BYTES);

/** The tag of an entry, which stays the same when it is sealed again. */
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

/** A part of a log, oldest first, and the tags of all entries before it, concatenated. */
interface LogPart {
  readonly before: Uint8Array;
  readonly entries: readonly Uint8Array[];
}

/** The tag of entry number `position`, counted from 1, which may be before the part. */
function tagAt({ before, entries }: LogPart, position: number): Uint8Array {
  const at = position * TAG_BYTES;
  const entry = entries[position - 1 - before.length / TAG_BYTES];
  return at <= before.length ? before.subarray(at - TAG_BYTES, at) : tagOf(entry ?? NO_TAG);
}

/** Checks whether an entry is where it was written; a damaged one is not. */
function isInPlace(
  sealer: ServiceSealer,
  ids: ItemContext,
  part: LogPart,
  entry: Uint8Array,
  position: number,
): boolean {
  const opened = openedOrNot(() => openLogEntry(sealer, ids, entry));
  if (opened === undefined) {
    return false;
  }
  const { seenLength, seenTag } = opened;
  const named = seenLength === 0 ? NO_TAG : tagAt(part, seenLength);
  return seenLength < position && equalBytes(seenTag, named);
}

/**
 * Checks a part of a log: each entry opens, saw fewer entries than precede it, and names the tag of the newest that it saw.
 * Returns the first position (from 1, in the whole log) where that fails. Entries truncated at the end cannot be detected.
 */
export function verifyLogPart(sealer: ServiceSealer, ids: ItemContext, part: LogPart): number | undefined {
  const first = part.before.length / TAG_BYTES + 1;
  const wrong = part.entries.findIndex((entry, i) => !isInPlace(sealer, ids, part, entry, first + i));
  return wrong < 0 ? undefined : first + wrong;
}
