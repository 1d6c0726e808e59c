import { VaultError } from '../../../server/core/errors.ts';
import { headerIn } from '../../../server/core/headers.ts';
import { parseStoredObject } from '../../../server/domain/json/json.ts';
import { maskText } from '../../../server/domain/mask/mask-text.ts';
import { replyObject, replyText } from '../../../server/domain/proxy/reply-text.ts';
import {
  type NetworkToken,
  type ShownToken,
  type WebhookParts,
  webhookBody,
} from '../../../server/domain/proxy/webhook-body.ts';
import { type Showing, type Sight, showReply } from '../../../server/domain/relay/sight.ts';
import { openItem, sealItem } from '../../crypto/item/item.ts';
import { openMeta } from '../../crypto/item/meta.ts';
import { concat, EMPTY, openedOrNot, readBytes, readU32, u32, wipe } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadContext, type ThreadHandlers, toJsonBytes } from '../context.ts';
import { openWarmKey, WARM_MISS } from '../key/open.ts';
import type { PROXY_JOBS, ProxyKind, ProxyOutcome, ReplyName } from './jobs.ts';
import { attemptOf } from './order.ts';
import * as records from './record.ts';

type Outcome<Kind extends ProxyOutcome['kind']> = Extract<ProxyOutcome, { readonly kind: Kind }>;

/** Headers and text of a reply for the caller. */
function shownOf({ statusCode: status, headers }: Outcome<'reply'>, body: Uint8Array, showing: Showing) {
  const shown = showReply({ status, headers, body }, showing);
  const type = shown.withheld ? undefined : headerIn(shown.headers, 'content-type');
  return { headers: shown.headers, body: replyText(shown.body, type), withheld: shown.withheld };
}

/** A status of one word without digits: a requester's text could repeat the data that it has received. */
const STATUS = /^[A-Za-z][A-Za-z_-]{0,31}$/;

/** A network token for the caller. */
function shownToken(token: NetworkToken, sight: Sight): ShownToken {
  if (sight === 'all') {
    return token;
  }
  const status = STATUS.test(token.status) ? token.status : 'unknown';
  return sight === 'named' ? { status } : { ...token, token: maskText(token.token), status };
}

function partsOf(
  what: ProxyKind,
  outcome: ProxyOutcome,
  content: Uint8Array,
  showing: Showing,
): WebhookParts {
  if (outcome.kind === 'failure') {
    return outcome;
  }
  if (outcome.kind === 'reply') {
    return { kind: 'post', statusCode: outcome.statusCode, ...shownOf(outcome, content, showing) };
  }
  const tokenInfo = outcome.kind === 'stored' ? parseStoredObject(toJsonBytes(outcome.tokenInfo)) : undefined;
  if (what === 'network_token') {
    const networkToken = shownToken(parseOwn<NetworkToken>(content), showing.sight);
    return { kind: what, networkToken, tokenInfo };
  }
  const { statusCode: status, headers } = outcome;
  const shown = showReply({ status, headers, body: tokenInfo === undefined ? EMPTY : content }, showing);
  const body = shown.body.length === 0 ? undefined : replyText(shown.body, undefined);
  return { kind: 'get', ...shown, statusCode: status, tokenInfo, body };
}

/** Tells whether a job of this kind can have this outcome; any other is a bug. */
function isPossible(what: ProxyKind, { kind }: ProxyOutcome): boolean {
  if (kind === 'failure') {
    return true;
  }
  return what === 'post' ? kind === 'reply' : kind === 'stored' || (what === 'get' && kind === 'unstored');
}

/** The object that the webhook of a job receives, with the metadata that its order had. */
function webhookReport(
  { facts, metadata, showing }: records.JobContent,
  outcome: ProxyOutcome,
  content: Uint8Array,
): Uint8Array {
  if (!isPossible(facts.what, outcome)) {
    throw new VaultError('internal');
  }
  const parts = partsOf(facts.what, outcome, content, showing);
  return webhookBody(parts, metadata.length === 0 ? undefined : parseStoredObject(metadata));
}

/** The place of a kept reply among the items of its vault key: no token has a line feed in it. */
function placeOf({ env }: ThreadContext, { aid, kid, digest }: ReplyName) {
  return { env, aid, kid, token: `reply\n${digest}` };
}

export const REPORT_HANDLERS = {
  /** Returns a reply object for a sent request; for other kinds the body of its webhook. */
  reportProxy(context, { place, job: record, outcome, content, shown, showing }) {
    if (outcome.kind === 'reply') {
      const { headers, body, withheld } = shownOf(outcome, content, showing);
      const request = shown.length > 0 ? parseStoredObject(shown) : undefined;
      return replyObject(outcome.statusCode, headers, body, { withheld, request });
    }
    using job = records.openJob(context, place, record);
    return webhookReport(job, outcome, content);
  },

  sealReport(context, { place, job: record, outcome, content }) {
    using job = records.openJob(context, place, record);
    if (job.webhook === undefined) {
      throw new VaultError('internal');
    }
    const body = webhookReport(job, outcome, content);
    const { url, maxAttempts, secret } = job.webhook;
    const { account, requestId } = job.facts;
    const facts = { url, maxAttempts, account, requestId, summary: records.summaryOf(job) };
    return records.sealReport(context, place, facts, secret, body);
  },

  openJob(context, { place, job }) {
    // Not disposed of: the body goes out with the result.
    const { facts, request, body, publicHalf, tokenKey } = records.openJob(context, place, job);
    wipe(publicHalf, tokenKey);
    return { facts, request: attemptOf({ request, body }) };
  },

  describeJobs(context, { aid, jobs, records: sealed }) {
    return jobs.map(({ id, phase }, i) => {
      const record = sealed[i] ?? EMPTY;
      return openedOrNot(() => records.describeJob(context, { aid, id, phase }, record)) ?? null;
    });
  },

  openReport(context, { place, report }) {
    const { facts, secret, body } = records.openReport(context, place, report);
    return { facts, secret: secret.length === 0 ? undefined : secret, body };
  },

  /** Seals a reply as an item is sealed: `length of the metadata 4 | metadata | envelope and content`. */
  sealReply(context, { name, blob, passphrase, reply }) {
    const owner = openWarmKey(context, name, blob, passphrase);
    if (!owner) {
      return WARM_MISS;
    }
    const place = placeOf(context, name);
    const { item, meta } = sealItem({ ...place, owner, part0: reply, sealer: context.sealer });
    return { kind: 'sealed', record: concat([u32(meta.length), meta, item]) };
  },

  openReply(context, { name, blob, passphrase, record }) {
    const key = openWarmKey(context, name, blob, passphrase);
    if (!key) {
      return WARM_MISS;
    }
    const metaBytes = readU32(record, 0);
    const place = placeOf(context, name);
    const meta = openMeta(context.sealer, place, readBytes(record, 4, metaBytes));
    const item = record.subarray(4 + metaBytes);
    return { kind: 'opened', reply: openItem({ ...place, key, item, meta, nowMs: 0 }).part0 };
  },
} satisfies Partial<ThreadHandlers<typeof PROXY_JOBS>>;
