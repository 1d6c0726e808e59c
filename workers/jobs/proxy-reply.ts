import { openItem, openMeta, sealItem } from '../crypto/item/item.ts';
import { concat, readBytes, readU32, u32 } from '../crypto/primitives/bytes.ts';
import { field, type Handler, paramsOf, type ThreadContext } from './context.ts';
import { withKey } from './keys.ts';
import type { ReplyParams } from './proxy-kinds.ts';

/** The place of a kept reply among the items of its vault key: no token has a line feed in it. */
const placeOf = (context: ThreadContext, { aid, kid, digest }: ReplyParams) => ({
  env: context.env,
  aid,
  kid,
  token: `reply\n${digest}`,
});

/** Seals a reply as an item is sealed: `length of the metadata 4 | metadata | envelope and content`. */
export const sealReply: Handler = (context, fields) => {
  const params = paramsOf<ReplyParams>(fields);
  return withKey(context, params, fields, (owner) => {
    const place = placeOf(context, params);
    const { item, meta } = sealItem({ ...place, owner, part0: field(fields, 3), sealer: context.sealer });
    return [concat([u32(meta.length), meta, item])];
  });
};

/** Opens a kept reply under any passphrase that the vault key has had since. */
export const openReply: Handler = (context, fields) => {
  const params = paramsOf<ReplyParams>(fields);
  return withKey(context, params, fields, (key) => {
    const record = field(fields, 3);
    const metaBytes = readU32(record, 0);
    const place = placeOf(context, params);
    const meta = openMeta(context.sealer, place, readBytes(record, 4, metaBytes));
    return [openItem({ ...place, key, item: record.subarray(4 + metaBytes), meta, nowMs: 0 }).part0];
  });
};
