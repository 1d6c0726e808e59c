/**
 * What the server asks of the threads: one number per kind of job, and the plain parameters each takes.
 * A job's first field is its parameters as JSON text; everything secret or large travels in byte fields of
 * its own, in the order that the comment beside the kind gives.
 */
export const KIND = {
  /** [params, passphrase] -> [sealed key record] */
  createKey: 3,
  /** [params, sealed key record, passphrase] -> [warm blob, re-sealed record or empty] */
  unlockKey: 4,
  /** [params, sealed key record, old passphrase, new passphrase] -> [sealed key record] */
  changePassphrase: 5,
  /** [params, sealed key record] -> [JSON of KeyFacts] */
  describeKey: 6,
  /** [params, warm blob, passphrase] -> [] or `warm_miss` */
  checkWarm: 7,
  /** [params, warm blob, passphrase, body] -> see StoredParts */
  storeItem: 10,
  /** [params, opening, secret, rules, item, meta, sad, tail] -> [JSON text, log entry, JSON of CardFacts] */
  openItem: 11,
  /** [params, opening, secret, rules, item, meta, sad, tail, changes] -> see StoredParts */
  updateItem: 12,
  /** [params, meta] -> [reference index member or empty] */
  describeItem: 13,
  /** [params, tail] -> [log entry] */
  sealLog: 14,
  /** [params, entries…] -> [JSON text of the list] */
  readLog: 15,
  /** [params, policy, wrap, secret, rules, body] -> see StoredParts */
  captureItem: 16,
  /** [params, order, tokens, stored_at, blob per bucket…] -> [JSON slices, offsets] */
  listItems: 20,
  /** [params, opening, secret, rules, order, tokens, stored_at, blob per bucket…] -> [JSON slices, offsets, log entries, offsets, JSON list of CardFacts] */
  decryptItems: 21,
  /** [params, warm blob, passphrase, JSON of EndpointPolicy] -> [secret text, policy, wrap] */
  createEndpoint: 50,
  /** [params, policy] -> [JSON of EndpointPolicy] */
  describeEndpoint: 51,
  /** [params, policy, secret, wrap where there is one] -> [JSON of EndpointPolicy] or `endpoint_refused` */
  checkEndpoint: 52,
  /** [params] -> [policy, wrap] of an endpoint whose secret nobody knows */
  decoyEndpoint: 53,
  /** [params, body] -> [JSON text of the operations] */
  checkRule: 54,
  /** [params, body] -> [JSON of OrderFacts, order] */
  readProxyOrder: 70,
  /** [params, opening, secret, rules, item, meta, sad, tail, order] -> [sealed job, log entry, filled request as JSON or empty] */
  fillProxy: 71,
  /** [params, warm blob, passphrase, order] -> [sealed job] */
  prepareFetch: 72,
  /** [params, sealed job] -> [JSON of JobFacts, JSON of JobRequest, body] */
  openJob: 73,
  /** [params, sealed job, rules, body of the reply] -> those of StoredParts, then what is told of the reply or empty */
  storeFetched: 74,
  /** [params, sealed job, bytes, filled request as JSON or empty] -> [JSON text of the reply] */
  reportProxy: 75,
  /** [params, sealed job, bytes] -> [sealed report] */
  sealReport: 76,
  /** [params, sealed report] -> [JSON of ReportFacts, webhook secret or empty, body] */
  openReport: 77,
  /** [params, warm blob, passphrase, reply] -> [kept reply] */
  sealReply: 78,
  /** [params, warm blob, passphrase, kept reply] -> [reply] */
  openReply: 79,
  /** [params, meta] -> [meta without sensitive authentication data, or empty when it has none] */
  dropSad: 81,
  /** [params, record…] -> [JSON list of RecordLook] */
  lookAtRecords: 140,
  /** [params, record…] -> [JSON list of key ids, record sealed again or empty…] */
  renewRecords: 141,
  /** [params, survey] -> [JSON of ItemsLook, reference index member or empty…] */
  lookAtItems: 142,
  /** [params, tags of the entries before, entry…] -> [JSON of LogLook] */
  lookAtLog: 143,
  /** [params, meta…] -> [reference index member or empty…] */
  referenceMembers: 144,
  /** [params, survey] -> [JSON of RenewalPlan, then tag that was read and new record…] */
  renewItems: 145,
  /** [params, entry…] -> as renewItems */
  renewLog: 146,
} as const;

export type JobKind = (typeof KIND)[keyof typeof KIND];

/** A job may also end with this code: the warm blob does not open under the passphrase given. */
export const WARM_MISS = 'warm_miss';

/** Names the vault key that a job works under. */
export interface KeyParams {
  readonly aid: string;
  readonly kid: string;
}

/** The endpoint that a job works through, and the generation of the key that it was made under. */
export interface EndpointUse {
  readonly id: string;
  readonly gen: number;
}

/**
 * How a job opens that key: by a warm blob under the passphrase, or, with `endpoint`, by the policy and wrap of
 * a retrieval endpoint (u32 length of the policy, policy, wrap) under its secret.
 */
export interface OpeningParams extends KeyParams {
  readonly endpoint?: EndpointUse | undefined;
}

/** Ids of rules; their sealed records travel in a field of their own, each with its length (u32) before it. */
export interface RulesParams {
  readonly rules: readonly string[];
}

/** Who acts, for the action log. */
export interface ActorParams {
  readonly ip: string;
  readonly ua: string;
  readonly source: 'vault' | 'capture' | 'retrieve' | 'proxy' | 'form';
  readonly now: number;
}

export interface StoreParams extends KeyParams, ActorParams {
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm: string;
  /** For a `uuid` token that must be the same when the request is repeated. */
  readonly uuid?: string | undefined;
  /** The candidate to begin with, after a clash. */
  readonly candidate: number;
  readonly refuseTestCards: boolean;
  readonly wantsCard: boolean;
  /** ms since the epoch; 0 = kept. */
  readonly sadExpiresAt: number;
  /** Number of log entries known to exist already. */
  readonly seen: number;
}

/** What a capture adds to a store: everything else it needs lies in the endpoint's records. */
export interface CaptureParams extends StoreParams, RulesParams {
  readonly endpoint: EndpointUse;
  readonly bytesMax: number;
  /** Whether the account sees numbers masked, and so do the rules that it has made. */
  readonly forcedMask: boolean;
}

export interface ViewParams extends RulesParams {
  readonly forcedMask: boolean;
  readonly maskFields: readonly string[];
  readonly wantsCard: boolean;
}

export interface OpenParams extends OpeningParams, ActorParams, ViewParams {
  readonly token: string;
  readonly reference?: string | undefined;
  readonly seen: number;
}

export interface UpdateParams extends OpeningParams, ActorParams, RulesParams {
  readonly token: string;
  readonly reference?: string | undefined;
  readonly seen: number;
  readonly sadExpiresAt: number;
  readonly bytesMax: number;
  /** Whether the account sees numbers masked, and so do its rules. */
  readonly forcedMask: boolean;
}

export interface DescribeItemParams extends KeyParams {
  readonly token: string;
  /** `check`: the reference must be given when the item has one. `lookup`: it is only compared when given. */
  readonly rule: 'check' | 'lookup';
  readonly reference?: string | undefined;
}

export interface SealLogParams extends KeyParams, ActorParams {
  readonly token: string;
  readonly action: 'encrypt' | 'decrypt';
  readonly seen: number;
}

export interface ReadLogParams extends KeyParams {
  readonly token: string;
  /** The number of the first entry given; the others follow downwards. */
  readonly newest: number;
}

/** Which items of a page are wanted after their references could be read. */
export interface ReferenceFilter {
  readonly reference?: string | undefined;
  readonly referencePrefix?: string | undefined;
}

export interface ListParams extends KeyParams, ReferenceFilter {}

export interface DecryptItemsParams extends OpeningParams, ActorParams, ViewParams, ReferenceFilter {}

/** Names an endpoint; `kind` is part of what its secret is bound to. */
export interface EndpointParams {
  readonly aid: string;
  readonly id: string;
  readonly kind: 'capture' | 'retrieve';
}

/** `gen` is the generation that the policy names, which must be the key's newest. */
export interface CreateEndpointParams extends EndpointParams, KeyParams {
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
  /** ms since the epoch, whole seconds; null = never. */
  readonly expiresAt: number | null;
  readonly rules: readonly string[];
  readonly wantsCard: boolean;
  /** Of a capture endpoint: the default of its captures. */
  readonly algorithm?: string | undefined;
  /** Of a retrieval endpoint: the only token, the only reference, and what is masked. */
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly maskFields?: readonly string[] | undefined;
}

/** What may be told of a card without its number. */
export interface CardFacts {
  /** What may be shown: the first 8 digits of a long number, the first 6 of a shorter one. */
  readonly bin?: string;
  /** The first 8 digits, by which issuers are looked up; never shown. */
  readonly issuerDigits?: string;
  readonly brand?: string;
}

/** What a thread tells of a key record; nothing secret. */
export interface KeyFacts {
  readonly kid: string;
  readonly gen: number;
}

/** The JSON half of a store or update reply. */
export interface StoredFacts {
  readonly token: string;
  readonly gen: number;
  readonly candidate: number;
  readonly sadExpiresAt: number;
  readonly card?: CardFacts | undefined;
  readonly reference?: string | undefined;
}

/**
 * Fields of a reply that carries an item to be written, in order: facts (JSON), item (envelope and content),
 * meta, sad (or empty), reference index member (or empty), log entry, identity tag (or empty).
 */
export interface StoredParts {
  readonly facts: StoredFacts;
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly sad: Uint8Array;
  readonly refMember: Uint8Array;
  readonly logEntry: Uint8Array;
  readonly identity: Uint8Array;
}

/** What every thread is started with. */
export interface ThreadData {
  readonly env: 'staging' | 'production';
  readonly writeId: string;
  readonly keys: readonly (readonly [string, Uint8Array])[];
  /** Random per process; warm blobs open only in the process that made them. */
  readonly processKey: Uint8Array;
  readonly argon2: { readonly memoryKiB: number; readonly passes: number; readonly parallelism: number };
  /** The sealed root that index keys derive from; absent only while it is being made. */
  readonly root?: Uint8Array;
}
