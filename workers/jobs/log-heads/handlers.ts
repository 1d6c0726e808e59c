import { isOwnHeadsCheckpoint, signHeadsCheckpoint } from '../../crypto/log/checkpoint.ts';
import { tagOf } from '../../crypto/log/entry.ts';
import * as crypto from '../../crypto/log/heads.ts';
import { EMPTY, equalBytes, IntegrityError } from '../../crypto/primitives/bytes.ts';
import { TAG_BYTES } from '../../crypto/primitives/symmetric.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import { sealCause } from '../event/handlers.ts';
import type { ItemFault } from '../vault/jobs.ts';
import { createPacking, endString, packed, ReplyStrings, resultOrFault, writeBytes } from '../vault/page.ts';
import {
  checkLive,
  checkReference,
  checkVersion,
  foundMeta,
  isOver,
  referenceMember,
} from '../vault/records.ts';
import { type HEADS_JOBS, type HeadFault, REMOVAL_STRINGS } from './jobs.ts';

/** The recorded length of a log that is not recorded. */
const NO_LENGTH = 0xffff_ffff;
const NO_TAG = new Uint8Array(TAG_BYTES);
/** Bytes of the removal of an item with a reference of usual length. */
const REMOVAL_BYTES = 256;
const NO_REMOVAL: readonly Uint8Array[] = Array.from({ length: REMOVAL_STRINGS }, () => EMPTY);
/** Offsets of the parts of a head, see `read-heads-n.lua`. */
const FIRST_AT = 8;
const TAIL_AT = FIRST_AT + TAG_BYTES;
const TAG_AT = TAIL_AT + TAG_BYTES;
const NOTE_AT = TAG_AT + TAG_BYTES;
/** A note: proof, tag of the first entry, recorded length, tag there. */
const NOTE_BYTES = 3 * TAG_BYTES + 4;

interface Head {
  readonly length: number;
  readonly recorded: number;
  readonly first: Uint8Array;
  readonly tail: Uint8Array;
  readonly tag: Uint8Array;
  readonly note: Uint8Array;
}

function headOf(bytes: Uint8Array): Head {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return {
    length: view.getUint32(0, true),
    recorded: view.getUint32(4, true),
    first: bytes.subarray(FIRST_AT, TAIL_AT),
    tail: bytes.subarray(TAIL_AT, TAG_AT),
    tag: bytes.subarray(TAG_AT, NOTE_AT),
    note: bytes.subarray(NOTE_AT),
  };
}

/** Checks for a recorded log that is shorter than recorded, or without the recorded entry. */
function isCut({ length, recorded, first, tail, tag }: Head): boolean {
  const hasGone = equalBytes(first, NO_TAG) || equalBytes(tag, NO_TAG);
  return length < recorded || hasGone || (length === recorded && !equalBytes(tail, tag));
}

/** The head in the note of a removed log; undefined if the service did not remove it. */
function noteOf(key: Uint8Array, kid: string, token: string, note: Uint8Array): crypto.LogHead | undefined {
  if (note.length !== NOTE_BYTES) {
    return undefined;
  }
  const first = note.subarray(TAG_BYTES, 2 * TAG_BYTES);
  const proof = crypto.logRemovalProof(key, kid, token, first);
  const length = new DataView(note.buffer, note.byteOffset, NOTE_BYTES).getUint32(2 * TAG_BYTES, true);
  return equalBytes(note.subarray(0, TAG_BYTES), proof)
    ? { first, length, tag: note.subarray(-TAG_BYTES) }
    : undefined;
}

/** Heads to remove from a sum, and heads to add. */
interface Change {
  readonly out: readonly crypto.LogHead[];
  readonly into: readonly crypto.LogHead[];
  readonly length: number;
}

/** Returns the change of a log to the sum of its bucket, or its fault. */
function changeOf(key: Uint8Array, kid: string, token: string, head: Head): Change | HeadFault['what'] {
  const { length, recorded, first, tail, tag, note } = head;
  const removed = note.length === 0 ? undefined : noteOf(key, kid, token, note);
  if (note.length > 0 && removed === undefined) {
    return 'removed';
  }
  const gone = removed ? [removed] : [];
  if (recorded === NO_LENGTH && length === 0) {
    return { out: gone, into: [], length: 0 };
  }
  const isBroken = recorded === NO_LENGTH ? equalBytes(first, NO_TAG) : isCut(head);
  if (isBroken) {
    return 'cut';
  }
  const before = recorded === NO_LENGTH ? [] : [{ first, length: recorded, tag }];
  return { out: [...gone, ...before], into: [{ first, length, tag: tail }], length };
}

function headsKey(context: ThreadContext, aid: string): Uint8Array {
  return context.rootKey('log-heads', aid);
}

function signingSeed(context: ThreadContext): Uint8Array {
  return context.rootKey('audit-sign', '');
}

export const HEADS_HANDLERS: ThreadHandlers<typeof HEADS_JOBS> = {
  foldHeads(context, { params: { aid, kid, bucket, tokens }, record, heads }) {
    const key = headsKey(context, aid);
    const before = crypto.openBucketHeads(key, kid, bucket, record);
    let { logs, sum } = before;
    const faults: HeadFault[] = [];
    const lengths = tokens.map((token, i) => {
      const change = changeOf(key, kid, token, headOf(heads[i] ?? EMPTY));
      if (typeof change === 'string') {
        faults.push({ token, what: change });
        return -1;
      }
      for (const head of [...change.out, ...change.into]) {
        sum = crypto.xorTerm(sum, crypto.headTerm(key, kid, token, head));
      }
      logs += change.into.length - change.out.length;
      return change.length;
    });
    const isNothing = lengths.every((length) => length < 0);
    const next = { version: before.version + 1, logs, sum };
    return {
      record: isNothing ? EMPTY : crypto.sealBucketHeads(key, kid, bucket, next),
      facts: { lengths, faults },
    };
  },

  sumHeads(context, { params: { aid, kid, tokens }, heads }) {
    const key = headsKey(context, aid);
    let sum = crypto.NO_BUCKET_HEADS.sum;
    const [recorded, cut]: [string[], string[]] = [[], []];
    for (const [i, token] of tokens.entries()) {
      const head = headOf(heads[i] ?? EMPTY);
      const removed = noteOf(key, kid, token, head.note);
      if (head.recorded !== NO_LENGTH) {
        const { first, recorded: length, tag } = head;
        sum = crypto.xorTerm(sum, crypto.headTerm(key, kid, token, { first, length, tag }));
        recorded.push(token);
        cut.push(...(isCut(head) ? [token] : []));
      } else if (removed) {
        sum = crypto.xorTerm(sum, crypto.headTerm(key, kid, token, removed));
        recorded.push(token);
      }
    }
    return { sum: sum.toHex(), recorded, cut };
  },

  readBucketHeads(context, { params: { aid, kid, bucket }, record, buckets }) {
    const heads = crypto.openBucketHeads(headsKey(context, aid), kid, bucket, record);
    const isCurrent = crypto.isBucketCurrent(buckets, bucket, heads, record);
    return { version: heads.version, logs: heads.logs, sum: heads.sum.toHex(), isCurrent };
  },

  coverKey(context, { params: { aid, kid }, mark, buckets, records }) {
    const key = headsKey(context, aid);
    const before = crypto.openHeadsMark(key, mark);
    const heads = records.map((record, number) => {
      const bucket = crypto.openBucketHeads(key, kid, number, record);
      if (!crypto.isBucketCurrent(buckets, number, bucket, record)) {
        throw new IntegrityError('log heads');
      }
      return { ...bucket, tag: crypto.tagOfRecord(record) };
    });
    const logs = heads.reduce((sum, bucket) => sum + bucket.logs, 0);
    const next = crypto.encodeBuckets(logs, heads);
    if (equalBytes(next, buckets)) {
      return { mark: undefined, buckets };
    }
    const isNew = buckets.length === 0;
    const without = isNew ? before.sum : crypto.xorTerm(before.sum, crypto.keyTerm(key, kid, buckets));
    const facts = {
      keys: before.keys + (isNew ? 1 : 0),
      logs: before.logs + logs - crypto.logsOfBuckets(buckets),
      sum: crypto.xorTerm(without, crypto.keyTerm(key, kid, next)),
    };
    return { mark: crypto.sealHeadsMark(key, before, facts), buckets: next };
  },

  uncoverKey(context, { params: { aid, kid }, mark, buckets, proof }) {
    const key = headsKey(context, aid);
    const before = crypto.openHeadsMark(key, mark);
    if (!equalBytes(proof, crypto.keyRemovalProof(key, kid))) {
      throw new IntegrityError('log heads');
    }
    const isNone = buckets.length === 0;
    const facts = {
      keys: before.keys - (isNone ? 0 : 1),
      logs: before.logs - crypto.logsOfBuckets(buckets),
      sum: isNone ? before.sum : crypto.xorTerm(before.sum, crypto.keyTerm(key, kid, buckets)),
    };
    return { mark: crypto.sealHeadsMark(key, before, facts) };
  },

  readHeadsMark(context, { params: { aid, kids }, mark, buckets }) {
    const key = headsKey(context, aid);
    const { epoch, keys, logs, sum, link } = crypto.openHeadsMark(key, mark);
    const terms = kids.map((kid, i) => crypto.keyTerm(key, kid, buckets[i] ?? EMPTY));
    const found = terms.reduce(crypto.xorTerm, crypto.NO_BUCKET_HEADS.sum);
    const isWhole = keys === kids.length && equalBytes(sum, found);
    return { epoch, link: link.toHex(), logs, isWhole };
  },

  signHeads(context, { params: { aid, timeMs }, mark }) {
    const { epoch, logs, link } = crypto.openHeadsMark(headsKey(context, aid), mark);
    const time = new Date(timeMs).toISOString();
    const facts = { account: aid, epoch, logs, link: link.toHex(), time };
    return signHeadsCheckpoint(signingSeed(context), context.env, facts);
  },

  checkHeadsCheckpoint(context, { checkpoint }) {
    if (!isOwnHeadsCheckpoint(signingSeed(context), context.env, checkpoint)) {
      throw new IntegrityError('checkpoint');
    }
  },

  proveRemovals(context, { params, replies }) {
    const { aid, kid, tokens, references } = params;
    const key = headsKey(context, aid);
    const parts = createPacking(REMOVAL_STRINGS * tokens.length, REMOVAL_BYTES * tokens.length);
    const failed: ItemFault[] = [];
    const read = new ReplyStrings(replies, 2 * tokens.length);
    for (const [index, token] of tokens.entries()) {
      const record = read.at(2 * index);
      const first = read.at(2 * index + 1);
      const refMember = resultOrFault(failed, index, () => {
        const meta = foundMeta(context, params, token, record);
        checkLive(meta, params.now);
        if (params.expiredBy !== undefined && !isOver(meta, params.expiredBy)) {
          throw new IntegrityError('expiry');
        }
        if (references !== null) {
          checkReference(meta, references[index] ?? undefined, 'check');
        }
        checkVersion(meta, params.versions?.[index]);
        return referenceMember(context, aid, meta.reference, token);
      });
      const firstTag = tagOf(first);
      const strings =
        refMember === undefined
          ? NO_REMOVAL
          : [tagOf(record), firstTag, crypto.logRemovalProof(key, kid, token, firstTag), refMember];
      for (const string of strings) {
        writeBytes(parts, string);
        endString(parts);
      }
    }
    const cause = params.cause && sealCause(context, params, params.cause);
    return { failed, parts: packed(parts), cause };
  },

  proveKeyRemoval(context, { params: { aid, kid } }) {
    return crypto.keyRemovalProof(headsKey(context, aid), kid);
  },
};
