import { sealMeta } from '../crypto/item/item.ts';
import { EMPTY, field, type Handler, paramsOf } from './context.ts';
import { metaOf } from './items.ts';
import type { DropSadParams } from './proxy-kinds.ts';

/** The metadata of an item that has lost its sensitive authentication data; everything else of it stays. */
export const dropSad: Handler = (context, fields) => {
  const { token, ...ids } = paramsOf<DropSadParams>(fields);
  const { sad, ...rest } = metaOf(context, ids, token, field(fields, 1));
  return [sad === undefined ? EMPTY : sealMeta(context.sealer, { env: context.env, ...ids, token }, rest)];
};
