import { VaultError } from '../../../server/core/errors.ts';
import { findNumbers, keepNumbers } from '../../../server/domain/card/number.ts';
import { splitSad } from '../../../server/domain/card/sad.ts';
import { POINT_EXPECTED, readReference } from '../../../server/domain/endpoint.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../../server/domain/json/json.ts';
import { firstNamed, type NamedPath, parseNamedPath } from '../../../server/domain/json/named.ts';
import { webhookBody } from '../../../server/domain/proxy/webhook-body.ts';
import { type SmartParsed, smartParseBody } from '../../../server/domain/reply/smart-parse.ts';
import { patchedSummary } from '../../../server/domain/reply/stored-card.ts';
import {
  checkEndpointSecret,
  EndpointSecretError,
  openCaptureWrap,
  openPolicy,
  openRetrieveWrap,
  policyDigest,
  sealEndpoint,
} from '../../crypto/endpoint/record.ts';
import {
  newSealingKey,
  openSealedBody,
  openSealingKey,
  sealReplyBody,
} from '../../crypto/endpoint/sealing-key.ts';
import { sealPatch } from '../../crypto/item/item.ts';
import type { OpenedMeta } from '../../crypto/item/meta.ts';
import { throwawayKey } from '../../crypto/key/vault-key.ts';
import { EMPTY, openedOrNot, utf8, wipe } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadContext, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { In } from '../define.ts';
import { openWarmKey, WARM_MISS, withCapture } from '../key/open.ts';
import type { ParsedOrder } from '../proxy/order.ts';
import { hostOf, sealReport } from '../proxy/record.ts';
import { applyRulesBeforeStorage } from '../rule/handlers.ts';
import type { ThreadRules } from '../rule/jobs.ts';
import {
  checkLive,
  checkReference,
  indexDigests,
  isTokenOf,
  logEntry,
  metadataOf,
  metaOf,
  referenceMember,
  sadAt,
  sealNew,
  summaryOf,
} from '../vault/records.ts';
import type { CaptureParams, ENDPOINT_JOBS, EndpointPolicy, PatchParams, SealedPolicy } from './jobs.ts';

/** The key id of endpoints that replace unknown ones. */
const DECOY_KID = 'decoy';
const DECOY_POLICY = {
  ...{ account: '', user: '', kid: DECOY_KID, gen: 1 },
  ...{ expiresAt: null, rules: [], wantsCard: false },
};

/** The most unmerged patches of one item: reading it costs as many key agreements. */
const PATCHES_MAX = 32;

/** Reads the card in a body of any format, with the body around it. */
function readAnything(body: Uint8Array, contentType: string | undefined, path?: NamedPath): SmartParsed {
  const parsed = smartParseBody(body, contentType, path);
  if (parsed === undefined) {
    throw new VaultError('number_missing', {
      field: 'body',
      expected:
        'must contain a card number: under a name such as `card_number` or `pan`, or 13 to 19 digits of a network that pass Luhn',
    });
  }
  return parsed;
}

function webhookOf(order: Uint8Array): Pick<SealedPolicy, 'webhook'> {
  const { webhook, metadata } = order.length === 0 ? {} : parseOwn<Partial<ParsedOrder>>(order);
  return webhook === undefined ? {} : { webhook: { ...webhook, metadata } };
}

/** Returns a policy as the server sees it. */
function withoutWebhook(json: Uint8Array): Uint8Array {
  const { webhook, ...policy } = parseOwn<SealedPolicy>(json);
  return webhook === undefined ? json : toJsonBytes({ ...policy, isTold: true } satisfies EndpointPolicy);
}

/** Calls `use` with the body as its sender wrote it. A sealed body is opened for that, and wiped afterwards. */
function withOpened<T>(
  { sealer }: ThreadContext,
  { endpoint: { id } }: CaptureParams | PatchParams,
  { sealed, body }: Pick<In<typeof ENDPOINT_JOBS.captureItem>, 'body' | 'sealed'>,
  use: (body: Uint8Array) => T,
): T {
  if (sealed === undefined) {
    return use(body);
  }
  const { kid, ...names } = sealed.names;
  using pair = openSealingKey(sealer, kid.split('-')[0] ?? '', sealed.key);
  if (pair.kid !== kid) {
    throw new VaultError('sealing_key_expired');
  }
  const opened = openedOrNot(() =>
    openSealedBody(pair, { enc: sealed.enc, ciphertext: body }, { id, ...names }),
  );
  if (opened === undefined) {
    throw new VaultError('invalid_request', { field: 'body' });
  }
  try {
    return use(opened);
  } finally {
    wipe(opened);
  }
}

const JSON_EXPECTED =
  'must be a JSON object in UTF-8; an endpoint that is created with `smart_parse=true` also takes forms, XML and text';
/** The beginning of a body, in which its format shows. */
const START_BYTES = 64;
const MAY_BE_JSON = /^\s*[[{]/;

/** Reads a JSON object. The error of a form, XML or text says what would take it. */
function readObject(body: Uint8Array): JsonObject {
  try {
    return parseStoredObject(body);
  } catch (error) {
    const isJson = MAY_BE_JSON.test(Buffer.from(body.subarray(0, START_BYTES)).toString('latin1'));
    throw error instanceof VaultError && error.code === 'invalid_json' && !isJson
      ? new VaultError('invalid_json', { field: 'body', expected: JSON_EXPECTED })
      : error;
  }
}

/** A body as it was sent, and the reference in it, if the endpoint has a path for that. */
interface ReadBody {
  readonly object: JsonObject;
  readonly reference?: string | undefined;
}

/** Reads a body that was sent to a capture endpoint. */
function readBody(params: CaptureParams | PatchParams, body: Uint8Array): ReadBody {
  const { smartParse: smart } = params;
  const field = 'referenceField' in params ? params.referenceField : undefined;
  const path = field === undefined ? undefined : parseNamedPath(field);
  if (smart) {
    const { object, named } = readAnything(body, smart.contentType, path);
    return { object, reference: readReference(named) };
  }
  const object = readObject(body);
  return { object, reference: path && readReference(firstNamed(object, path)) };
}

/** Returns an object that was sent as it is to be stored. */
function ruled(
  context: ThreadContext,
  params: CaptureParams | PatchParams,
  rules: ThreadRules,
  sent: JsonObject,
): JsonObject {
  if (rules.length === 0) {
    return sent;
  }
  const object = applyRulesBeforeStorage(context, params, rules, sent);
  if (encodeJson(object).length > params.bytesMax) {
    throw new VaultError('body_too_large');
  }
  return object;
}

/** Returns the summary of an item after a patch; undefined if it has none. */
function patchedSummaryText(meta: OpenedMeta, changes: JsonObject): string | undefined {
  const summary = summaryOf(meta);
  return summary && JSON.stringify(patchedSummary(summary, changes));
}

export const ENDPOINT_HANDLERS: ThreadHandlers<typeof ENDPOINT_JOBS> = {
  createEndpoint(context, { params, blob, passphrase, policy, order, given }) {
    const key = openWarmKey(context, params, blob, passphrase);
    if (!key) {
      return WARM_MISS;
    }
    const place = { env: context.env, ...params };
    const { secret, policyRecord, wrapRecord, gen, digest } = sealEndpoint(
      context.sealer,
      place,
      toJsonBytes({ ...policy, ...webhookOf(order) }),
      key,
      given,
    );
    if (gen !== params.gen) {
      throw new VaultError('key_changed');
    }
    return { kind: 'created', secret, policy: policyRecord, wrap: wrapRecord, digest };
  },

  describeEndpoint({ env, sealer }, { place, policy }) {
    return withoutWebhook(openPolicy(sealer, { env, ...place }, policy).json);
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
      const opening = [sealer, { env, ...place, kid, gen }, policy, wrap, secret] as const;
      const opened =
        place.kind === 'retrieve' ? openRetrieveWrap(...opening) : openCaptureWrap(...opening, place.kind);
      opened[Symbol.dispose]();
    }
    return withoutWebhook(policy.json);
  },

  decoyEndpoint({ env, sealer }, { place }) {
    const policy: EndpointPolicy = { kind: place.kind, ...DECOY_POLICY };
    using key = throwawayKey(DECOY_KID);
    const made = sealEndpoint(sealer, { env, ...place, kid: DECOY_KID }, toJsonBytes(policy), key);
    return { policy: made.policyRecord, wrap: made.wrapRecord };
  },

  createSealingKey({ sealer }, { day }) {
    return newSealingKey(sealer, day);
  },

  describeSealingKey({ sealer }, { day, record }) {
    using pair = openSealingKey(sealer, day, record);
    return { kid: pair.kid, publicKey: new Uint8Array(pair.publicKey) };
  },

  sealRetrieval(_context, { names, to, body }) {
    const sealed = openedOrNot(() => sealReplyBody(to, names, body));
    wipe(body);
    if (sealed === undefined) {
      throw new VaultError('invalid_request', { field: 'header.X-Vault-Seal-To', expected: POINT_EXPECTED });
    }
    return { enc: sealed.enc, ct: sealed.ciphertext };
  },

  captureItem(context, { params, records, secret, rules, ...sent }) {
    return withCapture(context, params, { use: params.endpoint, ...records, secret }, (key) =>
      withOpened(context, params, sent, (body) => {
        const { object, reference = params.reference } = readBody(params, body);
        return sealNew(context, { ...params, reference }, ruled(context, params, rules, object), key);
      }),
    );
  },

  patchItem(context, { params, records, secret, rules, item: stored, ...sent }) {
    return withCapture(context, params, { use: params.endpoint, ...records, secret }, (owner) => {
      const { token, reference, now, sadExpiresAt } = params;
      const meta = metaOf(context, params, token, stored.meta);
      checkLive(meta, now);
      checkReference(meta, reference, 'check');
      const { object: read } = withOpened(context, params, sent, (body) => readBody(params, body));
      // As sent: rules may cut them.
      const numbers = findNumbers(read);
      if (!numbers.every((number) => isTokenOf(owner.tokenKey, token, number, meta.reference))) {
        throw new VaultError('number_invalid', { field: 'body' });
      }
      const object = keepNumbers(new Map(), ruled(context, params, rules, read));
      const { part0, part1 } = splitSad(object);
      const metadata = metadataOf(meta);
      const patched = sealPatch({
        ...{ env: context.env, aid: params.aid, kid: params.kid, token, sealer: context.sealer, owner },
        ...{ item: stored.item, meta, ...sadAt(stored.sad, now) },
        ...{ names: [...object.keys()], part0, summary: patchedSummaryText(meta, object) },
        part1: part1 && { bytes: part1, expiresAtMs: sadExpiresAt },
      });
      const { item, sad = EMPTY, gen, sadExpiresAtMs } = patched;
      if (patched.patches > PATCHES_MAX) {
        throw new VaultError('patches_full');
      }
      if (item.length + sad.length > params.bytesMax) {
        throw new VaultError('body_too_large');
      }
      return {
        ...{ kind: 'stored', item, sad, meta: patched.meta, identity: EMPTY },
        facts: {
          ...{ token, gen, candidate: 0, sadExpiresAt: sadExpiresAtMs, reference },
          version: patched.version.toHex(),
          ...{ expiresAt: meta.expiresAtMs, metadata, hasNumber: numbers.length > 0 || undefined },
        },
        digests: indexDigests(context, params.aid, meta),
        refMember: referenceMember(context, params.aid, reference, token),
        logEntry: logEntry(context, params, token, 'encrypt', stored.logTail),
      };
    });
  },

  reportCapture(context, { place, policy, report: { id, requestId, captured } }) {
    const { json } = openPolicy(context.sealer, { env: context.env, ...place }, policy);
    const { account, webhook } = parseOwn<SealedPolicy>(json);
    if (webhook === undefined) {
      throw new VaultError('internal');
    }
    const { url, maxAttempts, secret, metadata } = webhook;
    const parts = { kind: 'capture', captured: parseStoredObject(toJsonBytes(captured)) } as const;
    const added = metadata === undefined ? undefined : parseStoredObject(utf8(metadata));
    const { token, reference } = captured;
    const summary = { actor: `endpoint/${place.id}`, host: hostOf(url), token, reference };
    const facts = { url, maxAttempts, account, requestId, summary };
    return sealReport(context, { aid: place.aid, id }, facts, secret, webhookBody(parts, added));
  },
};
