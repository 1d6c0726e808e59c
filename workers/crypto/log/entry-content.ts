/**
 * The plaintext of an entry of an item's action log: `type 2 | entries seen 4 | tag seen 16 | time in ms 8 | action 1 |
 * source 1 | outcome 1 | address form 1 (4, 6, or 0 for text) | address length 1 | address | user agent length 1 | user agent
 * | endpoint id | credential id | request id`, ids as in `id.ts`. An entry with the name of its credential has `type 3` and
 * `name length 2 | name` before the request id. Entries of `type 1`, which are only read, have no outcome and no ids, and end
 * with the user agent without its length; they mean `ok`.
 */
import {
  concat,
  EMPTY,
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
import { bytesOfId, ID_SPACE, type Taken, takeId, writeId } from './id.ts';
import { type LogOutcome, outcomeNumber, outcomeOf } from './outcome.ts';

/** By their numbers in an entry, from 1: new ones go to the end. */
const ACTIONS = ['encrypt', 'decrypt'] as const;
const SOURCES = ['vault', 'capture', 'retrieve', 'proxy', 'form', 'inbound'] as const;

/** The members that are the same for the requests that one caller sends in a row. */
interface Caller {
  readonly ip: string;
  readonly userAgent: string;
  /** The endpoint that was used; empty for none. */
  readonly endpoint: string;
  /** The API credential that was used; empty for the account's password and for an endpoint. */
  readonly credential: string;
  /** Its name at that time; empty without a credential, and in entries of versions before it was logged. */
  readonly credentialName: string;
}

export interface ActionLogEntry extends Caller {
  /** Number of entries that the writer knew of. */
  readonly seenLength: number;
  /** The last 16 bytes of entry number `seenLength`, which re-encryption keeps; zeros for no entry. */
  readonly seenTag: Uint8Array;
  /** ms since 1970. */
  readonly timeMs: number;
  readonly action: (typeof ACTIONS)[number];
  readonly source: (typeof SOURCES)[number];
  readonly outcome: LogOutcome;
  /** Empty in entries of the first version. */
  readonly requestId: string;
}

/** An entry as it was read: its outcome may be one of a later version. */
export type ReadLogEntry = Omit<ActionLogEntry, 'outcome'> & { readonly outcome: LogOutcome | 'unknown' };

/** The first byte of the plaintext, and the offsets of the fixed members after it. */
const TYPE_FIRST = 0x01;
const TYPE = 0x02;
const TYPE_NAMED = 0x03;
const SEEN_AT = 1;
const TAG_AT = 5;
const TIME_AT = TAG_AT + TAG_BYTES;
const ACTION_AT = TIME_AT + 8;
const SOURCE_AT = ACTION_AT + 1;
/** In the first type, the place of the address form. */
const OUTCOME_AT = SOURCE_AT + 1;
const FORM_AT = OUTCOME_AT + 1;
const IP_AT = FORM_AT + 2;

/** The most that one byte of length can hold. */
const TEXT_BYTES_MAX = 255;
/** Room for any name of a credential: 128 characters. */
const NAME_BYTES_MAX = 512;

/** Address forms: 0 is text, 4 and 6 are the bytes of an address of that version of IP. */
const FORM_TEXT = 0;
const FORM_BYTES: Readonly<Record<number, number>> = { 4: 4, 6: 16 };

const encoder = new TextEncoder();
const cutBuffer = new Uint8Array(NAME_BYTES_MAX);

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
const IPV4 = /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;
const IPV6 = /^[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,8}$/;

/** The bytes of an IPv6 address with zeros for `::`; for other texts of the same characters, any bytes. */
function bytesOfGroups(text: string): Uint8Array {
  const [head = [], tail = []] = text.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: IPV6_BYTES / 2 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/**
 * The 4 or 16 bytes of an address in its usual form (dotted, or RFC 5952 in lower case); undefined for any other text, so
 * that `textOfIp` always returns exactly the same text.
 */
export function bytesOfIp(text: string): Uint8Array | undefined {
  const bytes = IPV4.test(text)
    ? Uint8Array.from(text.split('.'), Number)
    : IPV6.test(text)
      ? bytesOfGroups(text)
      : EMPTY;
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

/** The first bytes of a text in UTF-8, cut between characters. */
function cutUtf8(text: string, bytesMax = TEXT_BYTES_MAX): Uint8Array {
  return cutBuffer.slice(0, encoder.encodeInto(text, cutBuffer.subarray(0, bytesMax)).written);
}

/** The name of a credential with its length; nothing for none. */
function bytesOfName(name: string): readonly Uint8Array[] {
  if (name === '') {
    return [];
  }
  const bytes = cutUtf8(name, NAME_BYTES_MAX);
  return [Uint8Array.of(bytes.length >> 8, bytes.length), bytes];
}

/** The plaintext of one caller: requests of one caller come in runs, a page of entries has one request. */
interface Plaintext {
  readonly caller: Caller;
  /** With room for any request id. */
  readonly bytes: Uint8Array;
  readonly requestAt: number;
  requestId: string;
  /** The bytes up to the end of the request id. */
  written: Uint8Array;
}

/** The plaintext of a caller; all members before the address form are still to be written. */
function plaintextOf({ ip, userAgent, endpoint, credential, credentialName }: Caller): Plaintext {
  const packed = bytesOfIp(ip);
  const address = packed ?? cutUtf8(ip);
  const agent = cutUtf8(userAgent);
  const fixed = new Uint8Array(IP_AT);
  fixed[0] = credentialName === '' ? TYPE : TYPE_NAMED;
  fixed[FORM_AT] = packed ? (packed.length === FORM_BYTES[4] ? 4 : 6) : FORM_TEXT;
  fixed[FORM_AT + 1] = address.length;
  const ids = [bytesOfId(endpoint), bytesOfId(credential), ...bytesOfName(credentialName)];
  const parts = [fixed, address, Uint8Array.of(agent.length), agent, ...ids];
  const bytes = concat([...parts, new Uint8Array(ID_SPACE)]);
  const requestAt = bytes.length - ID_SPACE;
  const written = bytes.subarray(0, requestAt + 1);
  const caller = { ip, userAgent, endpoint, credential, credentialName };
  return { caller, bytes, requestAt, requestId: '', written };
}

function isSame(one: Caller, other: Caller): boolean {
  return (
    one.ip === other.ip &&
    one.userAgent === other.userAgent &&
    one.endpoint === other.endpoint &&
    one.credential === other.credential &&
    one.credentialName === other.credentialName
  );
}

/** The last caller's plaintext. */
let plaintext = plaintextOf({ ip: '', userAgent: '', endpoint: '', credential: '', credentialName: '' });

/**
 * The plaintext of an entry, which the next call overwrites. An address that is neither IPv4 nor IPv6 in its usual form is
 * kept as text. Texts are cut at 255 bytes of UTF-8, ids at 128, names at 512, between characters. A tag of another length than 16 bytes:
 * RangeError.
 */
export function encodeLogEntry(entry: ActionLogEntry): Uint8Array {
  const { seenTag, requestId } = entry;
  if (seenTag.length !== TAG_BYTES) {
    throw new RangeError('a tag has 16 bytes');
  }
  if (!isSame(entry, plaintext.caller)) {
    plaintext = plaintextOf(entry);
  }
  const { bytes, requestAt } = plaintext;
  if (requestId !== plaintext.requestId) {
    const end = writeId(bytes, requestAt, requestId);
    plaintext.requestId = requestId;
    if (end !== plaintext.written.length) {
      plaintext.written = bytes.subarray(0, end);
    }
  }
  writeU32(bytes, SEEN_AT, entry.seenLength);
  bytes.set(seenTag, TAG_AT);
  writeU64(bytes, TIME_AT, entry.timeMs);
  bytes[ACTION_AT] = ACTIONS.indexOf(entry.action) + 1;
  bytes[SOURCE_AT] = SOURCES.indexOf(entry.source) + 1;
  bytes[OUTCOME_AT] = outcomeNumber(entry.outcome);
  return plaintext.written;
}

/** The address whose form is at `at`. */
function takeIp(bytes: Uint8Array, at: number): Taken {
  const form = readU8(bytes, at);
  const length = readU8(bytes, at + 1);
  const ip = readBytes(bytes, at + 2, length);
  if (form !== FORM_TEXT && FORM_BYTES[form] !== length) {
    throw new IntegrityError('log entry');
  }
  return { text: form === FORM_TEXT ? textOf(ip) : textOfIp(ip), end: at + 2 + length };
}

function takeText(bytes: Uint8Array, at: number): Taken {
  const length = readU8(bytes, at);
  return { text: textOf(readBytes(bytes, at + 1, length)), end: at + 1 + length };
}

function takeName(bytes: Uint8Array, at: number): Taken {
  const length = readU8(bytes, at) * 256 + readU8(bytes, at + 1);
  return { text: textOf(readBytes(bytes, at + 2, length)), end: at + 2 + length };
}

/** Reads the members of the first type after the source. */
function readFirst(bytes: Uint8Array) {
  const { text: ip, end } = takeIp(bytes, OUTCOME_AT);
  const userAgent = textOf(bytes.subarray(end));
  const none = { endpoint: '', credential: '', credentialName: '', requestId: '' } as const;
  return { ip, userAgent, ...none, outcome: 'ok' } as const;
}

/** Reads the members of the second and the third type after the source. */
function readSecond(bytes: Uint8Array) {
  const outcome = outcomeOf(readU8(bytes, OUTCOME_AT));
  const ip = takeIp(bytes, FORM_AT);
  const userAgent = takeText(bytes, ip.end);
  const endpoint = takeId(bytes, userAgent.end);
  const credential = takeId(bytes, endpoint.end);
  const name = bytes[0] === TYPE_NAMED ? takeName(bytes, credential.end) : { text: '', end: credential.end };
  const requestId = takeId(bytes, name.end);
  if (requestId.end !== bytes.length) {
    throw new IntegrityError('log entry');
  }
  return {
    ip: ip.text,
    userAgent: userAgent.text,
    endpoint: endpoint.text,
    credential: credential.text,
    credentialName: name.text,
    requestId: requestId.text,
    outcome,
  };
}

/**
 * Reads the plaintext of an entry of any type. Rejects unknown actions and sources, and texts that are no UTF-8, with
 * `IntegrityError`; an unknown outcome is one of a later version.
 */
export function decodeLogEntry(bytes: Uint8Array): ReadLogEntry {
  const action = ACTIONS[readU8(bytes, ACTION_AT) - 1];
  const source = SOURCES[readU8(bytes, SOURCE_AT) - 1];
  const type = bytes[0];
  if ((type !== TYPE && type !== TYPE_NAMED && type !== TYPE_FIRST) || !action || !source) {
    throw new IntegrityError('log entry');
  }
  return {
    seenLength: readU32(bytes, SEEN_AT),
    seenTag: readBytes(bytes, TAG_AT, TAG_BYTES),
    timeMs: readU64(bytes, TIME_AT),
    action,
    source,
    ...(type === TYPE_FIRST ? readFirst(bytes) : readSecond(bytes)),
  };
}
