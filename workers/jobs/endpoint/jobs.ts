/** Endpoints: made, described, checked; and capture, which stores under an endpoint's secret alone. */
import type { SealedFor } from '../../crypto/endpoint/sealing-key.ts';
import { bytes, concealed, json, jsonText, message, oneOf, optional, secret, text } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import type { EndpointVersion, KeyName } from '../key/jobs.ts';
import type { WebhookTarget } from '../proxy/record.ts';
import { laneByRules, RULES } from '../rule/jobs.ts';
import {
  type ActorParams,
  type ItemName,
  SEALED_ITEM,
  STORED_PARTS,
  type StoreParams,
} from '../vault/jobs.ts';

/** Names an endpoint; `kind` is part of what its secret is bound to. */
export interface EndpointPlace {
  readonly aid: string;
  readonly id: string;
  readonly kind: 'capture' | 'retrieve';
}

/** A new endpoint. `gen` is the generation that the policy names, which must be the key's newest. */
export interface CreateEndpointParams extends EndpointPlace, KeyName {
  readonly gen: number;
}

/** What an endpoint may do. Its record is sealed, and its wrap opens only together with exactly this one. */
export interface EndpointPolicy {
  readonly kind: 'capture' | 'retrieve';
  /** Name of the account, whose rights are looked up when the endpoint is used. */
  readonly account: string;
  readonly user: string;
  readonly kid: string;
  readonly gen: number;
  /** ms since 1970, whole seconds; null = never. */
  readonly expiresAt: number | null;
  readonly rules: readonly string[];
  readonly wantsCard: boolean;
  /** Whether its key keeps a summary of each card. */
  readonly summary?: boolean | undefined;
  /** Whether numbers stay masked whatever the account may see: a credential that sees them masked has made it. */
  readonly isMasked?: boolean | undefined;
  /** Of a capture endpoint: the default of its captures. */
  readonly algorithm?: string | undefined;
  /**
   * Of a capture endpoint: whether its maker may decide what others see, so that a capture may name an algorithm whose tokens
   * keep digits. Those of earlier versions do not say so.
   */
  readonly mayReveal?: boolean | undefined;
  /** Of a capture endpoint: whether bodies of any format are taken. */
  readonly smartParse?: boolean | undefined;
  /** Of a capture endpoint: whether only sealed bodies are taken. */
  readonly requiresSealed?: boolean | undefined;
  /** Of a capture endpoint: whether an item that is stored already is left as it is. */
  readonly keeps?: boolean | undefined;
  /** The only token that a retrieval endpoint reads, or a capture endpoint updates. */
  readonly token?: string | undefined;
  /** The only reference of a retrieval endpoint, and of a capture endpoint with a token; else the default of its captures. */
  readonly reference?: string | undefined;
  /** Of a retrieval endpoint. */
  readonly maskFields?: readonly string[] | undefined;
  /** Of a capture endpoint: whether a webhook is told of each capture. */
  readonly isTold?: boolean | undefined;
}

/** A policy as it is sealed. The webhook does not leave the threads. */
export interface SealedPolicy extends Omit<EndpointPolicy, 'isTold'> {
  readonly webhook?: (WebhookTarget & { readonly metadata?: string | undefined }) | undefined;
}

/** What a report of a capture says, beside what its endpoint adds to it. */
export interface CaptureReport {
  /** The id of the job that delivers it. */
  readonly id: string;
  readonly requestId: string;
  /** The reply that the sender of the capture gets. */
  readonly captured: { readonly token: string; readonly reference?: string | undefined };
}

/** How what is sent to a capture endpoint is read. */
interface CapturedParams {
  readonly endpoint: EndpointVersion;
  readonly bytesMax: number;
  /** Whether the account sees numbers masked, and so do the rules that it has made. */
  readonly forcedMask: boolean;
  /** The Content-Type of a body that is searched for a card, whatever its format. */
  readonly smartParse?: { readonly contentType: string | undefined } | undefined;
}

/** The key that a body was sealed to, and what it was sealed for beside its endpoint. */
export interface SealedNames extends Omit<SealedFor, 'id'> {
  readonly kid: string;
}

/** What a capture adds to a store. */
export interface CaptureParams extends StoreParams, CapturedParams {}

/** The item that an endpoint updates, and how. */
export interface PatchParams extends ItemName, ActorParams, CapturedParams {
  readonly seen: number;
  /** ms since 1970; 0 = kept. */
  readonly sadExpiresAt: number;
}

/** The two sealed records of an endpoint. */
export interface EndpointRecords {
  readonly policy: Uint8Array;
  readonly wrap: Uint8Array;
}

const RECORDS = message({ policy: bytes, wrap: bytes });

/** How a sealed body is opened: the sealed record of its key, and the sender's half. */
const SEALED = optional(message({ names: json<SealedNames>(), key: bytes, enc: bytes }));

/** Jobs on endpoints and through them. */
export const ENDPOINT_JOBS = {
  /** A new endpoint with a random secret; `key_changed` when the key has a newer generation than the policy. */
  createEndpoint: defineJob({
    lane: 'hot',
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<CreateEndpointParams>(),
      blob: bytes,
      passphrase: secret,
      policy: json<EndpointPolicy>(),
      /** Of a capture endpoint, as `readProxyOrder` has made it; empty without a webhook. */
      order: bytes,
    }),
    output: oneOf({
      created: { secret: concealed(text), policy: bytes, wrap: bytes, digest: text },
      warm_miss: {},
    }),
  }),
  /** The policy, which the server reads without the secret. */
  describeEndpoint: defineJob({
    lane: 'hot',
    input: message({ place: json<Pick<EndpointPlace, 'aid' | 'id'>>(), policy: bytes }),
    output: jsonText<EndpointPolicy>(),
  }),
  /** What names one creation of an endpoint in the security log: its policy cannot change without it. */
  endpointDigest: defineJob({
    lane: 'hot',
    input: message({ place: json<Pick<EndpointPlace, 'aid' | 'id'>>(), policy: bytes }),
    output: text,
  }),
  /**
   * The policy, for a caller who has the secret; `endpoint_refused` when the secret is another one. With `wrap`, which
   * an endpoint has until it is stopped, that is opened as well: a policy counts only where a wrap is bound to it.
   */
  checkEndpoint: defineJob({
    lane: 'hot',
    input: message({ place: json<EndpointPlace>(), policy: bytes, wrap: optional(bytes), secret }),
    output: jsonText<EndpointPolicy>(),
  }),
  /** The records of an endpoint without a usable secret. */
  decoyEndpoint: defineJob({
    lane: 'hot',
    input: message({ place: json<EndpointPlace>() }),
    output: RECORDS,
  }),
  /** The sealed record of a new key for a day, given as days since 1970. */
  createSealingKey: defineJob({ lane: 'hot', input: message({ day: text }), output: bytes }),
  /** What senders may know of such a key. */
  describeSealingKey: defineJob({
    lane: 'hot',
    input: message({ day: text, record: bytes }),
    output: message({ kid: text, publicKey: bytes }),
  }),
  /**
   * Seals what a third party sends; `endpoint_refused`, before the body is read, when the secret is another one. A body
   * that is sealed itself is opened here alone: `sealing_key_expired` for another key than the one given, and
   * `invalid_request` where it does not open.
   */
  captureItem: defineJob({
    lane: laneByRules,
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<CaptureParams>(),
      records: RECORDS,
      secret,
      rules: RULES,
      sealed: SEALED,
      body: bytes,
    }),
    output: STORED_PARTS,
  }),
  /**
   * Adds what a third party sends to an item that nobody here can open. `token_not_found` and `reference_required` as for
   * its owner; `patches_full` when too many wait for him, `body_too_large` when they are too long; a sealed body as above.
   */
  patchItem: defineJob({
    lane: laneByRules,
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<PatchParams>(),
      records: RECORDS,
      secret,
      rules: RULES,
      item: SEALED_ITEM,
      sealed: SEALED,
      body: bytes,
    }),
    output: STORED_PARTS,
  }),
  /** The report of a capture for the endpoint's webhook. */
  reportCapture: defineJob({
    lane: 'hot',
    share: ({ place }) => singlesOf(place.aid),
    input: message({ place: json<EndpointPlace>(), policy: bytes, report: json<CaptureReport>() }),
    output: bytes,
  }),
};
