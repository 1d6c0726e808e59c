/** Handlers of the jobs on single items in `jobs.ts`, which says what each promises. */
import { parseStoredObject } from '../../../server/domain/json/json.ts';
import { sealMeta } from '../../crypto/item/item.ts';
import type { ThreadContext } from '../context.ts';
import type { In, Out } from '../define.ts';
import { withKey, withWarmKey } from '../key/open.ts';
import type { ITEM_JOBS } from './jobs.ts';
import { checkReference, logEntry, metaOf, openText, referenceMember } from './records.ts';
import { sealNew } from './seal.ts';
import { viewOf } from './view.ts';

type Jobs = typeof ITEM_JOBS;

export function storeItem(
  context: ThreadContext,
  { params, blob, passphrase, body }: In<Jobs['storeItem']>,
): Out<Jobs['storeItem']> {
  return withWarmKey(context, params, blob, passphrase, (key) => {
    const writer = { owner: key, tokenKey: key.tokenKey };
    return sealNew(context, params, parseStoredObject(body), writer);
  });
}

export function openItem(
  context: ThreadContext,
  { params, opening, rules, item: { item, meta: record, sad, logTail } }: In<Jobs['openItem']>,
): Out<Jobs['openItem']> {
  const { token, reference, now } = params;
  return withKey(context, params, opening, (key) => {
    const meta = metaOf(context, params, token, record);
    checkReference(meta, reference, 'check');
    const stored = openText(context, params, token, key, { item, meta, sad }, now);
    const { text, card } = viewOf(context, stored, params, rules);
    const entry = logEntry(context, params, token, 'decrypt', logTail);
    return { kind: 'opened' as const, text, logEntry: entry, card: card ?? {} };
  });
}

export function describeItem(
  context: ThreadContext,
  { params, meta: record }: In<Jobs['describeItem']>,
): Out<Jobs['describeItem']> {
  const meta = metaOf(context, params, params.token, record);
  checkReference(meta, params.reference, params.rule);
  return referenceMember(context, params.aid, meta.reference, params.token);
}

export function dropSad(
  context: ThreadContext,
  { name: { token, ...key }, meta }: In<Jobs['dropSad']>,
): Out<Jobs['dropSad']> {
  const { sad, ...rest } = metaOf(context, key, token, meta);
  return sad && sealMeta(context.sealer, { env: context.env, ...key, token }, rest);
}
