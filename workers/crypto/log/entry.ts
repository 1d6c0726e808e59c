/**
 * Entries of an item's action log: service records, chained. Every entry names how many entries its writer
 * had seen and the keyed tag of the newest of them, so that an edited, removed or reordered entry shows in
 * those written after it. Two writers at the same time may name the same predecessor.
 *
 * Plaintext: `type 1 | entries seen 4 | tag seen 16 | time in ms 8 | action 1 | source 1 | address form 1 (4, 6,
 * or 0 for text) | address length 1 | address | user agent, at most 255`.
 */
import type { ItemContext } from '../item/meta.ts';
import {
  concat,
  EMPTY,
  equalBytes,
  IntegrityError,
  readBytes,
  readU8,
  readU32,
  readU64,
  textOf,
  writeU32,
  writeU64,
} from '../primitives/bytes.ts';
import { TAG_BYTES } from '../primitives/symmetric.ts';
import type { ServiceSealer } from '../record/service-record.ts';
import { openLogRecord } from './seal.ts';

/** By their numbers in an entry, from 1: new ones go to the end. */
const ACTIONS = ['encrypt', 'decrypt'] as const;
const SOURCES = ['vault', 'capture', 'retrieve', 'proxy', 'form'] as const;

/** Who acts. */
interface Caller {
  readonly ip: string;
  readonly userAgent: string;
}

/** What an entry says. */
export interface ActionLogEntry extends Caller {
  /** Number of entries that the writer knew of. */
  readonly seenLength: number;
  /** The last 16 bytes of entry number `seenLength`, which renewing it keeps; zeros when there is none. */
  readonly seenTag: Uint8Array;
  /** ms since 1970. */
  readonly timeMs: number;
  readonly action: (typeof ACTIONS)[number];
  readonly source: (typeof SOURCES)[number];
}

/** The first byte of the plaintext, and where the fixed members lie behind it. */
const PLAINTEXT_TYPE = 0x01;
const SEEN_AT = 1;
const TAG_AT = 5;
const TIME_AT = TAG_AT + TAG_BYTES;
const ACTION_AT = TIME_AT + 8;
const SOURCE_AT = ACTION_AT + 1;
const FORM_AT = SOURCE_AT + 1;
const IP_BYTES_AT = FORM_AT + 1;
const IP_AT = IP_BYTES_AT + 1;
/** What one byte of length can say. */
const TEXT_BYTES_MAX = 255;
/** What stands before the first entry. */
const NO_TAG = new Uint8Array(TAG_BYTES);

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
/** Address forms: 0 is text, 4 and 6 are the bytes of an address of that version of IP. */
const FORM_TEXT = 0;
const FORM_BYTES: Readonly<Record<number, number>> = { 4: IPV4_BYTES, 6: IPV6_BYTES };
const IPV4 = /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;
const IPV6 = /^[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,8}$/;

const encoder = new TextEncoder();
const cutBuffer = new Uint8Array(TEXT_BYTES_MAX);

/** The first 255 bytes of a text in UTF-8, cut between characters. */
function cutUtf8(text: string): Uint8Array {
  return cutBuffer.slice(0, encoder.encodeInto(text, cutBuffer).written);
}

/** The bytes of an IPv6 address with zeros for what `::` leaves out; of other texts of its letters, any bytes. */
function bytesOfGroups(text: string): Uint8Array {
  const [head = [], tail = []] = text.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: IPV6_BYTES / 2 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/**
 * The 4 or 16 bytes of an address in its usual form (dotted, or RFC 5952 in lower case); undefined for any
 * other text, so that what comes back from `textOfIp` is always exactly what went in.
 */
export function bytesOfIp(text: string): Uint8Array | undefined {
  let bytes: Uint8Array = EMPTY;
  if (IPV4.test(text)) {
    bytes = Uint8Array.from(text.split('.'), Number);
  } else if (IPV6.test(text)) {
    bytes = bytesOfGroups(text);
  }
  const isAddress = bytes.length === IPV4_BYTES || bytes.length === IPV6_BYTES;
  return isAddress && textOfIp(bytes) === text ? bytes : undefined;
}

/** The usual text of 4 or 16 address bytes, IPv6 as in RFC 5952; `IntegrityError` for any other length. */
export function textOfIp(bytes: Uint8Array): string {
  if (bytes.length === IPV4_BYTES) {
    return bytes.join('.');
  }
  if (bytes.length !== IPV6_BYTES) {
    throw new IntegrityError('log entry');
  }
  const groups = bytes.toHex().match(/.{4}/g) ?? [];
  // The URL standard writes the address of a host as the RFC does.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** A plaintext with the address and the user agent of one caller; all before them is still to be written. */
function callerPlaintext({ ip, userAgent }: Caller): Uint8Array {
  const packed = bytesOfIp(ip);
  const address = packed ?? cutUtf8(ip);
  const fixed = new Uint8Array(IP_AT);
  fixed[0] = PLAINTEXT_TYPE;
  fixed[FORM_AT] = packed ? (packed.length === IPV4_BYTES ? 4 : 6) : FORM_TEXT;
  fixed[IP_BYTES_AT] = address.length;
  return concat([fixed, address, cutUtf8(userAgent)]);
}

/** The last caller's plaintext: requests of one caller come in runs, a page of entries has one. */
let caller: Caller = { ip: '', userAgent: '' };
let plaintext = callerPlaintext(caller);

/** The plaintext, which the next call overwrites. A tag of another length than 16 bytes: RangeError. */
function encode(entry: ActionLogEntry): Uint8Array {
  const { ip, userAgent, seenLength, seenTag, timeMs, action, source } = entry;
  if (seenTag.length !== TAG_BYTES) {
    throw new RangeError('a tag has 16 bytes');
  }
  if (ip !== caller.ip || userAgent !== caller.userAgent) {
    plaintext = callerPlaintext(entry);
    caller = { ip, userAgent };
  }
  writeU32(plaintext, SEEN_AT, seenLength);
  plaintext.set(seenTag, TAG_AT);
  writeU64(plaintext, TIME_AT, timeMs);
  plaintext[ACTION_AT] = ACTIONS.indexOf(action) + 1;
  plaintext[SOURCE_AT] = SOURCES.indexOf(source) + 1;
  return plaintext;
}

/** The address of a plaintext, and where the user agent begins. */
function readIp(bytes: Uint8Array): { readonly ip: string; readonly end: number } {
  const form = readU8(bytes, FORM_AT);
  const length = readU8(bytes, IP_BYTES_AT);
  const ip = readBytes(bytes, IP_AT, length);
  if (form !== FORM_TEXT && FORM_BYTES[form] !== length) {
    throw new IntegrityError('log entry');
  }
  return { ip: form === FORM_TEXT ? textOf(ip) : textOfIp(ip), end: IP_AT + length };
}

/** Reads a plaintext. Rejects unknown actions and sources, and texts that are no UTF-8, with `IntegrityError`. */
function decode(bytes: Uint8Array): ActionLogEntry {
  const action = ACTIONS[readU8(bytes, ACTION_AT) - 1];
  const source = SOURCES[readU8(bytes, SOURCE_AT) - 1];
  if (bytes[0] !== PLAINTEXT_TYPE || !action || !source) {
    throw new IntegrityError('log entry');
  }
  const { ip, end } = readIp(bytes);
  return {
    seenLength: readU32(bytes, SEEN_AT),
    seenTag: readBytes(bytes, TAG_AT, TAG_BYTES),
    timeMs: readU64(bytes, TIME_AT),
    action,
    source,
    ip,
    userAgent: textOf(bytes.subarray(end)),
  };
}

/**
 * The tag that the next writer names after having seen `entry` as the newest: its last 16 bytes, which stay the same
 * when it is sealed again.
 */
export function tagOf(entry: Uint8Array): Uint8Array {
  return entry.subarray(-TAG_BYTES);
}

/**
 * Seals one entry. An address that is neither IPv4 nor IPv6 in its usual form is kept as text; texts are
 * cut at 255 bytes of UTF-8, between characters.
 */
export function sealLogEntry(sealer: ServiceSealer, ids: ItemContext, entry: ActionLogEntry): Uint8Array {
  return sealer.seal('audit', ids.aid, 'log', [ids.kid, ids.token], encode(entry));
}

/** Opens one entry. Rejects damage and any other item's with `IntegrityError`. */
export function openLogEntry(sealer: ServiceSealer, ids: ItemContext, entry: Uint8Array): ActionLogEntry {
  return decode(openLogRecord(sealer, ids, entry));
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
