import type { ErrorCode } from '../../../server/core/errors.ts';
import type { HeaderEntries } from '../../../server/core/headers.ts';
import type { Showing, Sight } from '../../../server/domain/relay/sight.ts';
import { FAILURE } from '../../pool/failure.ts';
import type { Lane } from '../../pool/job.ts';
import {
  bytes,
  concealed,
  json,
  list,
  local,
  message,
  oneOf,
  optional,
  revealed,
  secret,
  text,
  utf8Text,
} from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import { type KeyName, OPENING } from '../key/jobs.ts';
import { RULES } from '../rule/jobs.ts';
import {
  type ActorParams,
  type ItemName,
  SEALED_ITEM,
  STORED_PARTS,
  type StoreParams,
} from '../vault/jobs.ts';

/** Sends stored data, fetches data to be stored, or requests a network token. */
export type ProxyKind = 'post' | 'get' | 'network_token';

export interface OrderParams {
  readonly what: ProxyKind | 'capture';
  /** Maximum number of calls of a webhook where the order has none, 1 to 8. */
  readonly webhookAttempts: number;
  readonly refuseUnknown: boolean;
}

/** Facts of an order that the server needs; nothing secret. */
export interface OrderFacts {
  readonly synchronous: boolean;
  /** Scheme, host and port of the target, and `/`; a network token has none. */
  readonly origin?: string | undefined;
  readonly clientCertId?: string | undefined;
  /** The connection that the request goes through. */
  readonly connection?: string | undefined;
  /** The webhook's URL, and its place in the body. */
  readonly webhook?: { readonly url: string; readonly field: string } | undefined;
  /** The request may be sent again after an unknown outcome. */
  readonly repeatable: boolean;
  /** A template has sections, whose CPU time is not bounded by the length of their input. */
  readonly hasSections: boolean;
}

/** Names a proxy job; its records open under no other id and account. */
export interface JobPlace {
  readonly aid: string;
  readonly id: string;
}

/** The owner of a proxy job, by name, and the rights of its caller. */
interface JobOwner extends JobPlace, ActorParams {
  readonly account: string;
  readonly user: string;
  readonly attempts: number;
  /** The caller, as the security log names it. */
  readonly actor?: string | undefined;
  /** The caller sees numbers masked: then no error may reveal the content of an item. */
  readonly forcedMask: boolean;
  readonly sight: Sight;
}

/** A request to be filled from an item, without its order. */
export interface FillRequest {
  readonly id: string;
  readonly what: 'post' | 'network_token';
  readonly attempts: number;
  /** The form in which `debug` shows the request. */
  readonly debug: 'none' | 'masked' | 'plain';
  /** Fills an unknown name with an empty text. */
  readonly allowMissing: boolean;
  readonly requesterId?: string | undefined;
}

export interface FillProxyParams extends FillRequest, JobOwner, ItemName {
  readonly seen: number;
  readonly hasSections: boolean;
}

export interface PrepareFetchParams extends JobOwner, KeyName {
  readonly algorithm: string;
  readonly smartParse: boolean;
  /** Ids of the rules that will run before storage. */
  readonly rules: readonly string[];
}

/** Facts of an accepted proxy job, sealed with it. */
export interface JobFacts {
  readonly what: ProxyKind;
  readonly account: string;
  readonly user: string;
  readonly kid: string;
  /** The newest generation of the key when the job was accepted. */
  readonly gen: number;
  /** The item that the request was filled from. */
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly ip: string;
  readonly ua: string;
  /** The caller, as the security log names it; jobs of earlier versions have none. */
  readonly actor?: string | undefined;
  /** The API credential of the caller, and its name; jobs of earlier versions have no name. */
  readonly credentialId?: string | undefined;
  readonly credentialName?: string | undefined;
  /** The credential sees numbers masked, even if the account does not. */
  readonly forcedMask?: boolean | undefined;
  /** The id of the request that created it, for the log; jobs of earlier versions have none. */
  readonly requestId?: string | undefined;
  readonly attempts: number;
  readonly repeatable: boolean;
  readonly synchronous: boolean;
  readonly clientCertId?: string | undefined;
  /** The longest time of one attempt, where its connection says one. */
  readonly timeoutMs?: number | undefined;
  readonly requesterId?: string | undefined;
  /** The format of the token of a fetch, and the way in which its reply is read. */
  readonly algorithm?: string | undefined;
  readonly smartParse?: boolean | undefined;
  /** The rules of a fetch, which run before storage; rules of a sent request have run. */
  readonly rules: readonly string[];
}

export interface StoreFetchedParams extends StoreParams {
  readonly id: string;
  readonly bytesMax: number;
  /** The account, and its rules, see numbers masked. */
  readonly forcedMask: boolean;
}

/** The outcome of a call, without the bytes that belong to it. */
export type ProxyOutcome =
  | { readonly kind: 'reply'; readonly statusCode: number; readonly headers: HeaderEntries }
  | {
      readonly kind: 'stored';
      readonly statusCode: number;
      readonly headers: HeaderEntries;
      /** A TokenInfo, as callers see it. */
      readonly tokenInfo: object;
    }
  /** A fetch whose last reply asks to come again. */
  | { readonly kind: 'unstored'; readonly statusCode: number; readonly headers: HeaderEntries }
  | { readonly kind: 'failure'; readonly code: ErrorCode };

/** Facts of a sealed report, without its body and the webhook's secret. */
export interface ReportFacts {
  readonly url: string;
  readonly maxAttempts: number;
  readonly account: string;
  readonly requestId?: string | undefined;
  /** Reports of earlier versions have none. */
  readonly summary?: JobSummary | undefined;
}

/** The listed part of a job; no data of an item. */
export interface JobSummary {
  readonly actor?: string | undefined;
  /** The host that it calls; of a capture that of the webhook. */
  readonly host?: string | undefined;
  /** The requester of network tokens, whose host the operator knows. */
  readonly requesterId?: string | undefined;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
}

/** A job as its record describes it. */
export interface DescribedJob extends JobSummary {
  /** Undefined where the record does not say it: a report of an earlier version, or of a capture. */
  readonly what?: ProxyKind | undefined;
  readonly webhookUrl?: string | undefined;
  /** The subscription that an event is delivered to. */
  readonly subscription?: string | undefined;
}

/** A reply that is kept for repeats of its request, named by the digest of the request's Idempotency-Key. */
export interface ReplyName extends KeyName {
  readonly digest: string;
}

/** Maximum bytes of an order or a reply in the lane of short jobs. */
const SHORT_BYTES_MAX = 16_384;

/** The lane of a job that takes time in proportion to its bytes. */
export function laneByLength(...contents: readonly Uint8Array[]): Lane {
  const length = contents.reduce((sum, content) => sum + content.length, 0);
  return length <= SHORT_BYTES_MAX ? 'hot' : 'bulk';
}

/** A request for one attempt to send it. */
export const OUTGOING = concealed(
  message({ method: text, url: text, headers: json<HeaderEntries>(), body: optional(bytes) }),
);

const OPENED_JOB = { facts: json<JobFacts>(), request: OUTGOING };

/** Jobs of proxied calls. Card data and webhook secrets never leave the threads unsealed but for sending. */
export const PROXY_JOBS = {
  /** Reads and checks an order; errors name their place. `order` goes on to `fillProxy`, `prepareFetch` or `createEndpoint`. */
  readProxyOrder: defineJob({
    lane: ({ body }) => laneByLength(body),
    share: ({ aid }) => singlesOf(aid),
    input: message({ aid: local<string>(), params: json<OrderParams>(), body: bytes }),
    output: message({ facts: json<OrderFacts>(), order: bytes }),
  }),
  /**
   * Fills the request from an item. `ready`: for a synchronous call, with the settings for `showing` its reply; `filled`: sealed
   * as a job; `rejected`: the item was read, which must be logged. `shown`: the request for `debug` as JSON text, else empty.
   */
  fillProxy: defineJob({
    lane: ({ params, rules, order }) =>
      params.hasSections || rules.length > 0 ? 'bulk' : laneByLength(order),
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<FillProxyParams>(),
      opening: OPENING,
      rules: RULES,
      item: SEALED_ITEM,
      order: bytes,
      connection: optional(bytes),
    }),
    output: oneOf({
      filled: { logEntry: bytes, job: bytes, shown: bytes },
      ready: { logEntry: bytes, ...OPENED_JOB, shown: bytes, showing: concealed(json<Showing>()) },
      rejected: { logEntry: bytes, error: FAILURE },
      warm_miss: {},
    }),
  }),
  /** Seals a request that is sent as it stands, with what it takes to store its reply without the passphrase. */
  prepareFetch: defineJob({
    lane: ({ order }) => laneByLength(order),
    share: ({ params }) => singlesOf(params.aid),
    input: message({ params: json<PrepareFetchParams>(), blob: bytes, passphrase: secret, order: bytes }),
    output: oneOf({ prepared: { job: bytes }, warm_miss: {} }),
  }),
  /** A job with its request, for one attempt to send it. */
  openJob: defineJob({
    lane: 'hot',
    input: message({ place: json<JobPlace>(), job: bytes }),
    output: message(OPENED_JOB),
  }),
  /**
   * Seals the reply of a fetch or of a requester as an item, by token format and rules of the job. `extra`: the reported part,
   * the reply with tags or the network token; `headers`: as the caller sees them. `reply_not_storable` without a number.
   */
  storeFetched: defineJob({
    lane: ({ rules, body }) => (rules.length > 0 ? 'bulk' : laneByLength(body)),
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<StoreFetchedParams>(),
      job: bytes,
      rules: RULES,
      headers: json<HeaderEntries>(),
      body: bytes,
    }),
    output: message({ parts: STORED_PARTS, extra: bytes, headers: json<HeaderEntries>() }),
  }),
  /** Returns the synchronous reply as JSON text. `job` is empty for a `reply`. `content`: its body, or the `extra` of an item. */
  reportProxy: defineJob({
    lane: ({ content, shown }) => laneByLength(content, shown),
    share: ({ place }) => singlesOf(place.aid),
    input: message({
      place: json<JobPlace>(),
      job: bytes,
      outcome: json<ProxyOutcome>(),
      content: bytes,
      shown: bytes,
      showing: revealed(json<Showing>()),
    }),
    output: bytes,
  }),
  /** Seals the report for the job's webhook; the filled request is not in it. */
  sealReport: defineJob({
    lane: ({ content }) => laneByLength(content),
    share: ({ place }) => singlesOf(place.aid),
    input: message({ place: json<JobPlace>(), job: bytes, outcome: json<ProxyOutcome>(), content: bytes }),
    output: bytes,
  }),
  /** Describes jobs for lists, by the records of their phases; null for one that does not open. */
  describeJobs: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({
      aid: text,
      jobs: json<readonly { readonly id: string; readonly phase: 'send' | 'tell' | 'event' }[]>(),
      records: list(bytes),
    }),
    output: json<readonly (DescribedJob | null)[]>(),
  }),
  /** A report, for one call of its webhook. */
  openReport: defineJob({
    lane: 'hot',
    input: message({ place: json<JobPlace>(), report: bytes }),
    output: message({ facts: json<ReportFacts>(), secret: optional(concealed(utf8Text)), body: bytes }),
  }),
  /** Seals a reply for repeats of its request, so that only the vault key opens it. */
  sealReply: defineJob({
    lane: 'hot',
    input: message({ name: json<ReplyName>(), blob: bytes, passphrase: secret, reply: bytes }),
    output: oneOf({ sealed: { record: bytes }, warm_miss: {} }),
  }),
  /** Opens a kept reply under any passphrase that the vault key has had since. */
  openReply: defineJob({
    lane: 'hot',
    input: message({ name: json<ReplyName>(), blob: bytes, passphrase: secret, record: bytes }),
    output: oneOf({ opened: { reply: bytes }, warm_miss: {} }),
  }),
};
