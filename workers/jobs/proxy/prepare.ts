/** What the jobs that fill and prepare requests have in common. */
import { VaultError } from '../../../server/core/errors.ts';
import type { JsonObject } from '../../../server/domain/json/json.ts';
import { type FilledRequest, fillRequest } from '../../../server/domain/proxy/fill.ts';
import { generationOf, type UnlockedKey } from '../../crypto/key/unlocked.ts';
import { EMPTY, utf8 } from '../../crypto/primitives/bytes.ts';
import { workedMs } from '../rule/apply.ts';
import type { FillProxyParams, PrepareFetchParams } from './jobs.ts';
import type { ParsedOrder } from './order.ts';
import type { SealedRequest } from './record.ts';

/** What is sent: the request without its body, and the body. */
export interface Outgoing {
  readonly request: SealedRequest;
  readonly body: Uint8Array;
}

/** A filled request as a job keeps it. */
export function outgoing({ method, url, headers, body }: FilledRequest): Outgoing {
  return {
    request: { method, url, headers, hasBody: body !== undefined },
    body: body === undefined ? EMPTY : utf8(body),
  };
}

/** Fills the request of an order, which must have one. */
export function fillOrder({ request }: ParsedOrder, view: JsonObject): FilledRequest {
  if (request === undefined) {
    throw new VaultError('internal');
  }
  return fillRequest(request, view, workedMs);
}

/** What the facts of every kind of job are made of. */
export function commonFacts(
  { account, user, kid, ip, ua, attempts, requestId }: FillProxyParams | PrepareFetchParams,
  { facts }: ParsedOrder,
  key: UnlockedKey,
) {
  return {
    account,
    user,
    kid,
    gen: generationOf(key).gen,
    ip,
    ua,
    requestId,
    attempts,
    repeatable: facts.repeatable,
    synchronous: facts.synchronous,
    clientCertId: facts.clientCertId,
  };
}
