/** Logs that are too long for a page of items, and items and logs that are sealed again. */

import { type ItemContext, openMeta, sealMeta } from '../crypto/item/meta.ts';
import { tagOf, verifyLogPart } from '../crypto/log/entry.ts';
import { renewLogRecord, writerOfLog } from '../crypto/log/seal.ts';
import { IntegrityError } from '../crypto/primitives/bytes.ts';
import { field, type Handler, paramsOf, type ThreadContext, toJsonBytes } from './context.ts';
import { longLogs, readSurvey } from './walk-blob.ts';
import { createKeyCounts } from './walk-items.ts';
import type { LogLook, RenewalPlan, WalkItemsParams, WalkLogParams } from './walk-kinds.ts';

/** [params, tags of all entries before, entries…] -> [JSON of LogLook] */
export const lookAtLog: Handler = (context, fields) => {
  const ids = { ...paramsOf<WalkLogParams>(fields), env: context.env };
  const entries = fields.slice(2);
  const { counts, add } = createKeyCounts();
  for (const entry of entries) {
    add('log', writerOfLog(context.sealer, entry));
  }
  const at = verifyLogPart(context.sealer, ids, { before: field(fields, 1), entries });
  return [toJsonBytes({ wrongAt: at ?? null, keys: counts } satisfies LogLook)];
};

interface Renewal {
  readonly item: number;
  readonly name: string;
  readonly writer: string | undefined;
  readonly tag: Uint8Array;
  readonly renew: () => Uint8Array;
}

function renewalsOf(context: ThreadContext, renewals: readonly Renewal[]) {
  const { counts, add } = createKeyCounts();
  const fields: RenewalPlan['fields'][number][] = [];
  const lost: RenewalPlan['lost'][number][] = [];
  const parts: Uint8Array[] = [];
  for (const { item, name, writer, tag, renew } of renewals) {
    add(name === 'm' ? 'item' : 'log', writer);
    if (writer === context.sealer.writeId) {
      continue;
    }
    try {
      parts.push(tag, renew());
      fields.push({ item, name });
    } catch (error) {
      if (!(error instanceof IntegrityError)) {
        throw error;
      }
      parts.length = 2 * fields.length;
      lost.push({ item, name });
    }
  }
  return { plan: { fields, lost, keys: counts }, parts };
}

const ofEntry = (
  context: ThreadContext,
  ids: ItemContext,
  entry: Uint8Array,
  item: number,
  position: number,
): Renewal => ({
  item,
  name: String(position),
  writer: writerOfLog(context.sealer, entry),
  tag: tagOf(entry),
  renew: () => renewLogRecord(context.sealer, ids, entry),
});

/** [params, survey] -> [JSON of RenewalPlan, for each of its fields the tag that was read and the new record…] */
export const renewItems: Handler = (context, fields) => {
  const { aid, kid, tokens } = paramsOf<WalkItemsParams>(fields);
  const { sealer, env } = context;
  const survey = readSurvey(field(fields, 1), tokens.length);
  const renewals = survey.flatMap(({ meta, entries, fields: there }, item): Renewal[] => {
    if (there === 0) {
      return [];
    }
    const ids = { env, aid, kid, token: tokens[item] ?? '' };
    const ofMeta: Renewal = {
      item,
      name: 'm',
      writer: sealer.writerOf(meta),
      tag: tagOf(meta),
      renew: () => sealMeta(sealer, ids, openMeta(sealer, ids, meta)),
    };
    return [ofMeta, ...entries.map((entry, i) => ofEntry(context, ids, entry, item, i + 1))];
  });
  const { plan, parts } = renewalsOf(context, renewals);
  return [toJsonBytes({ ...plan, long: longLogs(survey) } satisfies RenewalPlan), ...parts];
};

/** [params, entries…] -> as renewItems, for one item */
export const renewLog: Handler = (context, fields) => {
  const { first, ...names } = paramsOf<WalkLogParams>(fields);
  const ids = { ...names, env: context.env };
  const renewals = fields.slice(1).map((entry, i) => ofEntry(context, ids, entry, 0, first + i));
  const { plan, parts } = renewalsOf(context, renewals);
  return [toJsonBytes({ ...plan, long: [] } satisfies RenewalPlan), ...parts];
};
