/** Handlers of the jobs that verify pages of items and logs in `jobs.ts`: what is wrong, as far as no passphrase is needed. */

import { IDENTITY_BYTES, metadataMembers } from '../../crypto/item/lookup.ts';
import { type OpenedMeta, openMeta } from '../../crypto/item/meta.ts';
import { generationOfItem } from '../../crypto/item/patch.ts';
import { tagOf, verifyLogPart, writerOfLog } from '../../crypto/log/entry.ts';
import { EMPTY, equalBytes, openedOrNot } from '../../crypto/primitives/bytes.ts';
import { sha256 } from '../../crypto/primitives/symmetric.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { KeyName } from '../key/jobs.ts';
import { metadataDigests, metadataOf, referenceMember } from '../vault/records.ts';
import type { ItemFault, ItemsParams, MAINTENANCE_JOBS } from './jobs.ts';
import { countByKey, longLogs, type MutableKeyCounts, readSurvey, type SurveyedItem } from './survey.ts';

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
  return metadataMembers(metadataDigests(context, aid, metadataOf(meta)), token);
}

/** Checks for the remains of an expired item: its log. */
function isRemains({ item, storedAt }: SurveyedItem, { expiresAtMs }: OpenedMeta, now: number): boolean {
  return item.length === 0 && storedAt < 0 && expiresAtMs !== undefined && expiresAtMs <= now + CLOCK_SKEW_MS;
}

/** Verifies one item; gives its metadata where that opens. */
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
    if (found.hasDigests !== (meta.metadata !== undefined)) {
      report('metadata index', 'the item is not in it as its metadata says');
    }
  } else {
    report('item', 'its metadata does not open');
  }
  checkLog(context, { aid, kid, token }, found, report);
  return meta;
}

/** The handlers of `verifyItems`, `verifyLog`, `metadataMembers` and `referenceMembers`. */
export const VERIFY_HANDLERS = {
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
} satisfies Partial<ThreadHandlers<typeof MAINTENANCE_JOBS>>;
