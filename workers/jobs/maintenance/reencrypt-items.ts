/** Handlers of the jobs that re-encrypt items and logs in `jobs.ts`, which says what each promises. */
import { type ItemContext, openMeta, sealMeta } from '../../crypto/item/meta.ts';
import { renewLogRecord, tagOf, writerOfLog } from '../../crypto/log/entry.ts';
import { openedOrNot } from '../../crypto/primitives/bytes.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { Out } from '../define.ts';
import type { ItemField, LongLog, MAINTENANCE_JOBS } from './jobs.ts';
import { countByKey, longLogs, type MutableKeyCounts, readSurvey, type SurveyedItem } from './survey.ts';

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

/** The handlers of `reencryptItems` and `reencryptLog`. */
export const REENCRYPT_HANDLERS = {
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
