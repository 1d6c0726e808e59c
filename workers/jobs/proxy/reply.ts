/** Handlers of the jobs on kept replies in `jobs.ts`, which says what each promises. */
import { openItem, sealItem } from '../../crypto/item/item.ts';
import { openMeta } from '../../crypto/item/meta.ts';
import { concat, readBytes, readU32, u32 } from '../../crypto/primitives/bytes.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import { openWarmKey, WARM_MISS } from '../key/open.ts';
import type { PROXY_JOBS, ReplyName } from './jobs.ts';

/** The place of a kept reply among the items of its vault key: no token has a line feed in it. */
function placeOf({ env }: ThreadContext, { aid, kid, digest }: ReplyName) {
  return { env, aid, kid, token: `reply\n${digest}` };
}

/** The handlers of `sealReply` and `openReply`. */
export const REPLY_HANDLERS = {
  /** Seals a reply as an item is sealed: `length of the metadata 4 | metadata | envelope and content`. */
  sealReply(context, { name, blob, passphrase, reply }) {
    const owner = openWarmKey(context, name, blob, passphrase);
    if (!owner) {
      return WARM_MISS;
    }
    const place = placeOf(context, name);
    const { item, meta } = sealItem({ ...place, owner, part0: reply, sealer: context.sealer });
    return { kind: 'sealed', record: concat([u32(meta.length), meta, item]) };
  },

  openReply(context, { name, blob, passphrase, record }) {
    const key = openWarmKey(context, name, blob, passphrase);
    if (!key) {
      return WARM_MISS;
    }
    const metaBytes = readU32(record, 0);
    const place = placeOf(context, name);
    const meta = openMeta(context.sealer, place, readBytes(record, 4, metaBytes));
    const item = record.subarray(4 + metaBytes);
    return { kind: 'opened', reply: openItem({ ...place, key, item, meta, nowMs: 0 }).part0 };
  },
} satisfies Partial<ThreadHandlers<typeof PROXY_JOBS>>;
