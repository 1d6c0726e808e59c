import { VaultError } from '../../../server/core/errors.ts';
import { headerIn } from '../../../server/core/headers.ts';
import { onlyDigits } from '../../../server/domain/card/digits.ts';
import { findNumber } from '../../../server/domain/card/number.ts';
import { parseAlgorithm } from '../../../server/domain/card/token-format.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import type { JsonObject } from '../../../server/domain/json/json.ts';
import { storedNumbers } from '../../../server/domain/mask/reply-numbers.ts';
import { readTokenReply } from '../../../server/domain/proxy/network-token.ts';
import type { NetworkToken } from '../../../server/domain/proxy/webhook-body.ts';
import { STATUS_ONLY, showReply } from '../../../server/domain/relay/sight.ts';
import { replyJson } from '../../../server/domain/reply/json.ts';
import { smartParseBody } from '../../../server/domain/reply/smart-parse.ts';
import { decodeText } from '../../../server/domain/text/charset.ts';
import { untilSender } from '../../crypto/item/envelope.ts';
import { generationOf, publicHalfOf } from '../../crypto/key/unlocked.ts';
import { EMPTY, IntegrityError, utf8 } from '../../crypto/primitives/bytes.ts';
import { type ThreadContext, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { In } from '../define.ts';
import { openWarmKey, WARM_MISS } from '../key/open.ts';
import { applyRulesBeforeStorage } from '../rule/handlers.ts';
import type { ThreadRules } from '../rule/jobs.ts';
import { sealNew } from '../vault/records.ts';
import type { JobFacts, PROXY_JOBS } from './jobs.ts';
import { commonFacts, fillOrder, outgoing, readOrder, reportOf } from './order.ts';
import { openJob, sealJob } from './record.ts';

const LAST_FOUR = 4;
const NO_VIEW: JsonObject = new Map();

/** The stored object of a reply, and its reported part. */
interface Found {
  readonly object: JsonObject;
  readonly extra: Uint8Array;
}

function readParsed(body: Uint8Array, contentType: string | undefined): Found | undefined {
  const object = smartParseBody(body, contentType)?.object;
  const original = object?.get('original_data');
  return object && { object, extra: typeof original === 'string' ? utf8(original) : EMPTY };
}

function readObject(body: Uint8Array, contentType: string | undefined): Found | undefined {
  const value = replyJson(decodeText(body, contentType).text);
  return value instanceof Map ? { object: value, extra: EMPTY } : undefined;
}

/** Reads the reply of a requester: the network token is stored as a card number. */
function readToken(body: Uint8Array, contentType: string | undefined): Found | undefined {
  const reply = readTokenReply(decodeText(body, contentType).text);
  if (reply === undefined) {
    return undefined;
  }
  const { token, ...others } = reply;
  const reported: NetworkToken = {
    token,
    expiryMonth: reply.expiry_month,
    expiryYear: reply.expiry_year,
    lastFour: onlyDigits(token).slice(-LAST_FOUR),
    status: reply.status,
  };
  const object: JsonObject = new Map(Object.entries({ card_number: token, ...others }));
  return { object, extra: toJsonBytes(reported) };
}

function readReply(facts: JobFacts, body: Uint8Array, contentType: string | undefined): Found | undefined {
  switch (facts.what) {
    case 'get':
      return facts.smartParse ? readParsed(body, contentType) : readObject(body, contentType);
    case 'network_token':
      return readToken(body, contentType);
    case 'post':
      throw new IntegrityError('job');
  }
}

/** Returns undefined for a reply that cannot be read. Track data has an error of its own. */
function unlessUnreadable(read: () => Found | undefined): Found | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof VaultError && error.status === 400 && error.code !== 'track_data_refused') {
      return undefined;
    }
    throw error;
  }
}

/** Requires the given rules to be those of the sealed job. */
function rulesOf({ rules: ids }: JobFacts, given: ThreadRules): ThreadRules {
  if (ids.length !== given.length || given.some(({ id }, i) => id !== ids[i])) {
    throw new IntegrityError('rules');
  }
  return given;
}

/** The object to be stored of a reply, after the job's rules. It must have a number, and be no larger than an item. */
function storable(
  context: ThreadContext,
  { params, headers, body, rules: given }: In<(typeof PROXY_JOBS)['storeFetched']>,
  facts: JobFacts,
): Found {
  const contentType = headerIn(headers, 'content-type');
  const found = unlessUnreadable(() => readReply(facts, body, contentType));
  if (found === undefined) {
    throw new VaultError('reply_not_storable');
  }
  const rules = rulesOf(facts, given);
  const object =
    rules.length === 0 ? found.object : applyRulesBeforeStorage(context, params, rules, found.object);
  if (findNumber(object) === undefined || encodeJson(object).length > params.bytesMax) {
    throw new VaultError('reply_not_storable');
  }
  return { object, extra: found.extra };
}

export const FETCH_HANDLERS = {
  prepareFetch(context, { params, blob, passphrase, order: sent }) {
    const { algorithm, smartParse: isSmart, rules, sight } = params;
    const key = openWarmKey(context, params, blob, passphrase);
    if (!key) {
      return WARM_MISS;
    }
    const parsed = parseAlgorithm(algorithm);
    if (parsed === undefined) {
      throw new VaultError('invalid_request', {
        field: 'query.algorithm',
        expected: 'must be a format of tokens',
      });
    }
    const order = readOrder(sent);
    const job = sealJob(context, params, {
      facts: { what: 'get', ...commonFacts(params, order, key), algorithm, smartParse: isSmart, rules },
      ...outgoing(fillOrder(order, NO_VIEW, { allowMissing: false })),
      ...reportOf(order),
      // A public key and no private one: storing the reply needs no passphrase.
      publicHalf: publicHalfOf(generationOf(key)),
      tokenKey: parsed.kind === 'uuid' ? EMPTY : key.tokenKey,
      showing: { ...STATUS_ONLY, sight },
    });
    return { kind: 'prepared', job };
  },

  /** Stores without the passphrase; the sealed job determines the token format and the rules. */
  async storeFetched(context, input) {
    const { params } = input;
    using job = openJob(context, params, input.job);
    const { kid, gen, algorithm = 'uuid' } = job.facts;
    if (kid !== params.kid) {
      throw new IntegrityError('job');
    }
    const { object, extra } = storable(context, input, job.facts);
    const { publicHalf, tokenKey } = job;
    const stored = { ...params, algorithm, number: undefined };
    await untilSender({ gen, publicHalf }, { env: context.env, aid: params.aid, kid });
    const parts = sealNew(context, stored, object, { gen, publicHalf, tokenKey });
    // The headers must not contain stored numbers for a caller with masked output.
    const showing = { ...job.showing, numbers: storedNumbers(object) };
    const { headers } = showReply({ status: 200, headers: input.headers, body: EMPTY }, showing);
    return { parts, extra, headers };
  },
} satisfies Partial<ThreadHandlers<typeof PROXY_JOBS>>;
