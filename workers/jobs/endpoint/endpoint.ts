/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { VaultError } from '../../../server/core/errors.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { parseStoredObject } from '../../../server/domain/json/json.ts';
import * as records from '../../crypto/endpoint/record.ts';
import { wipeKey } from '../../crypto/key/vault-key.ts';
import { wipe } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadContext, toJsonBytes } from '../context.ts';
import type { In, Out } from '../define.ts';
import { sealNew } from '../item/seal.ts';
import { withWarmKey } from '../key/open.ts';
import { applyRulesBeforeStorage } from '../rule/apply.ts';
import type { ENDPOINT_JOBS, EndpointPlace, EndpointPolicy } from './jobs.ts';

type Jobs = typeof ENDPOINT_JOBS;

/** The key id of endpoints that stand in for unknown ones. */
const DECOY_KID = 'decoy';

export function createEndpoint(
  context: ThreadContext,
  { params, blob, passphrase, policy }: In<Jobs['createEndpoint']>,
): Out<Jobs['createEndpoint']> {
  return withWarmKey(context, params, blob, passphrase, (key) => {
    const place = { env: context.env, ...params };
    const made = records.sealEndpoint(context.sealer, place, toJsonBytes(policy), key);
    if (made.gen !== params.gen) {
      throw new VaultError('key_changed');
    }
    return {
      kind: 'created' as const,
      secret: made.secret,
      policy: made.policyRecord,
      wrap: made.wrapRecord,
    };
  });
}

export function describeEndpoint(
  { env, sealer }: ThreadContext,
  { place, policy }: In<Jobs['describeEndpoint']>,
): Out<Jobs['describeEndpoint']> {
  return records.openPolicy(sealer, { env, ...place }, policy).json;
}

export function checkEndpoint(
  context: ThreadContext,
  { place, policy: record, wrap, secret }: In<Jobs['checkEndpoint']>,
): Out<Jobs['checkEndpoint']> {
  const ids = { env: context.env, ...place };
  const policy = records.openPolicy(context.sealer, ids, record);
  if (!records.checkEndpointSecret(ids, policy, secret)) {
    throw new records.EndpointSecretError();
  }
  if (wrap) {
    proveWrap(context, place, policy, wrap, secret);
  }
  return policy.json;
}

/** Opens a wrap under the policy beside it, and wipes what it holds. */
function proveWrap(
  { env, sealer }: ThreadContext,
  place: EndpointPlace,
  policy: records.OpenedPolicy,
  wrap: Uint8Array,
  secret: Uint8Array,
): void {
  const { kid, gen } = parseOwn<EndpointPolicy>(policy.json);
  const ids = { env, ...place, kid, gen };
  if (place.kind === 'capture') {
    wipe(records.openCaptureWrap(sealer, ids, policy, wrap, secret).tokenKey);
  } else {
    wipeKey(records.openRetrieveWrap(sealer, ids, policy, wrap, secret));
  }
}

export function decoyEndpoint(
  { env, sealer }: ThreadContext,
  { place }: In<Jobs['decoyEndpoint']>,
): Out<Jobs['decoyEndpoint']> {
  const policy: EndpointPolicy = {
    kind: place.kind,
    account: '',
    user: '',
    kid: DECOY_KID,
    gen: 1,
    expiresAt: null,
    rules: [],
    wantsCard: false,
  };
  const key = records.throwawayKey(DECOY_KID);
  try {
    const made = records.sealEndpoint(sealer, { env, ...place, kid: DECOY_KID }, toJsonBytes(policy), key);
    return { policy: made.policyRecord, wrap: made.wrapRecord };
  } finally {
    wipeKey(key);
  }
}

export function captureItem(
  context: ThreadContext,
  { params, records: { policy, wrap }, secret, rules, body }: In<Jobs['captureItem']>,
): Out<Jobs['captureItem']> {
  const { env, sealer } = context;
  const ids = { env, aid: params.aid, kid: params.kid, ...params.endpoint };
  const key = records.openCaptureWrap(sealer, ids, records.openPolicy(sealer, ids, policy), wrap, secret);
  const writer = { owner: key, tokenKey: key.tokenKey };
  try {
    const sent = parseStoredObject(body);
    if (rules.length === 0) {
      return sealNew(context, params, sent, writer);
    }
    const object = applyRulesBeforeStorage(context, params, rules, sent);
    if (encodeJson(object).length > params.bytesMax) {
      throw new VaultError('body_too_large');
    }
    return sealNew(context, params, object, writer);
  } finally {
    wipe(key.tokenKey);
  }
}
