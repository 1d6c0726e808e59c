/** Handlers of the jobs on opened jobs and reports in `jobs.ts`, which says what each promises. */
import { VaultError } from '../../../server/core/errors.ts';
import { headerIn, isEncoded } from '../../../server/core/headers.ts';
import { parseStoredObject } from '../../../server/domain/json/json.ts';
import { type Echoes, maskEchoes } from '../../../server/domain/mask/echo.ts';
import { HIDDEN } from '../../../server/domain/mask/echo-secrets.ts';
import { maskText } from '../../../server/domain/mask/mask-text.ts';
import { isWide, replyObject, replyText } from '../../../server/domain/proxy/reply-text.ts';
import {
  type NetworkToken,
  type WebhookParts,
  webhookBody,
} from '../../../server/domain/proxy/webhook-body.ts';
import { maskRelayHeader } from '../../../server/domain/relay/mask.ts';
import { EMPTY, wipe } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadHandlers, toJsonBytes } from '../context.ts';
import { openedOrNot } from '../failure.ts';
import type { PROXY_JOBS, ProxyKind, ProxyOutcome } from './jobs.ts';
import { attemptOf } from './order.ts';
import * as records from './record.ts';

type Outcome<Kind extends ProxyOutcome['kind']> = Extract<ProxyOutcome, { readonly kind: Kind }>;

export const PARTIAL_CONTENT = 206;

function maskBytes(bytes: Uint8Array, echoes: Echoes): Uint8Array {
  return Buffer.from(maskEchoes(Buffer.from(bytes).toString('latin1'), echoes), 'latin1');
}

/**
 * The text of a reply without what its caller must not see. Its bytes are searched as well as its characters: a third party
 * may name a charset that they do not have. What is encoded, or a part of a reply, cannot be searched.
 */
function hiddenText(outcome: Outcome<'reply'>, content: Uint8Array, echoes: Echoes): string {
  if (outcome.statusCode === PARTIAL_CONTENT || isEncoded(outcome.headers)) {
    return HIDDEN;
  }
  const type = headerIn(outcome.headers, 'content-type');
  if (!isWide(type)) {
    return maskEchoes(replyText(maskBytes(content, echoes), type), echoes);
  }
  const text = maskEchoes(replyText(content, type), echoes);
  for (const bytes of [Buffer.from(text, 'utf16le'), Buffer.from(text, 'utf16le').swap16()]) {
    if (!maskBytes(bytes, echoes).every((byte, at) => byte === bytes[at])) {
      return HIDDEN;
    }
  }
  return text;
}

/** The headers and the text of a reply, without what its caller must not see. */
function replyOf(outcome: Outcome<'reply'>, content: Uint8Array, echoes: Uint8Array) {
  const { headers } = outcome;
  if (echoes.length === 0) {
    return { headers, body: replyText(content, headerIn(headers, 'content-type')) };
  }
  const own = parseOwn<Echoes>(echoes);
  return {
    headers: headers.map(([name, value]) => maskRelayHeader(name, value, { sent: [], echoes: own })),
    body: hiddenText(outcome, content, own),
  };
}

/** What is reported of an item that was stored; `content` is the `extra` of storing it. */
function storedParts(
  what: ProxyKind,
  outcome: Outcome<'stored'>,
  content: Uint8Array,
  echoes: Uint8Array,
): WebhookParts {
  const tokenInfo = parseStoredObject(toJsonBytes(outcome.tokenInfo));
  if (what === 'network_token') {
    const { token, ...others } = parseOwn<NetworkToken>(content);
    const networkToken = { token: echoes.length === 0 ? token : maskText(token), ...others };
    return { kind: what, networkToken, tokenInfo };
  }
  const { headers, statusCode } = outcome;
  const body = content.length === 0 ? undefined : replyText(content, undefined);
  return { kind: 'get', headers, statusCode, tokenInfo, body };
}

function partsOf(
  what: ProxyKind,
  outcome: ProxyOutcome,
  content: Uint8Array,
  echoes: Uint8Array,
): WebhookParts {
  switch (outcome.kind) {
    case 'reply':
      return { kind: 'post', statusCode: outcome.statusCode, ...replyOf(outcome, content, echoes) };
    case 'stored':
      return storedParts(what, outcome, content, echoes);
    case 'unstored':
      return { kind: 'get', headers: outcome.headers, statusCode: outcome.statusCode };
    case 'failure':
      return outcome;
  }
}

/** Whether a job of this kind can have this outcome; anything else is a mistake of ours. */
function isPossible(what: ProxyKind, { kind }: ProxyOutcome): boolean {
  if (kind === 'failure') {
    return true;
  }
  return what === 'post' ? kind === 'reply' : kind === 'stored' || (what === 'get' && kind === 'unstored');
}

/** The object that the webhook of a job receives, with the metadata that its order had. */
function webhookReport(
  { facts, metadata, echoes }: records.JobContent,
  outcome: ProxyOutcome,
  content: Uint8Array,
): Uint8Array {
  if (!isPossible(facts.what, outcome)) {
    throw new VaultError('internal');
  }
  const parts = partsOf(facts.what, outcome, content, echoes);
  return webhookBody(parts, metadata.length === 0 ? undefined : parseStoredObject(metadata));
}

/** The part of a reply that a waiting caller gets, and of the request when it is to be shown. */
function sentReply(
  outcome: Outcome<'reply'>,
  content: Uint8Array,
  shown: Uint8Array,
  echoes: Uint8Array,
): Uint8Array {
  const { headers, body } = replyOf(outcome, content, echoes);
  const request = shown.length > 0 ? parseStoredObject(shown) : undefined;
  return replyObject(outcome.statusCode, headers, body, request);
}

/** The handlers of `reportProxy`, `sealReport`, `openJob` and `openReport`. */
export const REPORT_HANDLERS = {
  /** Of a sent request an object of its own, of all else what its webhook would receive. */
  reportProxy(context, { place, job: record, outcome, content, shown, echoes }) {
    if (outcome.kind === 'reply') {
      return sentReply(outcome, content, shown, echoes);
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
    const { account, requestId } = job.facts;
    const facts = { account, requestId, summary: records.summaryOf(job) };
    return records.sealReport(context, place, facts, job.webhook, body);
  },

  openJob(context, { place, job }) {
    // Not disposed of: the body goes out with the result.
    const { facts, request, body, publicHalf, tokenKey, echoes } = records.openJob(context, place, job);
    wipe(publicHalf, tokenKey, echoes);
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
} satisfies Partial<ThreadHandlers<typeof PROXY_JOBS>>;
