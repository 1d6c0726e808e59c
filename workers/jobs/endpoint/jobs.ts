/** Jobs on endpoints, and captures, which store items with an endpoint's secret alone. */
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import type { ItemMetadata } from '../../../server/domain/mask/metadata.ts';
import type { SecretKind } from '../../crypto/endpoint/record.ts';
import type { RepliedTo, SealedFor } from '../../crypto/endpoint/sealing-key.ts';
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
interface EndpointPlace {
  readonly aid: string;
  readonly id: string;
  readonly kind: SecretKind;
}

/** The rights of an endpoint. Its record is sealed, and the wrap opens only together with this very policy. */
export interface EndpointPolicy {
  readonly kind: SecretKind;
  /** The name of the account, whose rights are read at each use of the endpoint. */
  readonly account: string;
  readonly user: string;
  readonly kid: string;
  readonly gen: number;
  /** ms since 1970; undefined in policies of earlier versions. */
  readonly createdAt?: number | undefined;
  /** ms since 1970, whole seconds; null = never. */
  readonly expiresAt: number | null;
  readonly rules: readonly string[];
  readonly wantsCard: boolean;
  /** Numbers are masked for every account: a credential without the right to see them created the endpoint. */
  readonly isMasked?: boolean | undefined;
  /** Capture endpoints: the default of its captures. Inbounds: that of all its cards. */
  readonly algorithm?: string | undefined;
  /**
   * Capture endpoints: the creator may reveal digits to others, so a capture may name an algorithm whose tokens keep digits.
   * Undefined in policies of earlier versions.
   */
  readonly mayReveal?: boolean | undefined;
  /** Capture endpoints: bodies of any format are accepted. */
  readonly smartParse?: boolean | undefined;
  /** Only sealed bodies are accepted, and only sealed replies sent. */
  readonly requiresSealed?: boolean | undefined;
  /** Capture endpoints: an existing item is left as it is. */
  readonly keeps?: boolean | undefined;
  /** The only token that a retrieval endpoint reads, or a capture endpoint updates. */
  readonly token?: string | undefined;
  /** The only reference of a retrieval endpoint, and of a capture endpoint with a token; else the default of its captures. */
  readonly reference?: string | undefined;
  /** Successful uses that are allowed. */
  readonly maxUses?: number | undefined;
  /** The rate of each source address, as it was written: `20/m`. */
  readonly rate?: string | undefined;
  /** Origins of the pages that may use it; undefined for all. */
  readonly origins?: readonly string[] | undefined;
  /** Capture endpoints: the path of the reference in a body. */
  readonly referenceField?: string | undefined;
  /** Inbounds: where it forwards, and what it stores. */
  readonly inbound?: InboundSettings | undefined;
  /** Retrieval endpoints only. */
  readonly maskFields?: readonly string[] | undefined;
  /** Capture endpoints: a webhook is notified of each capture. */
  readonly isTold?: boolean | undefined;
}

/** The settings of an inbound. */
interface InboundSettings extends InboundRules {
  /** The id of the connection that it forwards through. */
  readonly connection: string;
  /** The lifetime of its items, as it was written. */
  readonly ttl?: string | undefined;
  /** The metadata of its items. */
  readonly metadata?: ItemMetadata | undefined;
  /** CIDRs that it may be used from; undefined for any. */
  readonly ips?: readonly string[] | undefined;
}

/** A policy as it is sealed. The webhook does not leave the threads. */
export interface SealedPolicy extends Omit<EndpointPolicy, 'isTold'> {
  readonly webhook?: (WebhookTarget & { readonly metadata?: string | undefined }) | undefined;
}

/** The report of a capture, without the members that its endpoint adds. */
interface CaptureReport {
  /** The id of the job that delivers it. */
  readonly id: string;
  readonly requestId: string;
  /** The reply that the sender of the capture gets. */
  readonly captured: { readonly token: string; readonly reference?: string | undefined };
}

/** Options of reading a body that was sent to a capture endpoint. */
interface CapturedParams {
  readonly endpoint: EndpointVersion;
  readonly bytesMax: number;
  /** The account, and so its rules, see numbers masked. */
  readonly forcedMask: boolean;
  /** The Content-Type of a body of any format that is searched for a card. */
  readonly smartParse?: { readonly contentType: string | undefined } | undefined;
}

export interface CaptureParams extends StoreParams, CapturedParams {
  /** The path in the body of the reference that replaces the given one. */
  readonly referenceField?: string | undefined;
}

export interface PatchParams extends ItemName, ActorParams, CapturedParams {
  readonly seen: number;
  /** ms since 1970; 0: it does not expire. */
  readonly sadExpiresAt: number;
}

export interface EndpointRecords {
  readonly policy: Uint8Array;
  readonly wrap: Uint8Array;
}

export const ENDPOINT_RECORDS = message({ policy: bytes, wrap: bytes });

/**
 * The opening of a sealed body: the id of its key and the names that it is bound to besides its endpoint, the sealed record
 * of the key, and the sender's half.
 */
const SEALED = optional(
  message({ names: json<Omit<SealedFor, 'id'> & { readonly kid: string }>(), key: bytes, enc: bytes }),
);

/** Jobs on endpoints, and with their secrets. */
export const ENDPOINT_JOBS = {
  /** Makes an endpoint with a random secret, or the given one; `invalid_request` for one of another form, `key_changed` if the key has a newer generation than the policy. */
  createEndpoint: defineJob({
    lane: 'hot',
    input: message({
      /** `gen` is the generation that the policy names, which must be the key's newest. */
      params: json<EndpointPlace & KeyName & { readonly gen: number }>(),
      blob: bytes,
      passphrase: secret,
      policy: json<EndpointPolicy>(),
      /** Capture endpoints: the result of `readProxyOrder`; empty without a webhook. */
      order: bytes,
      /** The secret of an endpoint that is made again. */
      given: optional(secret),
    }),
    output: oneOf({
      created: { secret: concealed(text), policy: bytes, wrap: bytes, digest: text },
      warm_miss: {},
    }),
  }),
  /** Reads the policy, without the secret. */
  describeEndpoint: defineJob({
    lane: 'hot',
    input: message({ place: json<Pick<EndpointPlace, 'aid' | 'id'>>(), policy: bytes }),
    output: jsonText<EndpointPolicy>(),
  }),
  /** Returns the digest that names one creation of an endpoint in the security log, and changes with its policy. */
  endpointDigest: defineJob({
    lane: 'hot',
    input: message({ place: json<Pick<EndpointPlace, 'aid' | 'id'>>(), policy: bytes }),
    output: text,
  }),
  /**
   * Returns the policy to a caller with the secret; `endpoint_refused` for another secret. A `wrap`, which an endpoint has until
   * it is stopped, is opened as well: only a policy that a wrap is bound to is valid.
   */
  checkEndpoint: defineJob({
    lane: 'hot',
    input: message({ place: json<EndpointPlace>(), policy: bytes, wrap: optional(bytes), secret }),
    output: jsonText<EndpointPolicy>(),
  }),
  /** Makes the records of an endpoint without a usable secret. */
  decoyEndpoint: defineJob({
    lane: 'hot',
    input: message({ place: json<EndpointPlace>() }),
    output: ENDPOINT_RECORDS,
  }),
  /** Makes the sealed record of a new key for a day, given as days since 1970. */
  createSealingKey: defineJob({ lane: 'hot', input: message({ day: text }), output: bytes }),
  /** Reads the public half of such a key. */
  describeSealingKey: defineJob({
    lane: 'hot',
    input: message({ day: text, record: bytes }),
    output: message({ kid: text, publicKey: bytes }),
  }),
  /**
   * Seals data that a third party sends; `endpoint_refused` for another secret, before the body is read. A sealed body is opened
   * only here: `sealing_key_expired` for another key than the given one, `invalid_request` if it does not open.
   */
  captureItem: defineJob({
    lane: laneByRules,
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<CaptureParams>(),
      records: ENDPOINT_RECORDS,
      secret,
      rules: RULES,
      sealed: SEALED,
      body: bytes,
    }),
    output: STORED_PARTS,
  }),
  /**
   * Adds data that a third party sends to an item that only its owner can open. `token_not_found` and `reference_required` as for
   * the owner; `patches_full` for too many unmerged patches, `body_too_large` for too long ones; sealed bodies as above.
   */
  patchItem: defineJob({
    lane: laneByRules,
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<PatchParams>(),
      records: ENDPOINT_RECORDS,
      secret,
      rules: RULES,
      item: SEALED_ITEM,
      sealed: SEALED,
      body: bytes,
    }),
    output: STORED_PARTS,
  }),
  /** Seals the body of a reply to a point of its reader; `invalid_request` for what is none. */
  sealRetrieval: defineJob({
    lane: 'hot',
    input: message({ names: json<RepliedTo>(), to: bytes, body: bytes }),
    output: message({ enc: bytes, ct: bytes }),
  }),
  /** Makes the report of a capture for the endpoint's webhook. */
  reportCapture: defineJob({
    lane: 'hot',
    input: message({ place: json<EndpointPlace>(), policy: bytes, report: json<CaptureReport>() }),
    output: bytes,
  }),
};
