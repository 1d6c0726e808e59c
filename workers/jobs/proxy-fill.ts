import { encodeJson } from '../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../server/domain/json/json.ts';
import { maskForced } from '../../server/domain/mask/mask.ts';
import { type FilledRequest, filledRequestJson, fillRequest } from '../../server/domain/proxy/fill.ts';
import { tokenRequest } from '../../server/domain/proxy/network-token.ts';
import { newestGeneration } from '../crypto/key/unlocked.ts';
import type { UnlockedKey } from '../crypto/key/vault-key.ts';
import {
  EMPTY,
  type Fields,
  field,
  type Handler,
  JobFailure,
  paramsOf,
  type ThreadContext,
  toBytes,
  toFailure,
  toJsonBytes,
} from './context.ts';
import { checkReference, logEntry, metaOf, openText } from './items.ts';
import { withKey } from './keys.ts';
import type { FillProxyParams, JobFacts, JobRequest, PrepareFetchParams } from './proxy-kinds.ts';
import { type Order, readOrder, reportOf } from './proxy-order.ts';
import { sealSend } from './proxy-record.ts';
import { applyRules, workedMs } from './rules.ts';

/** What is sent: the request without its body, and the body. */
interface Outgoing {
  readonly request: JobRequest;
  readonly body: Uint8Array;
}

/** A filled request as a job keeps it. */
export const outgoing = ({ method, url, headers, body }: FilledRequest): Outgoing => ({
  request: { method, url, headers, hasBody: body !== undefined },
  body: body === undefined ? EMPTY : toBytes(body),
});

/** Fills the request of an order, which must have one. */
export function fillOrder({ request }: Order, view: JsonObject): FilledRequest {
  if (request === undefined) {
    throw new JobFailure('internal');
  }
  return fillRequest(request, view, workedMs);
}

/** What the facts of every kind of job are made of. */
export const commonFacts = (
  { account, user, kid, ip, ua, attempts, requestId }: FillProxyParams | PrepareFetchParams,
  { facts }: Order,
  key: UnlockedKey,
) => ({
  account,
  user,
  kid,
  gen: newestGeneration(key).gen,
  ip,
  ua,
  requestId,
  attempts,
  repeatable: facts.repeatable,
  synchronous: facts.synchronous,
  clientCertId: facts.clientCertId,
});

function askForToken(card: JsonObject): Outgoing {
  const asked = tokenRequest(card);
  if (asked === undefined) {
    throw new JobFailure('number_missing');
  }
  const request = { method: 'POST', url: '', headers: [], hasBody: true };
  return { request, body: encodeJson(asked) };
}

/** The opened item, checked and with rules applied: a new object at each call, masked before its rules or not. */
function openViews(
  context: ThreadContext,
  params: FillProxyParams,
  fields: Fields,
  key: UnlockedKey,
): (masked: boolean) => JsonObject {
  const meta = metaOf(context, params, params.token, field(fields, 5));
  checkReference(meta, params.reference, 'check');
  const sealed = { item: field(fields, 4), meta, sad: field(fields, 6) };
  const text = openText(context, params, params.token, key, sealed, params.now);
  return (masked) => {
    const stored = parseStoredObject(text);
    const seen = masked ? maskForced(stored) : stored;
    return params.rules.length === 0 ? seen : applyRules(context, params, field(fields, 3), seen);
  };
}

/** What `debug` shows: the request that is sent, or the same one filled from a masked copy of the item. */
function shownOf(
  { debug }: FillProxyParams,
  order: Order,
  viewOf: (masked: boolean) => JsonObject,
): Uint8Array {
  return debug === 'none'
    ? EMPTY
    : encodeJson(filledRequestJson(fillOrder(order, viewOf(debug === 'masked'))));
}

/**
 * Fills a request from an item, whose opening is logged, and seals it as a job. Card data stays in the thread. What
 * is wrong once the item is open comes back as a code beside the log entry.
 */
export const fillProxy: Handler = (context, fields) => {
  const params = paramsOf<FillProxyParams>(fields);
  const { what, token, reference, requesterId } = params;
  return withKey(context, params, fields, (key) => {
    const viewOf = openViews(context, params, fields, key);
    const order = readOrder(field(fields, 8));
    const isToken = what === 'network_token';
    const entry = logEntry(context, params, token, 'decrypt', field(fields, 7));
    const make = (): [job: Uint8Array, shown: Uint8Array] => {
      const out = isToken ? askForToken(viewOf(false)) : outgoing(fillOrder(order, viewOf(false)));
      const facts: JobFacts = {
        what,
        ...commonFacts(params, order, key),
        token,
        reference,
        requesterId,
        rules: [],
      };
      const job = sealSend(context, params, {
        facts,
        ...out,
        ...reportOf(order),
        publicKey: isToken ? newestGeneration(key).publicKey : EMPTY,
        tokenKey: EMPTY,
      });
      return [job, isToken ? EMPTY : shownOf(params, order, viewOf)];
    };
    try {
      const [job, shown] = make();
      return [job, entry, shown, EMPTY];
    } catch (error) {
      // What the item holds has decided this: that it was read is logged all the same.
      const { field: place, ...failure } = toFailure(error);
      return [EMPTY, entry, EMPTY, toJsonBytes(params.forcedMask ? failure : { ...failure, field: place })];
    }
  });
};
