import type { Accounts } from '../../services/account/account.ts';
import type { Admin } from '../../services/admin/admin.ts';
import type { Compliance } from '../../services/admin/certificate.ts';
import type { Health } from '../../services/admin/health.ts';
import type { Passwords } from '../../services/admin/password.ts';
import type { AccountPreferences } from '../../services/admin/preference.ts';
import type { Utility } from '../../services/admin/utility.ts';
import type { Audit } from '../../services/audit/audit.ts';
import type { Captures } from '../../services/capture/capture.ts';
import type { Sealing } from '../../services/capture/sealing.ts';
import type { Certs } from '../../services/cert/cert.ts';
import type { Connections } from '../../services/connection/connection.ts';
import type { Endpoints } from '../../services/endpoint/endpoint.ts';
import type { HostedForms } from '../../services/form/form.ts';
import type { Keys } from '../../services/key/key.ts';
import type { Recoveries } from '../../services/key/recovery.ts';
import type { JobListing } from '../../services/proxy/job-list.ts';
import type { ProxyService } from '../../services/proxy/proxy.ts';
import type { RelayService } from '../../services/relay/relay.ts';
import type { Admission } from '../../services/request/admission.ts';
import type { Metering } from '../../services/request/metering.ts';
import type { RateService } from '../../services/request/rate.ts';
import type { Retrievals } from '../../services/retrieve/retrieve.ts';
import type { Rules } from '../../services/rule/rule.ts';
import type { VaultService } from '../../services/vault/vault.ts';
import type { LogLine } from '../../telemetry/log-sink.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Tracing } from '../../telemetry/observer.ts';
import type { BodyBudget } from './body-budget.ts';
import type { FormPages } from './form-pages.ts';
import type { ParseBody } from './json-body.ts';

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
  readonly vault: VaultService;
  readonly keys: Pick<Keys, 'create' | 'list' | 'changePassphrase' | 'remove'>;
  readonly recoveries: Recoveries;
  readonly endpoints: Pick<Endpoints, 'list' | 'remove'>;
  readonly captures: Captures;
  readonly sealing: Pick<Sealing, 'current'>;
  readonly retrievals: Retrievals;
  readonly rules: Omit<Rules, 'find'>;
  readonly certs: Omit<Certs, 'find'>;
  readonly connections: Omit<Connections, 'find'>;
  readonly relay: RelayService;
  readonly forms: Omit<HostedForms, 'sweep'>;
  readonly formPages: FormPages;
  readonly proxy: ProxyService;
  readonly jobListing: Omit<JobListing, 'trim'>;
  readonly utility: Utility;
  readonly accounts: Pick<
    Accounts,
    | 'assumeAccount'
    | 'createCredential'
    | 'listCredentials'
    | 'recall'
    | 'removeCredential'
    | 'rollCredential'
    | 'showCredential'
    | 'signIn'
    | 'whoami'
  >;
  readonly admin: Admin;
  readonly admission: Admission;
  readonly audit: Pick<Audit, 'record' | 'list' | 'listAll'>;
  readonly passwords: Passwords;
  readonly preferences: AccountPreferences;
  readonly compliance: Pick<Compliance, 'read'>;
  readonly health: Pick<Health, 'ready'>;
}

/** What the application is made of: the services, and what surrounds every request. */
export interface HttpParts extends HttpServices {
  readonly rates: RateService;
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
