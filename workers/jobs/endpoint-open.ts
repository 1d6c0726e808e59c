import { readBytes, readU32 } from '../crypto/bytes.ts';
import { type CaptureKey, openCaptureWrap, openPolicy, openRetrieveWrap } from '../crypto/endpoint-record.ts';
import type { UnlockedKey } from '../crypto/vault-key.ts';
import type { ThreadContext } from './context.ts';
import type { EndpointUse, KeyParams } from './kinds.ts';

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
