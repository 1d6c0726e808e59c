/**
 * Service records of purpose `job`: a job to be sent, and then its report. Their kinds differ, so that neither opens as the
 * other, under another id, or for another account. Plaintext: `01`, then each part as `length 4 | bytes`.
 */
import type { HeaderEntries } from '../../../server/core/headers.ts';
import type { ParsedWebhook } from '../../../server/domain/proxy/request.ts';
import { type Showing, STATUS_ONLY } from '../../../server/domain/relay/sight.ts';
import {
  concat,
  EMPTY,
  IntegrityError,
  readBytes,
  readU32,
  u32,
  utf8,
  wipe,
} from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadContext, toJsonBytes } from '../context.ts';
import { openEvent } from '../event/handlers.ts';
import type { DescribedJob, JobFacts, JobPlace, JobSummary, ReportFacts } from './jobs.ts';

/** Kinds of the records, which are part of their associated data and must not change. */
const JOB_KIND = 'proxy send';
const REPORT_KIND = 'proxy tell';
const VERSION = 0x01;
/** Without the last part, the reply is shown unchanged. */
const JOB_PARTS = [7, 8];
const REPORT_PARTS = [3];

/** A webhook without its metadata, which is kept as exact JSON text. */
export type WebhookTarget = Omit<ParsedWebhook, 'metadata'>;

/** A request without its body. For a network token the url is empty: the server adds the requester's. */
export interface SealedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderEntries;
  readonly hasBody: boolean;
}

export interface JobContent {
  readonly facts: JobFacts;
  readonly request: SealedRequest;
  readonly body: Uint8Array;
  readonly webhook?: WebhookTarget | undefined;
  /** Exact JSON text, or empty. */
  readonly metadata: Uint8Array;
  /** The public half of the generation that a reply is stored under; empty when nothing is stored. */
  readonly publicHalf: Uint8Array;
  /** Key for the token of a fetched item; empty when the token is random. */
  readonly tokenKey: Uint8Array;
  readonly showing: Showing;
}

/** An opened job. Disposing of it overwrites its request and its keys. */
export interface OpenedJob extends JobContent, Disposable {}

export interface OpenedReport {
  readonly facts: ReportFacts;
  /** Empty when the webhook has none. */
  readonly secret: Uint8Array;
  readonly body: Uint8Array;
}

/** Empty if the reply is shown unchanged. */
function showingBytes(showing: Showing): Uint8Array {
  const { sight, sent, secrets } = showing;
  return sight === 'all' && sent.length === 0 && secrets.length === 0 ? EMPTY : toJsonBytes(showing);
}

/** Jobs of earlier versions have other members; only the status of their replies is shown. */
function readShowing(bytes: Uint8Array): Showing {
  const given: Partial<Showing> = bytes.length === 0 ? { sight: 'all' } : parseOwn(bytes);
  return { ...STATUS_ONLY, ...given };
}

/** Splits a plaintext into its parts; their number must be one of `counts`. */
function split(plain: Uint8Array, counts: readonly number[]): Uint8Array[] {
  if (plain[0] !== VERSION) {
    throw new IntegrityError('job');
  }
  const parts: Uint8Array[] = [];
  let at = 1;
  while (at < plain.length) {
    const part = readBytes(plain, at + 4, readU32(plain, at));
    parts.push(part);
    at += 4 + part.length;
  }
  if (!counts.includes(parts.length)) {
    throw new IntegrityError('job');
  }
  return parts;
}

function seal(
  { sealer }: ThreadContext,
  { aid, id }: JobPlace,
  kind: string,
  parts: readonly Uint8Array[],
): Uint8Array {
  const plain = concat([Uint8Array.of(VERSION), ...parts.flatMap((part) => [u32(part.length), part])]);
  try {
    return sealer.seal('job', aid, kind, [id], plain);
  } finally {
    wipe(plain);
  }
}

export function sealJob(context: ThreadContext, place: JobPlace, job: JobContent): Uint8Array {
  const showing = showingBytes(job.showing);
  return seal(context, place, JOB_KIND, [
    toJsonBytes(job.facts),
    toJsonBytes(job.request),
    job.body,
    job.webhook === undefined ? EMPTY : toJsonBytes(job.webhook),
    job.metadata,
    job.publicHalf,
    job.tokenKey,
    ...(showing.length === 0 ? [] : [showing]),
  ]);
}

/** Opens a job. Damage and any other place: `IntegrityError`. */
export function openJob({ sealer }: ThreadContext, { aid, id }: JobPlace, record: Uint8Array): OpenedJob {
  const parts = split(sealer.open('job', aid, JOB_KIND, [id], record), JOB_PARTS);
  const [facts = EMPTY, request = EMPTY, body = EMPTY, webhook = EMPTY] = parts;
  const [metadata = EMPTY, publicHalf = EMPTY, tokenKey = EMPTY, showing = EMPTY] = parts.slice(4);
  return {
    facts: parseOwn<JobFacts>(facts),
    request: parseOwn<SealedRequest>(request),
    body,
    ...(webhook.length === 0 ? {} : { webhook: parseOwn<WebhookTarget>(webhook) }),
    metadata,
    publicHalf,
    tokenKey,
    showing: readShowing(showing),
    [Symbol.dispose]: () => wipe(body, publicHalf, tokenKey, showing),
  };
}

export function summaryOf({ facts, request }: JobContent): JobSummary {
  const { actor, token, reference, requesterId } = facts;
  return { actor, host: hostOf(request.url), requesterId, token, reference };
}

/** The host of a URL with its port; undefined without a URL. */
export function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined;
}

/** Describes a job in one of its phases. Damage and any other place: `IntegrityError`. */
export function describeJob(
  context: ThreadContext,
  { aid, id, phase }: JobPlace & { readonly phase: 'send' | 'tell' | 'event' },
  record: Uint8Array,
): DescribedJob {
  if (phase === 'event') {
    const { subscription, event } = openEvent(context, { aid, id }, record);
    const { actor, token, reference } = event.data;
    return { actor, token, reference, subscription };
  }
  if (phase === 'tell') {
    const { url, summary } = openReport(context, { aid, id }, record).facts;
    return { ...summary, webhookUrl: url };
  }
  using job = openJob(context, { aid, id }, record);
  return { ...summaryOf(job), what: job.facts.what, webhookUrl: job.webhook?.url };
}

export function sealReport(
  context: ThreadContext,
  place: JobPlace,
  facts: ReportFacts,
  secret: string | undefined,
  body: Uint8Array,
): Uint8Array {
  const secretBytes = secret === undefined ? EMPTY : utf8(secret);
  return seal(context, place, REPORT_KIND, [toJsonBytes(facts), secretBytes, body]);
}

/** Opens a report. Damage and any other place: `IntegrityError`. */
export function openReport(
  { sealer }: ThreadContext,
  { aid, id }: JobPlace,
  record: Uint8Array,
): OpenedReport {
  const parts = split(sealer.open('job', aid, REPORT_KIND, [id], record), REPORT_PARTS);
  const [facts = EMPTY, secret = EMPTY, body = EMPTY] = parts;
  return { facts: parseOwn<ReportFacts>(facts), secret, body };
}
