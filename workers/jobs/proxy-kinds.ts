/** The plain parameters of the jobs of proxied calls; what each job takes and gives stands beside its kind. */
import type { ActorParams, KeyParams, OpeningParams, RulesParams, StoreParams } from './kinds.ts';

/** Sends stored data, fetches data to be stored, or asks for a network token. */
export type ProxyKind = 'post' | 'get' | 'network_token';

export interface OrderParams {
  readonly what: ProxyKind;
  /** How often a webhook is called at most where the order does not say, 1 to 8. */
  readonly webhookAttempts: number;
}

/** What the server needs to know of an order; nothing secret. */
export interface OrderFacts {
  readonly synchronous: boolean;
  /** Scheme, host and port of the target, and `/`; of a network token there is none. */
  readonly origin?: string | undefined;
  readonly clientCertId?: string | undefined;
  /** The webhook's URL, and where in the body it stands. */
  readonly webhook?: { readonly url: string; readonly field: string } | undefined;
  /** Whether the request may be sent again after an unknown outcome. */
  readonly repeatable: boolean;
}

/** Names a job; its records open under no other id and account. */
export interface JobPlace {
  readonly aid: string;
  readonly id: string;
}

/** Whose job it is, by name. */
interface JobOwner extends JobPlace {
  readonly account: string;
  readonly user: string;
  readonly attempts: number;
  /** The id of the request that has asked for it, for the log. */
  readonly requestId?: string | undefined;
}

export interface FillProxyParams extends JobOwner, OpeningParams, RulesParams, ActorParams {
  readonly token: string;
  readonly reference?: string | undefined;
  readonly seen: number;
  readonly what: 'post' | 'network_token';
  readonly debug: 'none' | 'masked' | 'plain';
  readonly requesterId?: string | undefined;
  /** Whether the account sees numbers masked: then no refusal may tell what an item holds. */
  readonly forcedMask: boolean;
}

export interface PrepareFetchParams extends JobOwner, KeyParams, RulesParams {
  readonly ip: string;
  readonly ua: string;
  readonly algorithm: string;
  readonly smartParse: boolean;
}

/** What the service knows of an accepted job, sealed with it. */
export interface JobFacts {
  readonly what: ProxyKind;
  /** Name of the account. */
  readonly account: string;
  readonly user: string;
  readonly kid: string;
  /** The newest generation of the key when the job was accepted. */
  readonly gen: number;
  /** Of the item that the request was filled from. */
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly ip: string;
  readonly ua: string;
  /** The id of the request that has asked for it, for the log; jobs of earlier versions have none. */
  readonly requestId?: string | undefined;
  readonly attempts: number;
  readonly repeatable: boolean;
  readonly synchronous: boolean;
  readonly clientCertId?: string | undefined;
  readonly requesterId?: string | undefined;
  /** Of a fetch: how the token is made, and how the reply is read. */
  readonly algorithm?: string | undefined;
  readonly smartParse?: boolean | undefined;
  /** Of a fetch: the rules that run before storage; those of a sent request have run. */
  readonly rules: readonly string[];
}

/** A request without its body. For a network token the url is empty: the requester's is added by the server. */
export interface JobRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly hasBody: boolean;
}

export interface StoreFetchedParams extends StoreParams {
  readonly id: string;
  readonly bytesMax: number;
  /** Whether the account sees numbers masked, and so do the rules that it has made. */
  readonly forcedMask: boolean;
  readonly contentType?: string | undefined;
}

/** What became of a call, without the bytes that go with it. */
export type ProxyOutcome =
  | { readonly kind: 'reply'; readonly statusCode: number; readonly headers: JobRequest['headers'] }
  | {
      readonly kind: 'stored';
      readonly statusCode: number;
      readonly headers: JobRequest['headers'];
      /** A TokenInfo, as callers see it. */
      readonly tokenInfo: object;
    }
  /** A fetch whose last reply asks to come again. */
  | { readonly kind: 'unstored'; readonly statusCode: number; readonly headers: JobRequest['headers'] }
  | { readonly kind: 'failure'; readonly code: string };

export interface ReportParams extends JobPlace {
  readonly outcome: ProxyOutcome;
}

/** What a sealed report tells beside its body and the webhook's secret. */
export interface ReportFacts {
  readonly url: string;
  readonly maxAttempts: number;
  /** Name of the account. */
  readonly account: string;
  readonly requestId?: string | undefined;
}

/** A reply that is kept for repeats of its request, named by the digest of the request's Idempotency-Key. */
export interface ReplyParams extends KeyParams {
  readonly digest: string;
}

export interface DropSadParams extends KeyParams {
  readonly token: string;
}
