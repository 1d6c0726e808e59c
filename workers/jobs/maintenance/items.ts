import { generationOfItem } from '../../crypto/item/item.ts';
import { IDENTITY_BYTES, metadataMembers } from '../../crypto/item/lookup.ts';
import { type ItemContext, type OpenedMeta, openMeta, sealMeta } from '../../crypto/item/meta.ts';
import { renewLogRecord, tagOf, verifyLogPart, writerOfLog } from '../../crypto/log/entry.ts';
import { EMPTY, equalBytes, openedOrNot, readBytes, readU32 } from '../../crypto/primitives/bytes.ts';
import { sha256 } from '../../crypto/primitives/symmetric.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { Out } from '../define.ts';
import type { KeyName } from '../key/jobs.ts';
import { indexDigests, referenceMember, summaryOf } from '../vault/records.ts';
import type { ItemFault, ItemField, ItemsParams, LongLog, MAINTENANCE_JOBS } from './jobs.ts';

/** All data of one item in Redis, as the survey script of the store returns it. */
interface SurveyedItem {
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
function readSurvey(blob: Uint8Array, items: number): SurveyedItem[] {
  let at = 0;
  return Array.from({ length: items }, () => {
    const { item, end } = readItem(blob, at);
    at = end;
    return item;
  });
}

/** The logs of a page that are longer than their part in it. */
function longLogs(survey: readonly SurveyedItem[]): LongLog[] {
  return survey.flatMap(({ entries, logLength }, item) =>
    logLength > entries.length ? [{ item, first: entries.length + 1, length: logLength }] : [],
  );
}

/** Number of records by kind and by the ring key that they are sealed under. */
type MutableKeyCounts = Record<string, Record<string, number>>;

/** Counts one record of a kind; `keyId` undefined: under no key of the ring. */
function countByKey(counts: MutableKeyCounts, kind: string, keyId: string | undefined): void {
  counts[kind] ??= {};
  const ofKind = counts[kind];
  const id = keyId ?? '?';
  ofKind[id] = (ofKind[id] ?? 0) + 1;
}

/** Redis expires by its own clock. */
const CLOCK_SKEW_MS = 5_000;
/** The expiry of an item that has none. */
const NEVER = 0;
/** `m` and `n`; `c` is there until the item expires. */
const FIXED_FIELDS = 2;

type Report = (kind: ItemFault['kind'], what: string) => void;

function isOfGeneration(item: Uint8Array, gen: number): boolean {
  return openedOrNot(() => generationOfItem(item) === gen) ?? false;
}

function checkContent({ item }: SurveyedItem, meta: OpenedMeta, gen: number, report: Report): void {
  if (!equalBytes(sha256(item), meta.hash0)) {
    report('item', 'envelope and content are not those that the metadata names');
  } else if (!isOfGeneration(item, meta.gen)) {
    report('item', 'envelope and metadata name different generations');
  }
  if (meta.gen > gen) {
    report('item', 'it names a generation that its key does not have');
  }
}

function checkSad({ sad, sadExpiresAt }: SurveyedItem, meta: OpenedMeta, now: number, report: Report): void {
  const { sad: facts } = meta;
  if (!facts) {
    if (sad.length > 0) {
      report('sad', 'it is kept, and the metadata names none');
    }
    return;
  }
  if (sad.length === 0) {
    if (facts.expiresAtMs === 0 || now + CLOCK_SKEW_MS < facts.expiresAtMs) {
      report('sad', 'it is gone before its time');
    }
    return;
  }
  if (!equalBytes(sha256(sad), facts.hash)) {
    report('sad', 'it is not what the metadata names');
  } else if (sadExpiresAt !== (facts.expiresAtMs === 0 ? -1 : facts.expiresAtMs)) {
    report('sad', 'it does not go when the metadata says');
  }
}

function checkLog(
  context: ThreadContext,
  ids: { readonly aid: string; readonly kid: string; readonly token: string },
  found: SurveyedItem,
  report: Report,
): void {
  const { entries, logLength, fields } = found;
  const others = [found.item.length > 0, found.hasSeeds, found.isRecorded, found.hasDigests].filter(Boolean);
  if (logLength === 0 || fields !== FIXED_FIELDS + logLength + others.length) {
    report('log', 'it has not the entries that its length says');
    return;
  }
  const names = new Set(entries.map((entry) => Buffer.from(tagOf(entry)).toString('latin1')));
  const at = verifyLogPart(context.sealer, { env: context.env, ...ids }, { before: EMPTY, entries });
  if (at !== undefined || names.size < entries.length) {
    report('log', at === undefined ? 'an entry is there twice' : `entry ${at} is not what was written`);
  }
}

/** The metadata of an item; undefined if it does not open. */
function metaOrNot(
  { env, sealer }: ThreadContext,
  { aid, kid }: KeyName,
  token: string,
  meta: Uint8Array,
): OpenedMeta | undefined {
  return openedOrNot(() => openMeta(sealer, { env, aid, kid, token }, meta));
}

/** The members that the metadata index must have of an item. */
function membersOf(context: ThreadContext, aid: string, meta: OpenedMeta, token: string): Uint8Array[] {
  return metadataMembers(indexDigests(context, aid, meta), token);
}

/** Checks for the remains of an expired item: its log. */
function isRemains({ item, storedAt }: SurveyedItem, { expiresAtMs }: OpenedMeta, now: number): boolean {
  return item.length === 0 && storedAt < 0 && expiresAtMs !== undefined && expiresAtMs <= now + CLOCK_SKEW_MS;
}

/** Verifies one item; returns its metadata if that opens. */
function checkItem(
  context: ThreadContext,
  params: ItemsParams,
  token: string,
  found: SurveyedItem,
  report: Report,
): OpenedMeta | undefined {
  const { aid, kid, gen, now } = params;
  if (found.isUnknown) {
    report('item', 'something else stands in its place');
    return undefined;
  }
  if (found.fields === 0) {
    if (found.storedAt >= 0) {
      report('time index', 'it names an item that is not there');
    }
    if (found.sad.length > 0) {
      report('sad', 'it has no item');
    }
    return undefined;
  }
  if (found.identity.length > 0 && found.identity.length !== IDENTITY_BYTES) {
    report('identity', 'it is no tag');
  }
  const meta = metaOrNot(context, params, token, found.meta);
  if (meta && isRemains(found, meta, now)) {
    if (found.sad.length > 0 || found.hasDigests) {
      report('item', 'it has expired, and more than its log is there');
    }
  } else if (meta) {
    if (found.storedAt < 0) {
      report('time index', 'the item is not in it');
    }
    checkContent(found, meta, gen, report);
    checkSad(found, meta, now, report);
    const isIndexed = meta.metadata !== undefined || summaryOf(meta)?.last_four !== undefined;
    if (found.hasDigests !== isIndexed) {
      report('metadata index', 'the item is not in it as its metadata says');
    }
  } else {
    report('item', 'its metadata does not open');
  }
  checkLog(context, { aid, kid, token }, found, report);
  return meta;
}

/** A record that may have to be re-encrypted, and how. */
interface Candidate extends ItemField {
  readonly keyId: string | undefined;
  /** The last 16 bytes that were read. */
  readonly tag: Uint8Array;
  readonly reencrypt: () => Uint8Array;
}

function ofMeta({ sealer }: ThreadContext, ids: ItemContext, meta: Uint8Array, item: number): Candidate {
  return {
    item,
    name: 'm',
    keyId: sealer.writerOf(meta),
    tag: tagOf(meta),
    reencrypt: () => sealMeta(sealer, ids, openMeta(sealer, ids, meta)),
  };
}

function ofEntry(
  { sealer }: ThreadContext,
  ids: ItemContext,
  entry: Uint8Array,
  item: number,
  position: number,
): Candidate {
  return {
    item,
    name: String(position),
    keyId: writerOfLog(sealer, entry),
    tag: tagOf(entry),
    reencrypt: () => renewLogRecord(sealer, ids, entry),
  };
}

/** Re-encrypts what is under another key than the write key; what does not open is lost. */
function reencryptAll(
  { sealer }: ThreadContext,
  candidates: readonly Candidate[],
  long: readonly LongLog[],
): Out<(typeof MAINTENANCE_JOBS)['reencryptItems']> {
  const keys: MutableKeyCounts = {};
  const fields: ItemField[] = [];
  const lost: ItemField[] = [];
  const parts: { readonly tag: Uint8Array; readonly record: Uint8Array }[] = [];
  for (const { item, name, keyId, tag, reencrypt } of candidates) {
    countByKey(keys, name === 'm' ? 'item' : 'log', keyId);
    if (keyId === sealer.writeId) {
      continue;
    }
    const record = openedOrNot(reencrypt);
    if (record) {
      fields.push({ item, name });
      parts.push({ tag, record });
    } else {
      lost.push({ item, name });
    }
  }
  return { plan: { fields, lost, keys, long }, parts };
}

function candidatesOf(
  context: ThreadContext,
  ids: ItemContext,
  { meta, entries, fields }: SurveyedItem,
  item: number,
): Candidate[] {
  return fields === 0
    ? []
    : [
        ofMeta(context, ids, meta, item),
        ...entries.map((entry, i) => ofEntry(context, ids, entry, item, i + 1)),
      ];
}

export const ITEMS_HANDLERS = {
  verifyItems(context, { params, survey: blob }) {
    const faults: ItemFault[] = [];
    const checked = { item: 0, sad: 0, log: 0, identity: 0 };
    const keys: MutableKeyCounts = {};
    const survey = readSurvey(blob, params.tokens.length);
    const metadata: Uint8Array[] = [];
    const expiries: number[] = [];
    const members = survey.map((found, item) => {
      const token = params.tokens[item] ?? '';
      const meta = checkItem(context, params, token, found, (kind, what) =>
        faults.push({ item, kind, what }),
      );
      if (found.fields > 0) {
        countByKey(keys, 'item', context.sealer.writerOf(found.meta));
        checked.item += 1;
      }
      checked.sad += found.sad.length > 0 ? 1 : 0;
      checked.identity += found.identity.length > 0 ? 1 : 0;
      for (const entry of found.entries) {
        countByKey(keys, 'log', writerOfLog(context.sealer, entry));
        checked.log += 1;
      }
      const live = found.item.length > 0 ? meta : undefined;
      metadata.push(...(live ? membersOf(context, params.aid, live, token) : []));
      expiries.push(live?.expiresAtMs ?? -(meta?.expiresAtMs ?? NEVER));
      return live ? referenceMember(context, params.aid, live.reference, token) : EMPTY;
    });
    const findings = { faults, checked, keys, long: longLogs(survey) };
    return { findings, members, metadata, expiries: Float64Array.from(expiries) };
  },

  verifyLog({ env, sealer }, { params, before, entries }) {
    const keys: MutableKeyCounts = {};
    for (const entry of entries) {
      countByKey(keys, 'log', writerOfLog(sealer, entry));
    }
    const wrongAt = verifyLogPart(sealer, { env, ...params }, { before, entries });
    return { wrongAt: wrongAt ?? null, keys };
  },

  metadataMembers(context, { params, metas }) {
    return params.tokens.flatMap((token, i) => {
      const meta = metaOrNot(context, params, token, metas[i] ?? EMPTY);
      return meta ? membersOf(context, params.aid, meta, token) : [];
    });
  },

  referenceMembers(context, { params, metas }) {
    return params.tokens.map((token, i) => {
      const meta = metaOrNot(context, params, token, metas[i] ?? EMPTY);
      return meta ? referenceMember(context, params.aid, meta.reference, token) : EMPTY;
    });
  },

  reencryptItems(context, { params: { aid, kid, tokens }, survey: blob }) {
    const survey = readSurvey(blob, tokens.length);
    const candidates = survey.flatMap((found, item) =>
      candidatesOf(context, { env: context.env, aid, kid, token: tokens[item] ?? '' }, found, item),
    );
    return reencryptAll(context, candidates, longLogs(survey));
  },

  reencryptLog(context, { params: { first, ...names }, entries }) {
    const ids = { env: context.env, ...names };
    const candidates = entries.map((entry, i) => ofEntry(context, ids, entry, 0, first + i));
    return reencryptAll(context, candidates, []);
  },
} satisfies Partial<ThreadHandlers<typeof MAINTENANCE_JOBS>>;
