import {
  type CaptureKey,
  type EndpointPlace,
  type OpenedPolicy,
  openCaptureWrap,
  openPolicy,
  openRetrieveWrap,
} from '../crypto/endpoint/record.ts';
import { type UnlockedKey, wipeKey } from '../crypto/key/vault-key.ts';
import { readBytes, readU32, wipe } from '../crypto/primitives/bytes.ts';
import type { ThreadContext } from './context.ts';
import type { EndpointPolicy, EndpointUse, KeyParams } from './kinds.ts';

const decoder = new TextDecoder();

const wrapId = (context: ThreadContext, { aid, kid }: KeyParams, { id, gen }: EndpointUse) => ({
  env: context.env,
  aid,
  kid,
  id,
  gen,
});

/** Opens a key through a retrieval endpoint. `opening` is its policy, with its length before it, and its wrap. */
export function openEndpointKey(
  context: ThreadContext,
  key: KeyParams,
  endpoint: EndpointUse,
  opening: Uint8Array,
  secret: Uint8Array,
): UnlockedKey {
  const place = wrapId(context, key, endpoint);
  const policyBytes = readU32(opening, 0);
  const policy = openPolicy(context.sealer, place, readBytes(opening, 4, policyBytes));
  return openRetrieveWrap(context.sealer, place, policy, opening.subarray(4 + policyBytes), secret);
}

/** Opens what a capture endpoint writes with. The caller wipes its token key. */
export const openCaptureKey = (
  context: ThreadContext,
  key: KeyParams,
  endpoint: EndpointUse,
  records: { readonly policy: Uint8Array; readonly wrap: Uint8Array },
  secret: Uint8Array,
): CaptureKey => {
  const place = wrapId(context, key, endpoint);
  const policy = openPolicy(context.sealer, place, records.policy);
  return openCaptureWrap(context.sealer, place, policy, records.wrap, secret);
};

/** Opens a wrap under the policy beside it, and lets go of what it holds. */
export function proveWrap(
  context: ThreadContext,
  place: EndpointPlace,
  policy: OpenedPolicy,
  wrap: Uint8Array,
  secret: Uint8Array,
): void {
  const { kid, gen } = JSON.parse(decoder.decode(policy.json)) as EndpointPolicy;
  const ids = { ...place, kid, gen };
  if (place.kind === 'capture') {
    wipe(openCaptureWrap(context.sealer, ids, policy, wrap, secret).tokenKey);
  } else {
    wipeKey(openRetrieveWrap(context.sealer, ids, policy, wrap, secret));
  }
}
