import { encodeJson } from '../../server/domain/json/bytes.ts';
import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  parseStoredObject,
} from '../../server/domain/json/json.ts';
import { type NetworkToken, type WebhookParts, webhookBody } from '../../server/domain/proxy/webhook-body.ts';
import { wipe } from '../crypto/primitives/bytes.ts';
import { field, type Handler, JobFailure, paramsOf, toJsonBytes } from './context.ts';
import type { JobPlace, JobRequest, ProxyKind, ProxyOutcome, ReportParams } from './proxy-kinds.ts';
import { openSend, openTell, parseOwn, type SendJob, sealTell, withSend } from './proxy-record.ts';
import { replyText } from './proxy-text.ts';

type Headers = JobRequest['headers'];
type Stored = Extract<ProxyOutcome, { readonly kind: 'stored' }>;
type Failure = Extract<WebhookParts, { readonly kind: 'failure' }>;

const contentTypeOf = (headers: Headers): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1];

const bodyOf = (headers: Headers, bytes: Uint8Array): string => replyText(bytes, contentTypeOf(headers));

/** What is told of an item that was stored; `bytes` is what the storing has said of the reply. */
function storedParts(what: ProxyKind, outcome: Stored, bytes: Uint8Array): WebhookParts {
  const tokenInfo = parseStoredObject(toJsonBytes(outcome.tokenInfo));
  if (what === 'network_token') {
    return { kind: what, networkToken: parseOwn<NetworkToken>(bytes), tokenInfo };
  }
  const { headers, statusCode } = outcome;
  const body = bytes.length === 0 ? undefined : replyText(bytes, undefined);
  return { kind: 'get', headers, statusCode, tokenInfo, body };
}

function partsOf(what: ProxyKind, outcome: ProxyOutcome, bytes: Uint8Array): WebhookParts {
  switch (outcome.kind) {
    case 'reply': {
      const { headers, statusCode } = outcome;
      return { kind: 'post', headers, statusCode, body: bodyOf(headers, bytes) };
    }
    case 'stored':
      return storedParts(what, outcome, bytes);
    case 'unstored':
      return { kind: 'get', headers: outcome.headers, statusCode: outcome.statusCode };
    case 'failure':
      return { kind: 'failure', code: outcome.code as Failure['code'] };
  }
}

/** Whether a job of this kind can have this outcome; anything else is a mistake of ours. */
const isPossible = (what: ProxyKind, { kind }: ProxyOutcome): boolean =>
  kind === 'failure' ||
  (what === 'post' ? kind === 'reply' : kind === 'stored' || (what === 'get' && kind === 'unstored'));

/** The object that the webhook of a job is told, with the metadata that its order had. */
function report({ facts, metadata }: SendJob, outcome: ProxyOutcome, bytes: Uint8Array): Uint8Array {
  if (!isPossible(facts.what, outcome)) {
    throw new JobFailure('internal');
  }
  const parts = partsOf(facts.what, outcome, bytes);
  return webhookBody(parts, metadata.length === 0 ? undefined : parseStoredObject(metadata));
}

/** What a caller who has waited for it gets of a reply, and of the request when it is to be shown. */
function sentReply(
  { statusCode, headers }: Extract<ProxyOutcome, { readonly kind: 'reply' }>,
  bytes: Uint8Array,
  shown: Uint8Array,
): Uint8Array {
  const reply: JsonObject = new Map<string, JsonValue>([
    ['status_code', new JsonNumber(String(statusCode))],
    ['headers', headers.map((line) => new Map([line]))],
    ['body', bodyOf(headers, bytes)],
  ]);
  if (shown.length > 0) {
    reply.set('populated_template', parseStoredObject(shown));
  }
  return encodeJson(reply);
}

/** The reply of a synchronous call: of what was sent an object of its own, of all else what its webhook is told. */
export const reportProxy: Handler = (context, fields) => {
  const { outcome, ...place } = paramsOf<ReportParams>(fields);
  const bytes = field(fields, 2);
  return withSend(context, place, field(fields, 1), (job) =>
    job.facts.what === 'post' && outcome.kind === 'reply'
      ? [sentReply(outcome, bytes, field(fields, 3))]
      : [report(job, outcome, bytes)],
  );
};

/** Seals what the webhook is told; the request and what it was filled with are gone from then on. */
export const sealReport: Handler = (context, fields) => {
  const { outcome, ...place } = paramsOf<ReportParams>(fields);
  return withSend(context, place, field(fields, 1), (job) => {
    if (job.webhook === undefined) {
      throw new JobFailure('internal');
    }
    const body = report(job, outcome, field(fields, 2));
    return [sealTell(context, place, job.facts, job.webhook, body)];
  });
};

/** A job with its request, for one attempt to send it. */
export const openJob: Handler = (context, fields) => {
  const { facts, request, body, publicKey, tokenKey } = openSend(
    context,
    paramsOf<JobPlace>(fields),
    field(fields, 1),
  );
  wipe(publicKey, tokenKey);
  return [toJsonBytes(facts), toJsonBytes(request), body];
};

/** A report, for one call of its webhook. */
export const openReport: Handler = (context, fields) => {
  const { facts, secret, body } = openTell(context, paramsOf<JobPlace>(fields), field(fields, 1));
  return [toJsonBytes(facts), secret, body];
};
