/** Handlers of the jobs on single items in `jobs.ts`, which says what each promises. */
import { parseStoredObject } from '../../../server/domain/json/json.ts';
import { sealMeta } from '../../crypto/item/meta.ts';
import type { ThreadHandlers } from '../context.ts';
import { openKey, openWarmKey, WARM_MISS } from '../key/open.ts';
import type { ITEM_JOBS } from './jobs.ts';
import { checkReference, logEntry, metaOf, openText, referenceMember } from './records.ts';
import { sealNew } from './seal.ts';
import { viewOf } from './view.ts';

/** Handlers of jobs of `jobs.ts`, which says what each promises. */
export const ITEM_HANDLERS = {
  storeItem(context, { params, blob, passphrase, body }) {
    using key = openWarmKey(context, params, blob, passphrase);
    if (!key) {
      return WARM_MISS;
    }
    return sealNew(context, params, parseStoredObject(body), key);
  },

  openItem(context, { params, opening, rules, item: { item, meta: record, sad, logTail } }) {
    const { token, reference, now } = params;
    using key = openKey(context, params, opening);
    if (!key) {
      return WARM_MISS;
    }
    const meta = metaOf(context, params, token, record);
    checkReference(meta, reference, 'check');
    const stored = openText(context, params, token, key, { item, meta, sad }, now);
    const { text, card } = viewOf(context, stored, params, rules);
    const entry = logEntry(context, params, token, 'decrypt', logTail);
    return { kind: 'opened', text, logEntry: entry, card: card ?? {} };
  },

  describeItem(context, { params, meta: record }) {
    const meta = metaOf(context, params, params.token, record);
    checkReference(meta, params.reference, params.rule);
    return referenceMember(context, params.aid, meta.reference, params.token);
  },

  dropSad(context, { name: { token, ...key }, meta }) {
    const { sad, ...rest } = metaOf(context, key, token, meta);
    return sad && sealMeta(context.sealer, { env: context.env, ...key, token }, rest);
  },
} satisfies Partial<ThreadHandlers<typeof ITEM_JOBS>>;
