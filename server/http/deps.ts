import type { Accounts } from '../account/accounts.ts';
import type { Credentials } from '../account/credential/credentials.ts';
import type { AccountPreferences } from '../account/preferences.ts';
import type { SignIns } from '../account/sign-in.ts';
import type { Audit } from '../audit/audit.ts';
import type { AuditListing } from '../audit/listing.ts';
import type { Certificates } from '../certificate/certificates.ts';
import type { Compliance } from '../compliance/compliance.ts';
import type { Connections } from '../connection/connections.ts';
import type { Captures } from '../endpoint/captures.ts';
import type { Endpoints } from '../endpoint/endpoints.ts';
import type { Retrievals } from '../endpoint/retrievals.ts';
import type { SealingKeys } from '../endpoint/sealing-keys.ts';
import type { Exports } from '../export/exports.ts';
import type { HostedForms } from '../form/forms.ts';
import type { FormPages } from '../form/pages/render.ts';
import type { JobListing } from '../job/listing.ts';
import type { Keys } from '../key/keys.ts';
import type { Recoveries } from '../key/recoveries.ts';
import type { Admission } from '../limits/admission.ts';
import type { Rates } from '../limits/rates.ts';
import type { ProxyService } from '../proxy/proxy.ts';
import type { Relay } from '../relay/relay.ts';
import type { Metering } from '../request/metering.ts';
import type { Rules } from '../rule/rules.ts';
import type { ParseBody } from '../schema/json-body.ts';
import type { LogLine } from '../telemetry/log-sink.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Tracing } from '../telemetry/observer.ts';
import type { UsageReports } from '../usage/usage.ts';
import type { Utility } from '../utility/utility.ts';
import type { Batches } from '../vault/batch/batches.ts';
import type { StoreBatches } from '../vault/batch/store-batch.ts';
import type { Erasure } from '../vault/erasure.ts';
import type { VaultTrees } from '../vault/list/list.ts';
import type { Vault } from '../vault/vault.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Health } from './health.ts';

/** The settings of the HTTP side. */
export interface HttpConfig {
  /** The base URL that callers see, without `/v1` and without a trailing slash. */
  readonly publicUrl: string;
  /** Whether what needs an account is on another listener, whose URL is not known to callers of the public one. */
  readonly hasAdmin?: boolean;
  /** The origin of the host that is for hosted forms alone, if there is one. */
  readonly formsUrl?: string | undefined;
  /** CIDRs whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Whether parameters and members that a route does not know are errors, on routes that need an account. */
  readonly refuseUnknown: boolean;
  /** Whether the server itself speaks TLS. */
  readonly tls: boolean;
  /** How long a request body may take to arrive, in milliseconds. */
  readonly bodyTimeoutMs: number;
  /** Whether JSON replies are compared with their schemas: in tests and development. */
  readonly checkReplies: boolean;
}

/** The services that routes call, and the settings of the HTTP side. */
export interface HttpServices {
  readonly http: HttpConfig;
  readonly vault: Vault;
  readonly trees: VaultTrees;
  readonly storeBatches: StoreBatches;
  readonly batches: Batches;
  readonly exports: Exports;
  readonly erasure: Erasure;
  readonly keys: Keys;
  readonly recoveries: Recoveries;
  readonly endpoints: Endpoints;
  readonly captures: Captures;
  readonly sealingKeys: SealingKeys;
  readonly retrievals: Retrievals;
  readonly rules: Rules;
  readonly certificates: Certificates;
  readonly connections: Connections;
  readonly relay: Relay;
  readonly forms: HostedForms;
  readonly formPages: FormPages;
  readonly proxy: ProxyService;
  readonly jobListing: JobListing;
  readonly utility: Utility;
  readonly usage: UsageReports;
  readonly accounts: Accounts;
  readonly signIns: SignIns;
  readonly credentials: Credentials;
  readonly admission: Admission;
  readonly audit: Audit;
  readonly auditListing: AuditListing;
  readonly preferences: AccountPreferences;
  readonly compliance: Compliance;
  readonly health: Pick<Health, 'ready'>;
}

/** What the application is made of: the services, and what surrounds every request. */
export interface HttpParts extends HttpServices {
  readonly rates: Rates;
  /** One for all applications of the process. */
  readonly bodies: BodyBudget;
  readonly parseBody: ParseBody;
  readonly metering: Metering;
  readonly metrics: Metrics;
  /** Undefined where tracing is off. */
  readonly tracing?: Tracing | undefined;
  readonly log: (line: LogLine) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A fresh request id, in the alphabet of X-Request-Id. */
  readonly newRequestId: () => string;
}
