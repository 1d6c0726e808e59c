import { VaultError } from '../../../server/core/errors.ts';
import type { FoundCard } from '../../../server/domain/inbound/extract.ts';
import { replaceCards, replaceReplyCards } from '../../../server/domain/inbound/inbound.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { openConnection, outgoingRequest } from '../connection/handlers.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import { openWarmKey, WARM_MISS, withCapture } from '../key/open.ts';
import type { StoredParts } from '../vault/jobs.ts';
import { type SealingKey, sealNew } from '../vault/records.ts';
import type { INBOUND_JOBS, InboundParams } from './jobs.ts';

/** Returns a function that seals each card of a message and returns its token, and the items that it has sealed. */
function cardSealer(context: ThreadContext, params: InboundParams, key: SealingKey) {
  const { candidates, bytesMax } = params;
  const items: StoredParts[] = [];
  const seal = ({ object, reference = params.reference }: FoundCard): string => {
    if (encodeJson(object).length > bytesMax) {
      throw new VaultError('body_too_large');
    }
    const candidate = candidates[items.length] ?? 0;
    const item = sealNew(context, { ...params, reference, candidate, seen: 0 }, object, key);
    items.push(item);
    return item.facts.token;
  };
  return { items, seal };
}

export const INBOUND_HANDLERS: ThreadHandlers<typeof INBOUND_JOBS> = {
  takeRequest(context, { params, records, secret, connection: record, body }) {
    const { aid, endpoint, connection: id, rules, method, path, query, headers, now } = params;
    const opening = { use: endpoint, ...records, secret };
    const take = (key: SealingKey) => {
      const { items, seal } = cardSealer(context, params, key);
      const { stored, ...taken } = replaceCards({ path, query, headers, body }, rules, seal);
      const connection = openConnection(context, { aid, id }, record);
      const { request, secrets } = outgoingRequest(connection, { ...taken, method }, undefined, now);
      const showing = { sight: 'all', numbers: [], sent: [], paths: [], secrets } as const;
      return { items, stored, request, showing };
    };
    return withCapture(context, params, opening, take, 'inbound');
  },

  takeReply(context, { params, blob, passphrase, body }) {
    const key = openWarmKey(context, params, blob, passphrase);
    if (!key) {
      return WARM_MISS;
    }
    const { items, seal } = cardSealer(context, params, key);
    const taken = replaceReplyCards({ headers: params.headers, body }, params.rules, seal);
    return { kind: 'taken', items, ...taken };
  },
};
