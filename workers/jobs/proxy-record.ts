/**
 * What proxied calls are while they wait: a job that is to be sent, and then the report of it. Both are service
 * records of purpose `job`, each at a kind of its own, so that neither opens as the other, under another id, or
 * for another account. Plaintext: `01`, then each part as `length 4 | bytes`.
 */
import type { ProxyWebhook } from '../../server/domain/proxy/request.ts';
import {
  concat,
  EMPTY,
  IntegrityError,
  readBytes,
  readU32,
  u32,
  utf8,
  wipe,
} from '../crypto/primitives/bytes.ts';
import { type ThreadContext, toJsonBytes, toText } from './context.ts';
import type { JobFacts, JobPlace, JobRequest, ReportFacts } from './proxy-kinds.ts';

const SEND = 'proxy send';
const TELL = 'proxy tell';
const VERSION = 0x01;
const SEND_PARTS = 7;
const TELL_PARTS = 3;

/** A webhook without its metadata, which is kept as exact JSON text beside it. */
export type WebhookPlace = Omit<ProxyWebhook, 'metadata'>;

/** A job that is to be sent, opened. */
export interface SendJob {
  readonly facts: JobFacts;
  readonly request: JobRequest;
  readonly body: Uint8Array;
  readonly webhook?: WebhookPlace | undefined;
  /** Exact JSON text, or empty. */
  readonly metadata: Uint8Array;
  /** The public half of the generation that what comes back is stored under; empty when nothing is. */
  readonly publicKey: Uint8Array;
  /** Makes the token of what is fetched; empty when the token is random. */
  readonly tokenKey: Uint8Array;
}

/** A report that is to be told, opened. */
export interface TellJob {
  readonly facts: ReportFacts;
  /** Empty when the webhook has none. */
  readonly secret: Uint8Array;
  readonly body: Uint8Array;
}

/** The value of a JSON text of ours: parameters of a job, or part of an opened record. */
export const parseOwn = <T>(bytes: Uint8Array): T => JSON.parse(toText(bytes)) as T;

function split(plain: Uint8Array, count: number): Uint8Array[] {
  if (plain[0] !== VERSION) {
    throw new IntegrityError('job');
  }
  const parts: Uint8Array[] = [];
  let at = 1;
  for (let left = count; left > 0; left--) {
    const part = readBytes(plain, at + 4, readU32(plain, at));
    parts.push(part);
    at += 4 + part.length;
  }
  if (at !== plain.length) {
    throw new IntegrityError('job');
  }
  return parts;
}

function seal(
  context: ThreadContext,
  { aid, id }: JobPlace,
  kind: string,
  parts: readonly Uint8Array[],
): Uint8Array {
  const plain = concat([Uint8Array.of(VERSION), ...parts.flatMap((part) => [u32(part.length), part])]);
  try {
    return context.sealer.seal('job', aid, kind, [id], plain);
  } finally {
    wipe(plain);
  }
}

const open = (context: ThreadContext, { aid, id }: JobPlace, kind: string, record: Uint8Array): Uint8Array =>
  context.sealer.open('job', aid, kind, [id], record);

/** Seals a job that is to be sent. */
export const sealSend = (context: ThreadContext, place: JobPlace, job: SendJob): Uint8Array =>
  seal(context, place, SEND, [
    toJsonBytes(job.facts),
    toJsonBytes(job.request),
    job.body,
    job.webhook === undefined ? EMPTY : toJsonBytes(job.webhook),
    job.metadata,
    job.publicKey,
    job.tokenKey,
  ]);

/** Opens a job that is to be sent. Damage and any other place: `IntegrityError`. */
export function openSend(context: ThreadContext, place: JobPlace, record: Uint8Array): SendJob {
  const parts = split(open(context, place, SEND, record), SEND_PARTS);
  const [facts = EMPTY, request = EMPTY, body = EMPTY, webhook = EMPTY] = parts;
  const [metadata = EMPTY, publicKey = EMPTY, tokenKey = EMPTY] = parts.slice(4);
  return {
    facts: parseOwn<JobFacts>(facts),
    request: parseOwn<JobRequest>(request),
    body,
    ...(webhook.length === 0 ? {} : { webhook: parseOwn<WebhookPlace>(webhook) }),
    metadata,
    publicKey,
    tokenKey,
  };
}

/** Opens a job for the length of `use`, and overwrites its request and its keys after it. */
export function withSend<T>(
  context: ThreadContext,
  place: JobPlace,
  record: Uint8Array,
  use: (job: SendJob) => T,
): T {
  const job = openSend(context, place, record);
  try {
    return use(job);
  } finally {
    wipe(job.body, job.publicKey, job.tokenKey);
  }
}

/** Seals the report of a job for the job's webhook. */
export const sealTell = (
  context: ThreadContext,
  place: JobPlace,
  { account, requestId }: Pick<JobFacts, 'account' | 'requestId'>,
  { url, secret, maxAttempts }: WebhookPlace,
  body: Uint8Array,
): Uint8Array =>
  seal(context, place, TELL, [
    toJsonBytes({ url, maxAttempts, account, requestId } satisfies ReportFacts),
    secret === undefined ? EMPTY : utf8(secret),
    body,
  ]);

/** Opens a report. Damage and any other place: `IntegrityError`. */
export function openTell(context: ThreadContext, place: JobPlace, record: Uint8Array): TellJob {
  const [facts = EMPTY, secret = EMPTY, body = EMPTY] = split(open(context, place, TELL, record), TELL_PARTS);
  return { facts: parseOwn<ReportFacts>(facts), secret, body };
}
