import type { ErrorCode } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import type { WhoAmI } from '../http/schema/admin.ts';
import type { Key } from '../http/schema/key.ts';
import type { LuhnResult } from '../http/schema/utility.ts';
import type { LogEntry, TokenInfo } from '../http/schema/vault.ts';
import type { Requester, ThirdParties } from '../outbound/third-parties.ts';
import type { AccountStore } from '../store/account.ts';
import type { ComplianceStore } from '../store/admin.ts';
import type { AuditStore } from '../store/audit.ts';
import type { BinStore } from '../store/bin.ts';
import type { CertStore } from '../store/cert.ts';
import type { EndpointStore } from '../store/endpoint.ts';
import type { FormStore } from '../store/form.ts';
import type { IdempotencyStore } from '../store/idempotency.ts';
import type { ItemStore } from '../store/item.ts';
import type { JobStore } from '../store/job.ts';
import type { KeyStore } from '../store/key.ts';
import type { CensusStore } from '../store/maintenance/census.ts';
import type { RecordStore } from '../store/maintenance/record.ts';
import type { SurveyStore } from '../store/maintenance/survey.ts';
import type { RateStore } from '../store/rate.ts';
import type { RuleStore } from '../store/rule.ts';
import type { AdminService, ComplianceService, PasswordService, PreferenceService } from './admin.ts';
import type { Admission, RateService } from './admission.ts';
import type { AuditService } from './audit.ts';
import type { CertService } from './cert.ts';
import type { Account, Caller, ItemAddress, Repeatable, SecretBytes, TreeStream, Visitor } from './common.ts';
import type { CaptureService, EndpointService, RetrieveService, RuleService } from './endpoint.ts';
import type { FormPages, FormService } from './form.ts';
import type { Observer, Tracing } from './observer.ts';
import type { ProxyService } from './proxy.ts';

/** Types only: what the HTTP side is given, and by whom each promise is kept. */

export type {
  ActorParams,
  AuditEvent,
  AuditFilter,
  CardFacts,
  ChainFacts,
  ChainFault,
  Checkpoint,
  Crypto,
  EndpointPolicy,
  EndpointRecords,
  JobFacts,
  MarkFacts,
  OpenedEvent,
  Opening,
  OrderFacts,
  PageFields,
  Passphrase,
  ProxyOutcome,
  RuleSet,
  StoredFacts,
  StoreParams,
  WarmBlob,
  WarmMiss,
} from '../crypto/client.ts';
export type { PlacedRecord, Renewals, WalkPlace } from '../crypto/walk.ts';
export type { OutboundResult } from '../outbound/call.ts';
export type { FilledRequest, Requester } from '../outbound/third-parties.ts';
export type { EndpointEntry, StoredEndpoint } from '../store/endpoint.ts';
export type { FormEntry, StoredForm } from '../store/form.ts';
export type { Bucket, Position, Refused } from '../store/item.ts';
export type { JobBill, StoredJob } from '../store/job.ts';
export type { KeyName } from '../store/maintenance/census.ts';
export type { RecordKind } from '../store/maintenance/record.ts';
export type * from './admin.ts';
export type * from './admission.ts';
export type * from './audit.ts';
export type * from './cert.ts';
export type * from './common.ts';
export type * from './endpoint.ts';
export type * from './form.ts';
export type * from './observer.ts';
export type * from './proxy.ts';

/** What the services are built from. Time and randomness come from here, so that tests can be exact. */
export interface Parts {
  readonly crypto: Crypto;
  readonly accountStore: AccountStore;
  readonly keyStore: KeyStore;
  readonly itemStore: ItemStore;
  readonly endpointStore: EndpointStore;
  readonly ruleStore: RuleStore;
  readonly formStore: FormStore;
  readonly certStore: CertStore;
  readonly idempotencyStore: IdempotencyStore;
  readonly recordStore: RecordStore;
  readonly surveyStore: SurveyStore;
  readonly censusStore: CensusStore;
  readonly binStore: BinStore;
  readonly complianceStore: ComplianceStore;
  readonly jobStore: JobStore;
  readonly rateStore: RateStore;
  readonly auditStore: AuditStore;
  readonly thirdParties: ThirdParties;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** 128 random bits in URL-safe characters. */
  readonly randomId: () => string;
  /** An even chance from 0 up to, not including, 1: what spreads things in time. */
  readonly chance: () => number;
  /** Names of the master keys: the one that writes, and all that read. */
  readonly masterKeys: { readonly writeId: string; readonly ids: readonly string[] };
  /** Authenticates cursors; the same on every server of the vault. */
  readonly cursorKey: Uint8Array;
  /** Is told of the work while it is done, for metrics and traces. */
  readonly observer: Observer;
  readonly settings: ServiceSettings;
}

export interface ServiceSettings {
  readonly environment: 'staging' | 'production';
  /** Of the server, as `whoami` tells it. */
  readonly version: string;
  /** 0 = no limit. */
  readonly authFailuresMax: number;
  /** Requests a minute; 0 = no limit. */
  readonly ratePerAccount: number;
  /** Requests a minute; 0 = no limit. */
  readonly ratePerSource: number;
  /** 0 = every request pays the full passphrase derivation. */
  readonly warmUnlockSeconds: number;
  /** How long sensitive authentication data is kept, ms; 0 = until it is deleted. */
  readonly sadTtlMs: number;
  /** Whether it is deleted once it has gone out with a request that succeeded. */
  readonly sadAfterProxy: boolean;
  /** How long entries of security logs are kept, ms; 0 = for ever. */
  readonly auditRetentionMs: number;
}

/** Where the operator lets network tokens be asked for. */
export interface ProxyRequester extends Requester {
  readonly id: string;
  readonly client_cert_id: string | undefined;
}

/** A part of a listing. `limit` -1 means no limit; times are milliseconds since 1970. */
export interface ListFilter {
  readonly user?: string | undefined;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly reference_prefix?: string | undefined;
  readonly stored_after?: number | undefined;
  readonly stored_before?: number | undefined;
  readonly limit: number;
  readonly next_token?: string | undefined;
}

/** A part of a listing as a caller asks for it; what is left out is the account's preference. */
export interface ListInput extends Omit<ListFilter, 'limit'> {
  readonly limit?: number | undefined;
}

/** What happens to data on its way out; what is left out is the account's preference. */
export interface View {
  readonly mask_fields?: readonly string[] | undefined;
  readonly rules: readonly string[];
  readonly return_card_metadata?: boolean | undefined;
}

export interface StoreInput {
  readonly user: string;
  readonly passphrase: SecretBytes;
  /** The JSON text as sent, not yet looked at. */
  readonly body: Uint8Array;
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata?: boolean | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface UpdateInput extends ItemAddress {
  readonly passphrase: SecretBytes;
  readonly rules: readonly string[];
  readonly body: Uint8Array;
  readonly idempotencyKey?: string | undefined;
}

export interface VaultService {
  readonly store: (caller: Caller, input: StoreInput) => Promise<Repeatable<TokenInfo>>;
  /** The stored object as JSON bytes. */
  readonly decrypt: (
    caller: Caller,
    input: ItemAddress & View & { readonly passphrase: SecretBytes },
  ) => Promise<Uint8Array>;
  readonly list: (caller: Caller, input: ListInput) => Promise<TreeStream>;
  readonly decryptAll: (
    caller: Caller,
    input: ListInput & View & { readonly user: string; readonly passphrase: SecretBytes },
  ) => Promise<TreeStream>;
  readonly update: (caller: Caller, input: UpdateInput) => Promise<Repeatable<TokenInfo>>;
  readonly remove: (caller: Caller, input: ItemAddress) => Promise<void>;
  readonly log: (
    caller: Caller,
    input: ItemAddress & { readonly limit?: number | undefined; readonly next_token?: string | undefined },
  ) => Promise<{ readonly entries: readonly LogEntry[]; readonly nextToken?: string | undefined }>;
}

/** A key with its passphrase, shown once. */
export interface NewPassphrase {
  readonly user: string;
  readonly passphrase: Secret<string>;
}

export interface KeyService {
  readonly create: (
    caller: Caller,
    input: {
      readonly user: string;
      readonly passphrase?: SecretBytes | undefined;
      readonly idempotencyKey?: string | undefined;
    },
  ) => Promise<Repeatable<NewPassphrase>>;
  readonly list: (
    caller: Caller,
    input: { readonly limit?: number | undefined; readonly next_token?: string | undefined },
  ) => Promise<{ readonly keys: readonly Key[]; readonly nextToken?: string | undefined }>;
  readonly changePassphrase: (
    caller: Caller,
    input: {
      readonly user: string;
      readonly passphrase: SecretBytes;
      readonly new_passphrase?: SecretBytes | undefined;
    },
  ) => Promise<NewPassphrase>;
  readonly remove: (
    caller: Caller,
    input: { readonly user: string; readonly safe: boolean },
  ) => Promise<void>;
}

export interface UtilityService {
  readonly luhn: (caller: Caller, number: string) => Promise<LuhnResult>;
  /** A passphrase of `length` characters; the service clamps the length. */
  readonly passphrase: (caller: Caller, length: number) => Promise<{ readonly passphrase: Secret<string> }>;
}

export interface AccountService {
  /**
   * Refuses with `unauthenticated` or `too_many_failures`. Gives every request an account object of its own: what
   * the request uses is counted by it. Each check of a password that is really made, and each refusal, is an entry
   * of the security log.
   */
  readonly signIn: (
    credentials: Visitor & { readonly name: string; readonly password: SecretBytes },
  ) => Promise<Account>;
  readonly whoami: (caller: Caller) => Promise<WhoAmI>;
}

export interface Metering {
  /** Counts one request, with all that was noted for it, once. `account` is the very object that `signIn` gave it. */
  readonly request: (account: Pick<Account, 'aid'>) => Promise<void>;
  /** Takes back what `request` has stored ahead of a request that came to nothing. */
  readonly takeBack: (account: Pick<Account, 'aid'>) => void;
}

export interface Health {
  readonly ready: () => Promise<{
    readonly ready: boolean;
    readonly checks: Readonly<Record<string, 'ok' | 'failing'>>;
    /** Protections of Redis that are missing, and that the operator has chosen to do without. */
    readonly unsafe?: readonly string[];
  }>;
}

export interface Metrics {
  /** Notes that a request has come; `observeRequest` follows, once. */
  readonly beginRequest: () => void;
  /** All metrics in the Prometheus text format. */
  readonly render: () => Promise<string>;
  /** Counts one answered request. `route` is the template (`/v1/vault`), never a path. */
  readonly observeRequest: (
    route: string,
    method: string,
    status: number,
    seconds: number,
    code: ErrorCode | undefined,
  ) => void;
}

/** One line of the log. It holds route templates, codes and counts, never anything a caller sent but its name. */
export interface LogLine {
  readonly time: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly request_id?: string;
  readonly method?: string;
  readonly route?: string;
  readonly status?: number;
  readonly ms?: number;
  readonly account?: string;
  readonly code?: ErrorCode;
  /** The class of an unknown error and where it was thrown; its message may hold data and is left out. */
  readonly error?: string;
  readonly stack?: readonly string[];
}

/** The settings of the HTTP side. */
export interface HttpConfig {
  /** The base URL that callers see, without `/v1` and without a trailing slash. */
  readonly publicUrl: string;
  /** The origin of the host that is for hosted forms alone, if there is one. */
  readonly formsUrl?: string | undefined;
  /** CIDRs whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Whether the server itself speaks TLS. */
  readonly tls: boolean;
  /** How long a request body may take to arrive, in milliseconds. */
  readonly bodyTimeoutMs: number;
  /** Whether JSON replies are compared with their schemas: in tests and development. */
  readonly checkReplies: boolean;
}

export interface Deps {
  readonly http: HttpConfig;
  readonly vault: VaultService;
  readonly keys: KeyService;
  readonly endpoints: EndpointService;
  readonly captures: CaptureService;
  readonly retrievals: RetrieveService;
  readonly rules: RuleService;
  readonly certs: CertService;
  readonly forms: FormService;
  readonly formPages: FormPages;
  readonly proxy: ProxyService;
  readonly utility: UtilityService;
  readonly accounts: AccountService;
  readonly rates: RateService;
  readonly admin: AdminService;
  readonly admission: Admission;
  readonly audit: AuditService;
  readonly passwords: PasswordService;
  readonly preferences: PreferenceService;
  readonly compliance: ComplianceService;
  readonly metering: Metering;
  readonly health: Health;
  readonly metrics: Metrics;
  /** Left out: no traces are made. */
  readonly tracing?: Tracing | undefined;
  readonly log: (line: LogLine) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A fresh request id, in the alphabet of X-Request-Id. */
  readonly newRequestId: () => string;
}
