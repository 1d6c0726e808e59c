import { onlyDigits } from '../../server/domain/card/digits.ts';
import { findNumber } from '../../server/domain/card/number.ts';
import { parseAlgorithm } from '../../server/domain/card/token-format.ts';
import { encodeJson } from '../../server/domain/json/bytes.ts';
import type { JsonObject } from '../../server/domain/json/json.ts';
import { readTokenReply } from '../../server/domain/proxy/network-token.ts';
import type { NetworkToken } from '../../server/domain/proxy/webhook-body.ts';
import { replyJson } from '../../server/domain/reply/json.ts';
import { smartParse } from '../../server/domain/reply/smart-parse.ts';
import { newestGeneration } from '../crypto/key/unlocked.ts';
import { IntegrityError } from '../crypto/primitives/bytes.ts';
import {
  EMPTY,
  field,
  type Handler,
  JobFailure,
  paramsOf,
  type ThreadContext,
  toBytes,
  toJsonBytes,
} from './context.ts';
import { sealNew } from './items.ts';
import { withKey } from './keys.ts';
import { commonFacts, fillOrder, outgoing } from './proxy-fill.ts';
import type { JobFacts, PrepareFetchParams, StoreFetchedParams } from './proxy-kinds.ts';
import { readOrder, reportOf } from './proxy-order.ts';
import { sealSend, withSend } from './proxy-record.ts';
import { exactReplyText } from './proxy-text.ts';
import { applyRulesBeforeStorage } from './rules.ts';

const LAST_FOUR = 4;
const NO_VIEW: JsonObject = new Map();

/** Seals a request that is sent as it stands, with what it takes to store its reply: a public key and no private one. */
export const prepareFetch: Handler = (context, fields) => {
  const params = paramsOf<PrepareFetchParams>(fields);
  const { algorithm, smartParse: isSmart, rules } = params;
  return withKey(context, params, fields, (key) => {
    const parsed = parseAlgorithm(algorithm);
    if (parsed === undefined) {
      throw new JobFailure('invalid_request', 'query.algorithm');
    }
    const order = readOrder(field(fields, 3));
    const facts: JobFacts = {
      what: 'get',
      ...commonFacts(params, order, key),
      algorithm,
      smartParse: isSmart,
      rules,
    };
    const job = sealSend(context, params, {
      facts,
      ...outgoing(fillOrder(order, NO_VIEW)),
      ...reportOf(order),
      publicKey: newestGeneration(key).publicKey,
      tokenKey: parsed.kind === 'uuid' ? EMPTY : key.tokenKey,
    });
    return [job];
  });
};

/** What a reply gives to be stored, and what is told of it. */
interface Found {
  readonly object: JsonObject;
  readonly extra: Uint8Array;
}

function readParsed(text: string, contentType: string | undefined): Found | undefined {
  const object = smartParse(text, contentType)?.object;
  const original = object?.get('original_data');
  return object && { object, extra: typeof original === 'string' ? toBytes(original) : EMPTY };
}

function readObject(text: string): Found | undefined {
  const value = replyJson(text);
  return value instanceof Map ? { object: value, extra: EMPTY } : undefined;
}

/** The reply of a requester: the network token is stored as a card's number is. */
function readToken(text: string): Found | undefined {
  const reply = readTokenReply(text);
  if (reply === undefined) {
    return undefined;
  }
  const { token, ...others } = reply;
  const told: NetworkToken = {
    token,
    expiryMonth: reply.expiry_month,
    expiryYear: reply.expiry_year,
    lastFour: onlyDigits(token).slice(-LAST_FOUR),
    status: reply.status,
  };
  const object: JsonObject = new Map(Object.entries({ card_number: token, ...others }));
  return { object, extra: toJsonBytes(told) };
}

function readReply(facts: JobFacts, text: string, contentType: string | undefined): Found | undefined {
  switch (facts.what) {
    case 'get':
      return facts.smartParse ? readParsed(text, contentType) : readObject(text);
    case 'network_token':
      return readToken(text);
    case 'post':
      throw new IntegrityError('job');
  }
}

/** What is stored of a reply: read, changed by the job's rules, with a number in it, and no larger than items are. */
function storable(
  context: ThreadContext,
  params: StoreFetchedParams,
  facts: JobFacts,
  packed: Uint8Array,
  body: Uint8Array,
): Found {
  const { aid, forcedMask, bytesMax, contentType } = params;
  const { rules } = facts;
  const text = exactReplyText(body, contentType);
  const found = text === undefined ? undefined : readReply(facts, text, contentType);
  if (found === undefined) {
    throw new JobFailure('reply_not_storable');
  }
  const object =
    rules.length === 0
      ? found.object
      : applyRulesBeforeStorage(context, { aid, forcedMask, rules }, packed, found.object);
  if (findNumber(object) === undefined || encodeJson(object).length > bytesMax) {
    throw new JobFailure('reply_not_storable');
  }
  return { object, extra: found.extra };
}

/** Stores what came back, without the passphrase. How the token is made and which rules run, the sealed job tells. */
export const storeFetched: Handler = (context, fields) => {
  const params = paramsOf<StoreFetchedParams>(fields);
  return withSend(context, params, field(fields, 1), ({ facts, publicKey, tokenKey }) => {
    const { kid, gen, algorithm = 'uuid' } = facts;
    if (kid !== params.kid) {
      throw new IntegrityError('job');
    }
    const { object, extra } = storable(context, params, facts, field(fields, 2), field(fields, 3));
    const writer = { owner: { gen, publicKey }, tokenKey };
    return [...sealNew(context, { ...params, algorithm, number: undefined }, object, writer), extra];
  });
};
