/**
 * How a log entry stays what it is when the master key is changed. Entries name those before them by their last 16
 * bytes, which are at first the seal's tag. An entry that is sealed again gets another tag, so it carries the first one
 * behind it, as its name, bound to the seal: `record of type 21 | name 16`. Each entry is re-encrypted separately, and those
 * that name it, among them one that is being written just now, stay right.
 */

import type { ItemContext } from '../item/meta.ts';
import { concat, IntegrityError, TYPE } from '../primitives/bytes.ts';
import { TAG_BYTES } from '../primitives/symmetric.ts';
import type { ServiceSealer } from '../record/service-record.ts';

const TYPE_AT = 1;

/** A renewed entry taken apart; nothing of it is proven until the record opens. */
interface Renewed {
  readonly record: Uint8Array;
  readonly name: Uint8Array;
}

/** The service record inside a renewed entry, and its name; undefined for an entry that never was renewed. */
function splitRenewed(entry: Uint8Array): Renewed | undefined {
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

/** The place of a renewed entry: its name is bound to the seal, so that no other can be put behind the record. */
function pathOf({ kid, token }: ItemContext, name: Uint8Array): readonly string[] {
  return [kid, token, name.toHex()];
}

/** The plaintext of a stored log entry, re-encrypted or not. Rejects damage and any other place with `IntegrityError`. */
export function openLogRecord(sealer: ServiceSealer, ids: ItemContext, entry: Uint8Array): Uint8Array {
  const renewed = splitRenewed(entry);
  return renewed
    ? sealer.open('audit', ids.aid, 'log renewed', pathOf(ids, renewed.name), renewed.record)
    : sealer.open('audit', ids.aid, 'log', [ids.kid, ids.token], entry);
}

/** Id of the ring key that a stored log entry is sealed under; undefined when it is none of this ring. */
export function writerOfLog(sealer: ServiceSealer, entry: Uint8Array): string | undefined {
  try {
    return sealer.writerOf(splitRenewed(entry)?.record ?? entry);
  } catch {
    return undefined;
  }
}

/** The entry sealed again under the write key, with the same name and content. Errors as `openLogRecord`. */
export function renewLogRecord(sealer: ServiceSealer, ids: ItemContext, entry: Uint8Array): Uint8Array {
  const name = entry.slice(-TAG_BYTES);
  const plain = openLogRecord(sealer, ids, entry);
  const record = sealer.seal('audit', ids.aid, 'log renewed', pathOf(ids, name), plain);
  record[TYPE_AT] = TYPE.renewedLog;
  return concat([record, name]);
}
