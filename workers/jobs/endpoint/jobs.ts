/** Endpoints: made, described, checked; and capture, which stores under an endpoint's secret alone. */
import { bytes, concealed, json, jsonText, message, oneOf, optional, secret, text } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import { STORED_PARTS, type StoreParams } from '../item/jobs.ts';
import type { EndpointVersion, KeyName } from '../key/jobs.ts';
import { laneByRules, RULES } from '../rule/jobs.ts';

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
  /** Of a capture endpoint: the default of its captures. */
  readonly algorithm?: string | undefined;
  /** Of a capture endpoint: whether bodies of any format are taken. */
  readonly smartParse?: boolean | undefined;
  /** Of a capture endpoint: whether an item that is stored already is left as it is. */
  readonly keeps?: boolean | undefined;
  /** Of a retrieval endpoint: the only token, and what is masked. */
  readonly token?: string | undefined;
  /** The only reference of a retrieval endpoint; the default of a capture endpoint. */
  readonly reference?: string | undefined;
  readonly maskFields?: readonly string[] | undefined;
}

/** What a capture adds to a store. */
export interface CaptureParams extends StoreParams {
  readonly endpoint: EndpointVersion;
  readonly bytesMax: number;
  /** Whether the account sees numbers masked, and so do the rules that it has made. */
  readonly forcedMask: boolean;
  /** The Content-Type of a body that is searched for a card, whatever its format. */
  readonly smartParse?: { readonly contentType: string | undefined } | undefined;
}

/** The two sealed records of an endpoint. */
export interface EndpointRecords {
  readonly policy: Uint8Array;
  readonly wrap: Uint8Array;
}

const RECORDS = message({ policy: bytes, wrap: bytes });

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
  /** Seals what a third party sends; `endpoint_refused`, before the body is read, when the secret is another one. */
  captureItem: defineJob({
    lane: laneByRules,
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<CaptureParams>(),
      records: RECORDS,
      secret,
      rules: RULES,
      body: bytes,
    }),
    output: STORED_PARTS,
  }),
};
