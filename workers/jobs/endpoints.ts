import { encodeJson } from '../../server/domain/json/bytes.ts';
import { parseStoredObject } from '../../server/domain/json/json.ts';
import {
  checkEndpointSecret,
  EndpointSecretError,
  openPolicy,
  sealEndpoint,
  throwawayKey,
} from '../crypto/endpoint/record.ts';
import { wipeKey } from '../crypto/key/vault-key.ts';
import { wipe } from '../crypto/primitives/bytes.ts';
import { field, type Handler, JobFailure, paramsOf, toBytes, toJsonBytes } from './context.ts';
import { openCaptureKey, proveWrap } from './endpoint-open.ts';
import { sealNew } from './items.ts';
import { withKey } from './keys.ts';
import type { CaptureParams, CreateEndpointParams, EndpointParams, EndpointPolicy } from './kinds.ts';
import { applyRulesBeforeStorage } from './rules.ts';

export const createEndpoint: Handler = (context, fields) => {
  const params = paramsOf<CreateEndpointParams>(fields);
  return withKey(context, params, fields, (key) => {
    const made = sealEndpoint(context.sealer, { ...params, env: context.env }, field(fields, 3), key);
    if (made.gen !== params.gen) {
      throw new JobFailure('key_changed');
    }
    return [toBytes(made.secret), made.policyRecord, made.wrapRecord];
  });
};

export const describeEndpoint: Handler = (context, fields) => {
  const { aid, id } = paramsOf<Pick<EndpointParams, 'aid' | 'id'>>(fields);
  return [openPolicy(context.sealer, { env: context.env, aid, id }, field(fields, 1)).json];
};

/**
 * Whether the secret is the endpoint's, and then its policy. Of an endpoint that was not stopped the wrap is opened
 * as well: what a policy says counts only where a wrap is bound to it.
 */
export const checkEndpoint: Handler = (context, fields) => {
  const place = { ...paramsOf<EndpointParams>(fields), env: context.env };
  const policy = openPolicy(context.sealer, place, field(fields, 1));
  const secret = field(fields, 2);
  if (!checkEndpointSecret(place, policy, secret)) {
    throw new EndpointSecretError();
  }
  const wrap = fields[3];
  if (wrap) {
    proveWrap(context, place, policy, wrap, secret);
  }
  return [policy.json];
};

export const decoyEndpoint: Handler = (context, fields) => {
  const { aid, id, kind } = paramsOf<EndpointParams>(fields);
  const kid = 'decoy';
  const key = throwawayKey(kid);
  const policy: EndpointPolicy = {
    kind,
    account: '',
    user: '',
    kid,
    gen: 1,
    expiresAt: null,
    rules: [],
    wantsCard: false,
  };
  try {
    const place = { env: context.env, aid, id, kind, kid };
    const made = sealEndpoint(context.sealer, place, toJsonBytes(policy), key);
    return [made.policyRecord, made.wrapRecord];
  } finally {
    wipeKey(key);
  }
};

/** Stores what a third party sends: the secret is checked before the body is looked at. */
export const captureItem: Handler = (context, fields) => {
  const params = paramsOf<CaptureParams>(fields);
  const records = { policy: field(fields, 1), wrap: field(fields, 2) };
  const key = openCaptureKey(context, params, params.endpoint, records, field(fields, 3));
  try {
    const sent = parseStoredObject(field(fields, 5));
    if (params.rules.length === 0) {
      return sealNew(context, params, sent, { owner: key, tokenKey: key.tokenKey });
    }
    const object = applyRulesBeforeStorage(context, params, field(fields, 4), sent);
    if (encodeJson(object).length > params.bytesMax) {
      throw new JobFailure('body_too_large');
    }
    return sealNew(context, params, object, { owner: key, tokenKey: key.tokenKey });
  } finally {
    wipe(key.tokenKey);
  }
};
