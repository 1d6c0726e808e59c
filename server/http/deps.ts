import type { SignIns } from '../account/sign-in.ts';
import type { Audit } from '../audit/audit.ts';
import type { PeopleSettings } from '../core/settings.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Rates } from '../limits/rates.ts';
import type { Metering } from '../request/metering.ts';
import type { ParseBody } from '../schema/json-body.ts';
import type { LogLine } from '../telemetry/log-sink.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Tracer } from '../telemetry/tracer.ts';
import type { Health } from './health.ts';

export interface HttpConfig {
  /** The origin that callers see. */
  readonly publicUrl: string;
  /** True if routes with an account are on another listener, whose URL is unknown to callers of the public one. */
  readonly hasAdmin?: boolean;
  /** The origin of the separate host for hosted forms. */
  readonly formsUrl?: string | undefined;
  /** How people sign in. */
  readonly people: PeopleSettings;
  /** CIDRs whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  /** True if unknown parameters and members are errors, on routes that need an account. */
  readonly refuseUnknown: boolean;
  /** True if the server itself terminates TLS. */
  readonly tls: boolean;
  /** The time limit of a request body, in milliseconds. */
  readonly bodyTimeoutMs: number;
  /** True if replies are compared with their schemas, and errors with the published codes: in tests and development. */
  readonly checkReplies: boolean;
}

/** The dependencies of every request. */
export interface HttpDeps {
  readonly http: HttpConfig;
  readonly signIns: SignIns;
  readonly audit: Audit;
  readonly limiter: Limiter;
  readonly health: Health;
  readonly rates: Rates;
  /** Shared by all applications of the process. */
  readonly parseBody: ParseBody;
  readonly metering: Metering;
  readonly metrics: Metrics;
  /** Renders the metrics of all processes; undefined in a server of one. */
  readonly scrape?: (() => Promise<string>) | undefined;
  readonly tracer?: Tracer | undefined;
  readonly log: (line: LogLine) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly newRequestId: () => string;
}
