/**
 * Entries of an account's security log: service records in one chain. Each entry holds its sequence number and the
 * link of the one before it; its own link is an HMAC of its whole plaintext, under a key of the root. A link therefore
 * stays what it is when the master key is rotated and the entry is sealed again.
 *
 * Plaintext: `type 1 | sequence 8 | link of the one before 32 | time 8 | latest time so far 8 | widest step back so
 * far 8 | number of its events 4`, then seven texts, each `length 1 | UTF-8`: action, outcome, actor, source
 * address, user agent, request id, object. Times are ms since 1970. An entry of a change to a record
 * whose rollback is to be detected has type 2 and an eighth text, see `changeText`. An entry with the name of its actor has
 * type 3 and the eighth text, empty for no change; the rest is the name.
 *
 * A mark names an entry: the newest (`head`), or the newest of those that retention has removed (`start`).
 * Plaintext: `type 1 | sequence 8 | its link 32 | its latest time 8 | its widest step back 8`. A head has type 2 and 8
 * more bytes once an entry has named a revision of the account's record: the newest so far.
 */

import { REVISION_GONE } from '../../../server/domain/account.ts';
import {
  concat,
  IntegrityError,
  readBytes,
  readU8,
  readU32,
  readU64,
  textOf,
  writeU32,
  writeU64,
} from '../primitives/bytes.ts';
import { hmac } from '../primitives/symmetric.ts';
import type { ServiceSealer } from '../record/service-record.ts';

/**
 * A change of a record, by which an older copy of the record is recognised. An account's record numbers its changes. An
 * endpoint's policy never changes: one creation has one digest. A credential's record changes with its secret alone, whose
 * digest identifies it. The digest of a person is one of its rights, passkeys and invitation. `isGone`: that state has ended.
 */
export type RecordChange =
  | { readonly kind: 'account'; readonly revision: number }
  | {
      readonly kind: 'endpoint' | 'credential' | 'person';
      readonly id: string;
      readonly digest: string;
      readonly isGone: boolean;
    };

const ACCOUNT = /^account (gone|\d{1,15})$/;
const BY_DIGEST = /^(endpoint|credential|person) (\S+) ([0-9a-f]{32})( gone)?$/;

/**
 * The text of a change, the last of its entry: `account REVISION`, `account gone`, `endpoint ID DIGEST` or `endpoint ID
 * DIGEST gone`, and the same with `credential` and `person`.
 */
export function changeText(change: RecordChange): string {
  if (change.kind === 'account') {
    return `account ${change.revision === REVISION_GONE ? 'gone' : change.revision}`;
  }
  return `${change.kind} ${change.id} ${change.digest}${change.isGone ? ' gone' : ''}`;
}

/** Reads the text of a change. Rejects any other text with `IntegrityError`. */
export function parseChange(text: string): RecordChange {
  const revision = ACCOUNT.exec(text)?.[1];
  if (revision !== undefined) {
    return { kind: 'account', revision: revision === 'gone' ? REVISION_GONE : Number(revision) };
  }
  const [, kind, id, digest, gone] = BY_DIGEST.exec(text) ?? [];
  if (
    (kind !== 'endpoint' && kind !== 'credential' && kind !== 'person') ||
    id === undefined ||
    digest === undefined
  ) {
    throw new IntegrityError('security log entry');
  }
  return { kind, id, digest, isGone: gone !== undefined };
}

/** The content of an entry; every text but the name is cut at 255 bytes of UTF-8, between characters. */
export interface AuditEvent {
  readonly timeMs: number;
  readonly action: string;
  /** `success`, or the code of the error. */
  readonly outcome: string;
  readonly actor: string;
  /** The name of the actor at that time, if it has one. */
  readonly actorName?: string | undefined;
  readonly ip: string;
  readonly userAgent: string;
  readonly requestId: string;
  /** Empty for nothing in particular. */
  readonly object: string;
  /** Number of equal events that the entry represents. */
  readonly count: number;
  readonly change?: RecordChange | undefined;
}

/** The place of an entry in its chain, as the next entry and the marks name it. */
export interface MarkFacts {
  /** From 1; 0 stands for the beginning of a chain, before its first entry. */
  readonly sequence: number;
  /** 64 hex digits. Links are compared as text: each lies in a sealed record, so no attacker can try another. */
  readonly link: string;
  /** The latest time of all entries so far: unlike their times it never steps back. */
  readonly latestMs: number;
  /** The most ms by which any entry so far is earlier than the latest time before it. */
  readonly stepBackMs: number;
  /** Of a head: the newest revision of the account's record that an entry has named; absent before the first. */
  readonly revision?: number | undefined;
}

/** An opened entry: its content, its own mark, and the link to the previous one. */
export interface ChainEntry extends AuditEvent {
  readonly mark: MarkFacts;
  /** Hex, as links are. */
  readonly previous: string;
}

/** The newest entry, or the newest that retention has removed. */
export type AuditMarkKind = 'head' | 'start';

/** The place of entries among the service records; marks have other kinds. */
const PURPOSE = 'audit';
const KIND = 'security log';
const PLAINTEXT_TYPE = 0x01;
/** The type of an entry with a change, and of a head with a revision. */
const CHANGED_TYPE = 0x02;
/** The type of an entry with the name of its actor, and perhaps a change. */
const NAMED_TYPE = 0x03;
const LINK_BYTES = 32;
/** Entries and marks begin alike, up to the link. */
const SEQUENCE_AT = 1;
const LINK_AT = SEQUENCE_AT + 8;
const TIME_AT = LINK_AT + LINK_BYTES;
const LATEST_AT = TIME_AT + 8;
const STEP_BACK_AT = LATEST_AT + 8;
const COUNT_AT = STEP_BACK_AT + 8;
const TEXTS_AT = COUNT_AT + 4;
const MARK_LATEST_AT = LINK_AT + LINK_BYTES;
const MARK_STEP_BACK_AT = MARK_LATEST_AT + 8;
const MARK_BYTES = MARK_STEP_BACK_AT + 8;
const MARK_REVISION_AT = MARK_BYTES;
/** The most that one byte of length can hold. */
const TEXT_BYTES_MAX = 255;
const TEXTS = ['action', 'outcome', 'actor', 'ip', 'userAgent', 'requestId', 'object'] as const;

const encoder = new TextEncoder();
const cutBuffer = new Uint8Array(TEXT_BYTES_MAX);

/** The mark before the first entry of every chain. */
export const CHAIN_BEGIN: MarkFacts = {
  sequence: 0,
  link: '00'.repeat(LINK_BYTES),
  latestMs: 0,
  stepBackMs: 0,
};

/** A text with its length, cut at 255 bytes between characters: texts of callers have no other bound here. */
function encodeText(text: string): Uint8Array {
  const { written } = encoder.encodeInto(text, cutBuffer);
  const out = new Uint8Array(1 + written);
  out[0] = written;
  out.set(cutBuffer.subarray(0, written), 1);
  return out;
}

/** The plaintext of the entry that follows a mark. The latest time and the widest step back never fall. */
function encode(event: AuditEvent, { link, ...before }: MarkFacts): Uint8Array {
  const { change, actorName } = event;
  const type = change === undefined ? PLAINTEXT_TYPE : CHANGED_TYPE;
  const fixed = new Uint8Array(TEXTS_AT);
  fixed[0] = actorName === undefined ? type : NAMED_TYPE;
  writeU64(fixed, SEQUENCE_AT, before.sequence + 1);
  fixed.set(Uint8Array.fromHex(link), LINK_AT);
  writeU64(fixed, TIME_AT, event.timeMs);
  writeU64(fixed, LATEST_AT, Math.max(before.latestMs, event.timeMs));
  writeU64(fixed, STEP_BACK_AT, Math.max(before.stepBackMs, before.latestMs - event.timeMs));
  writeU32(fixed, COUNT_AT, event.count);
  const texts = TEXTS.map((name) => encodeText(event[name]));
  if (fixed[0] !== PLAINTEXT_TYPE) {
    texts.push(encodeText(change === undefined ? '' : changeText(change)));
  }
  return concat([fixed, ...texts, encoder.encode(actorName ?? '')]);
}

/** The texts of an entry, its change, and the name of its actor; they must end where it ends. */
function decodeTexts(bytes: Uint8Array) {
  const texts = { action: '', outcome: '', actor: '', ip: '', userAgent: '', requestId: '', object: '' };
  let at = TEXTS_AT;
  const next = (): string => {
    const length = readU8(bytes, at);
    const text = textOf(readBytes(bytes, at + 1, length));
    at += 1 + length;
    return text;
  };
  for (const name of TEXTS) {
    texts[name] = next();
  }
  const type = bytes[0];
  const changed = type === PLAINTEXT_TYPE ? '' : next();
  const actorName = type === NAMED_TYPE ? textOf(bytes.subarray(at)) : undefined;
  if (actorName === undefined && at !== bytes.length) {
    throw new IntegrityError('security log entry');
  }
  return {
    ...texts,
    ...(changed === '' && type !== CHANGED_TYPE ? {} : { change: parseChange(changed) }),
    ...(actorName === undefined ? {} : { actorName }),
  };
}

/** Reads the plaintext of an entry, and makes its link. `IntegrityError` for another type or length. */
function decode(key: Uint8Array, bytes: Uint8Array): ChainEntry {
  if (bytes[0] !== PLAINTEXT_TYPE && bytes[0] !== CHANGED_TYPE && bytes[0] !== NAMED_TYPE) {
    throw new IntegrityError('security log entry');
  }
  return {
    mark: {
      sequence: readU64(bytes, SEQUENCE_AT),
      link: hmac(key, bytes).toHex(),
      latestMs: readU64(bytes, LATEST_AT),
      stepBackMs: readU64(bytes, STEP_BACK_AT),
    },
    previous: readBytes(bytes, LINK_AT, LINK_BYTES).toHex(),
    timeMs: readU64(bytes, TIME_AT),
    count: readU32(bytes, COUNT_AT),
    ...decodeTexts(bytes),
  };
}

/**
 * Seals the entry that follows `before`, and gives its mark. `key` is the account's chain key, 32 bytes of the root.
 * Times before 1970 are rejected with RangeError.
 */
export function sealAuditEntry(
  sealer: ServiceSealer,
  key: Uint8Array,
  aid: string,
  before: MarkFacts,
  event: AuditEvent,
): { readonly record: Uint8Array; readonly mark: MarkFacts } {
  const plaintext = encode(event, before);
  const { mark } = decode(key, plaintext);
  return { record: sealer.seal(PURPOSE, aid, KIND, [String(mark.sequence)], plaintext), mark };
}

/** Opens the entry at `sequence`. Rejects damage, and any other chain's or place's, with `IntegrityError`. */
export function openAuditEntry(
  sealer: ServiceSealer,
  key: Uint8Array,
  aid: string,
  sequence: number,
  record: Uint8Array,
): ChainEntry {
  const entry = decode(key, sealer.open(PURPOSE, aid, KIND, [String(sequence)], record));
  if (entry.mark.sequence !== sequence) {
    throw new IntegrityError('security log entry');
  }
  return entry;
}

/** Checks that `entry` follows `before`, with nothing between or changed: the next number, and the link of `before`. */
export function followsMark({ mark, previous }: ChainEntry, before: MarkFacts): boolean {
  return mark.sequence === before.sequence + 1 && previous === before.link;
}

/** Seals a mark of a chain. Head and start have different kinds, so that neither passes for the other. */
export function sealAuditMark(
  sealer: ServiceSealer,
  aid: string,
  kind: AuditMarkKind,
  mark: MarkFacts,
): Uint8Array {
  const { revision = 0 } = mark;
  const hasRevision = revision > 0;
  const bytes = new Uint8Array(hasRevision ? MARK_REVISION_AT + 8 : MARK_BYTES);
  bytes[0] = hasRevision ? CHANGED_TYPE : PLAINTEXT_TYPE;
  writeU64(bytes, SEQUENCE_AT, mark.sequence);
  bytes.set(Uint8Array.fromHex(mark.link), LINK_AT);
  writeU64(bytes, MARK_LATEST_AT, mark.latestMs);
  writeU64(bytes, MARK_STEP_BACK_AT, mark.stepBackMs);
  if (hasRevision) {
    writeU64(bytes, MARK_REVISION_AT, revision);
  }
  return sealer.seal(PURPOSE, aid, `${KIND} ${kind}`, [kind], bytes);
}

/** Opens a mark. Rejects damage and any other chain's or kind's with `IntegrityError`. */
export function openAuditMark(
  sealer: ServiceSealer,
  aid: string,
  kind: AuditMarkKind,
  record: Uint8Array,
): MarkFacts {
  const bytes = sealer.open(PURPOSE, aid, `${KIND} ${kind}`, [kind], record);
  const hasRevision = bytes[0] === CHANGED_TYPE;
  const isWhole = bytes.length === (hasRevision ? MARK_REVISION_AT + 8 : MARK_BYTES);
  if (!(isWhole && (hasRevision || bytes[0] === PLAINTEXT_TYPE))) {
    throw new IntegrityError('security log mark');
  }
  return {
    sequence: readU64(bytes, SEQUENCE_AT),
    link: readBytes(bytes, LINK_AT, LINK_BYTES).toHex(),
    latestMs: readU64(bytes, MARK_LATEST_AT),
    stepBackMs: readU64(bytes, MARK_STEP_BACK_AT),
    ...(hasRevision ? { revision: readU64(bytes, MARK_REVISION_AT) } : {}),
  };
}
