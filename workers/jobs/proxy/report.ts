/** Handlers of the jobs on opened jobs and reports in `jobs.ts`, which says what each promises. */
import { VaultError } from '../../../server/core/errors.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  parseStoredObject,
} from '../../../server/domain/json/json.ts';
import {
  type NetworkToken,
  type WebhookParts,
  webhookBody,
} from '../../../server/domain/proxy/webhook-body.ts';
import { wipe } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { Headers, PROXY_JOBS, ProxyKind, ProxyOutcome } from './jobs.ts';
import { attemptOf } from './order.ts';
import * as records from './record.ts';
import { replyText } from './text.ts';

type Outcome<Kind extends ProxyOutcome['kind']> = Extract<ProxyOutcome, { readonly kind: Kind }>;

function bodyOf(headers: Headers, content: Uint8Array): string {
  const [, contentType] = headers.find(([name]) => name.toLowerCase() === 'content-type') ?? [];
  return replyText(content, contentType);
}

/** What is reported of an item that was stored; `content` is the `extra` of storing it. */
function storedParts(what: ProxyKind, outcome: Outcome<'stored'>, content: Uint8Array): WebhookParts {
  const tokenInfo = parseStoredObject(toJsonBytes(outcome.tokenInfo));
  if (what === 'network_token') {
    return { kind: what, networkToken: parseOwn<NetworkToken>(content), tokenInfo };
  }
  const { headers, statusCode } = outcome;
  const body = content.length === 0 ? undefined : replyText(content, undefined);
  return { kind: 'get', headers, statusCode, tokenInfo, body };
}

function partsOf(what: ProxyKind, outcome: ProxyOutcome, content: Uint8Array): WebhookParts {
  switch (outcome.kind) {
    case 'reply': {
      const { headers, statusCode } = outcome;
      return { kind: 'post', headers, statusCode, body: bodyOf(headers, content) };
    }
    case 'stored':
      return storedParts(what, outcome, content);
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
  { facts, metadata }: records.JobContent,
  outcome: ProxyOutcome,
  content: Uint8Array,
): Uint8Array {
  if (!isPossible(facts.what, outcome)) {
    throw new VaultError('internal');
  }
  const parts = partsOf(facts.what, outcome, content);
  return webhookBody(parts, metadata.length === 0 ? undefined : parseStoredObject(metadata));
}

/** The part of a reply that a waiting caller gets, and of the request when it is to be shown. */
function sentReply(
  { statusCode, headers }: Outcome<'reply'>,
  content: Uint8Array,
  shown: Uint8Array,
): Uint8Array {
  const reply: JsonObject = new Map<string, JsonValue>([
    ['status_code', new JsonNumber(String(statusCode))],
    ['headers', headers.map((line) => new Map([line]))],
    ['body', bodyOf(headers, content)],
  ]);
  if (shown.length > 0) {
    reply.set('populated_template', parseStoredObject(shown));
  }
  return encodeJson(reply);
}

/** The handlers of `reportProxy`, `sealReport`, `openJob` and `openReport`. */
export const REPORT_HANDLERS = {
  /** Of a sent request an object of its own, of all else what its webhook would receive. */
  reportProxy(context, { place, job: record, outcome, content, shown }) {
    if (outcome.kind === 'reply') {
      return sentReply(outcome, content, shown);
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
    return records.sealReport(context, place, job.facts, job.webhook, body);
  },

  openJob(context, { place, job }) {
    // Not disposed of: the body goes out with the result.
    const { facts, request, body, publicKey, tokenKey } = records.openJob(context, place, job);
    wipe(publicKey, tokenKey);
    return { facts, request: attemptOf({ request, body }) };
  },

  openReport(context, { place, report }) {
    const { facts, secret, body } = records.openReport(context, place, report);
    return { facts, secret: secret.length === 0 ? undefined : secret, body };
  },
} satisfies Partial<ThreadHandlers<typeof PROXY_JOBS>>;
