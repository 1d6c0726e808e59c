/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { VaultError } from '../../../server/core/errors.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../../server/domain/json/json.ts';
import { smartParse } from '../../../server/domain/reply/smart-parse.ts';
import {
  openCaptureWrap,
  openPolicy,
  openRetrieveWrap,
  policyDigest,
  sealEndpoint,
} from '../../crypto/endpoint/record.ts';
import { checkEndpointSecret, EndpointSecretError } from '../../crypto/endpoint/secret.ts';
import { throwawayKey } from '../../crypto/key/vault-key.ts';
import { parseOwn, type ThreadHandlers, toJsonBytes } from '../context.ts';
import { sealNew } from '../item/records.ts';
import { openCapture, openWarmKey, WARM_MISS } from '../key/open.ts';
import { applyRulesBeforeStorage } from '../rule/rule.ts';
import type { ENDPOINT_JOBS, EndpointPolicy } from './jobs.ts';

/** The key id of endpoints that stand in for unknown ones. */
const DECOY_KID = 'decoy';
const DECOY_POLICY = {
  ...{ account: '', user: '', kid: DECOY_KID, gen: 1 },
  ...{ expiresAt: null, rules: [], wantsCard: false },
};

/** The card in a body of any format, with the body around it. */
function readAnything(body: Uint8Array, contentType: string | undefined): JsonObject {
  const object = smartParse(Buffer.from(body).toString('utf8'), contentType)?.object;
  if (object === undefined) {
    throw new VaultError('number_missing');
  }
  return object;
}

/** The handlers of `ENDPOINT_JOBS`. */
export const ENDPOINT_HANDLERS: ThreadHandlers<typeof ENDPOINT_JOBS> = {
  createEndpoint(context, { params, blob, passphrase, policy }) {
    const key = openWarmKey(context, params, blob, passphrase);
    if (!key) {
      return WARM_MISS;
    }
    const place = { env: context.env, ...params };
    const { secret, policyRecord, wrapRecord, gen, digest } = sealEndpoint(
      context.sealer,
      place,
      toJsonBytes(policy),
      key,
    );
    if (gen !== params.gen) {
      throw new VaultError('key_changed');
    }
    return { kind: 'created', secret, policy: policyRecord, wrap: wrapRecord, digest };
  },

  describeEndpoint({ env, sealer }, { place, policy }) {
    return openPolicy(sealer, { env, ...place }, policy).json;
  },

  endpointDigest({ env, sealer }, { place, policy }) {
    return policyDigest(openPolicy(sealer, { env, ...place }, policy).hash);
  },

  checkEndpoint({ env, sealer }, { place, policy: record, wrap, secret }) {
    const policy = openPolicy(sealer, { env, ...place }, record);
    if (!checkEndpointSecret({ env, ...place }, policy, secret)) {
      throw new EndpointSecretError();
    }
    if (wrap) {
      const { kid, gen } = parseOwn<EndpointPolicy>(policy.json);
      const openWrap = place.kind === 'capture' ? openCaptureWrap : openRetrieveWrap;
      openWrap(sealer, { env, ...place, kid, gen }, policy, wrap, secret)[Symbol.dispose]();
    }
    return policy.json;
  },

  decoyEndpoint({ env, sealer }, { place }) {
    const policy: EndpointPolicy = { kind: place.kind, ...DECOY_POLICY };
    using key = throwawayKey(DECOY_KID);
    const made = sealEndpoint(sealer, { env, ...place, kid: DECOY_KID }, toJsonBytes(policy), key);
    return { policy: made.policyRecord, wrap: made.wrapRecord };
  },

  captureItem(context, { params, records, secret, rules, body }) {
    const key = openCapture(context, params, { use: params.endpoint, ...records, secret });
    const sent = params.smartParse
      ? readAnything(body, params.smartParse.contentType)
      : parseStoredObject(body);
    if (rules.length === 0) {
      return sealNew(context, params, sent, key);
    }
    const object = applyRulesBeforeStorage(context, params, rules, sent);
    if (encodeJson(object).length > params.bytesMax) {
      throw new VaultError('body_too_large');
    }
    return sealNew(context, params, object, key);
  },
};
