/**
 * Sends what was entered to its endpoint, and reads items, sealed wherever the browser can: what ends TLS before the vault,
 * and what logs requests and replies, then sees no number.
 */
import { canSeal, SEALED_TYPE, type SealTo, sealBody, sealedReader } from '../../sdk/seal/seal.ts';
import { members } from '../base/config.ts';
import {
  type AttemptKeys,
  type CallDeps,
  call,
  callUrl,
  type EndpointAddress,
  type Outcome,
  parseExact,
} from './submit.ts';

/** Asks whether an endpoint takes data. */
export function checkCapture({ api, unique_id, secret }: EndpointAddress, deps: CallDeps): Promise<Outcome> {
  const url = callUrl(api, 'capture', unique_id, {});
  return call(url, { headers: { 'X-Vault-Capture-Secret': secret } }, deps);
}

/** Sends a body as it is: pages under plain http cannot seal. An endpoint that takes no such body is not shown it. */
async function postPlain(
  to: EndpointAddress,
  post: (body: string) => Promise<Outcome>,
  body: string,
  deps: CallDeps,
): Promise<Outcome> {
  const state = await checkCapture(to, deps);
  if ('failure' in state) {
    return state;
  }
  return members(state.reply)['require_sealed'] === true
    ? { failure: { status: 400, code: 'sealing_required', error: 'This page cannot seal what it sends.' } }
    : post(body);
}

/**
 * Posts a body under the idempotency key of its attempt. It is sealed once for all repeats, and again where its key has
 * expired, which stores nothing.
 */
export async function postCapture(
  to: EndpointAddress,
  query: Readonly<Record<string, string | undefined>>,
  body: string,
  attempts: AttemptKeys,
  deps: CallDeps,
): Promise<Outcome> {
  const { api, unique_id, secret } = to;
  const key = attempts.keyFor(body);
  const url = callUrl(api, 'capture', unique_id, query);
  const headers = { 'X-Vault-Capture-Secret': secret, 'Idempotency-Key': key };
  const post = (sent: string, type?: object): Promise<Outcome> =>
    call(url, { method: 'POST', headers: { ...headers, ...type }, body: sent }, deps);
  if (!canSeal()) {
    return postPlain(to, post, body, deps);
  }
  for (let cache: RequestCache = 'default'; ; cache = 'reload') {
    if (attempts.sealed === undefined) {
      const found = await call(
        `${api}/v1/capture/${encodeURIComponent(unique_id)}/sealing-key`,
        { cache },
        deps,
      );
      if ('failure' in found) {
        return found;
      }
      const names = [unique_id, query['reference'], key] as const;
      attempts.sealed = await sealBody(found.reply as SealTo, names, body).catch(() => undefined);
      if (attempts.sealed === undefined) {
        return {
          failure: { status: 0, code: 'sealing_failed', error: 'The reply is no key of the service.' },
        };
      }
    }
    const outcome = await post(attempts.sealed, { 'Content-Type': SEALED_TYPE });
    const isExpired = 'failure' in outcome && outcome.failure.code === 'sealing_key_expired';
    if (!isExpired || cache === 'reload') {
      return outcome;
    }
    attempts.sealed = undefined;
  }
}

const UNSEALED: Outcome = {
  failure: { status: 0, code: 'sealing_failed', error: 'The reply was not sealed to this page.' },
};

/** Reads an item; sealed to a key pair of this request alone if that `isSealed`. */
export async function readRetrieval(
  { api, unique_id, secret }: EndpointAddress,
  query: Readonly<Record<'token' | 'reference' | 'form_type', string | undefined>>,
  isSealed: boolean,
  deps: CallDeps,
): Promise<Outcome> {
  const url = callUrl(api, 'retrieve', unique_id, query);
  const headers = { 'X-Vault-Retrieve-Secret': secret };
  if (!isSealed) {
    return call(url, { headers }, deps);
  }
  if (!canSeal()) {
    return UNSEALED;
  }
  const reader = await sealedReader();
  const outcome = await call(url, { headers: { ...headers, 'X-Vault-Seal-To': reader.point } }, deps);
  if ('failure' in outcome) {
    return outcome;
  }
  const names = [unique_id, query.token, query.reference] as const;
  const opened = await reader.open(names, JSON.stringify(outcome.reply)).catch(() => undefined);
  return opened === undefined ? UNSEALED : { reply: parseExact(opened) };
}
