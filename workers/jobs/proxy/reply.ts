/** Handlers of the jobs on kept replies in `jobs.ts`, which says what each promises. */
import { openItem, openMeta, sealItem } from '../../crypto/item/item.ts';
import { concat, readBytes, readU32, u32 } from '../../crypto/primitives/bytes.ts';
import type { ThreadContext } from '../context.ts';
import type { In, Out } from '../define.ts';
import { withWarmKey } from '../key/open.ts';
import type { PROXY_JOBS, ReplyName } from './jobs.ts';

type Jobs = typeof PROXY_JOBS;

/** The place of a kept reply among the items of its vault key: no token has a line feed in it. */
function placeOf({ env }: ThreadContext, { aid, kid, digest }: ReplyName) {
  return { env, aid, kid, token: `reply\n${digest}` };
}

/** Seals a reply as an item is sealed: `length of the metadata 4 | metadata | envelope and content`. */
export function sealReply(
  context: ThreadContext,
  { name, blob, passphrase, reply }: In<Jobs['sealReply']>,
): Out<Jobs['sealReply']> {
  return withWarmKey(context, name, blob, passphrase, (owner) => {
    const place = placeOf(context, name);
    const { item, meta } = sealItem({ ...place, owner, part0: reply, sealer: context.sealer });
    return { kind: 'sealed' as const, record: concat([u32(meta.length), meta, item]) };
  });
}

export function openReply(
  context: ThreadContext,
  { name, blob, passphrase, record }: In<Jobs['openReply']>,
): Out<Jobs['openReply']> {
  return withWarmKey(context, name, blob, passphrase, (key) => {
    const metaBytes = readU32(record, 0);
    const place = placeOf(context, name);
    const meta = openMeta(context.sealer, place, readBytes(record, 4, metaBytes));
    const item = record.subarray(4 + metaBytes);
    return { kind: 'opened' as const, reply: openItem({ ...place, key, item, meta, nowMs: 0 }).part0 };
  });
}
