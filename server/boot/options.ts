import { version } from '../../package.json';
import type { Config } from '../config/config.ts';
import { peopleOf } from '../config/people.ts';
import type { MasterKeyRing } from '../config/ring.ts';
import type { AuditSink, OidcSettings, ServiceSettings } from '../core/settings.ts';
import type { RedisLink } from '../redis/client.ts';
import type { RedisTarget } from '../redis/connect.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { Observer } from '../telemetry/observer.ts';

/** Options of a system. */
export interface SystemOptions
  extends Pick<
    Config,
    'argon2' | 'workers' | 'prices' | 'proxyAllow' | 'proxyCa' | 'networkTokenRequesters' | 'redisWait'
  > {
  readonly redis: RedisTarget;
  /** Makes Argon2id cheaper, see `divideArgon2Memory`: for tests, rejected in production. */
  readonly argon2Divisor?: number;
  /** The number of processes that share this machine; 1 by default. */
  readonly processes?: number;
  readonly ring: MasterKeyRing;
  readonly settings: ServiceSettings;
  /** The provider that people sign in at; none by default. */
  readonly oidc?: OidcSettings | undefined;
  /** Milliseconds since 1970; the system clock by default. */
  readonly now?: () => number;
  /** The first pause before a call to a third party is repeated; half a second by default. */
  readonly retryMs?: number | undefined;
  /** Rejects an empty Redis; by default a new vault is made there. */
  readonly isExisting?: boolean;
  /** Opens a vault with an unfinished restore, which is rejected by default. */
  readonly restoring?: boolean;
  /** Rejects a Redis that must not be written to. Called before the first write. */
  readonly checkRedis?: (redis: RedisLink) => Promise<void>;
  /** Destination of access events; none by default. */
  readonly auditSink?: AuditSink | undefined;
  /** Receives events for log, metrics and traces; a noop by default. */
  readonly recordEvent?: RecordEvent;
  /** Receives measurements; a noop by default. */
  readonly observer?: Observer;
}

/** Options whose observer and recorder are set, as noops if the caller gave none. */
export interface ObservedOptions extends SystemOptions {
  readonly observer: Observer;
  readonly recordEvent: RecordEvent;
}

/** The settings of the services, from a configuration. Durations in ms, where 0 means unlimited. */
export function settingsOf(config: Config): ServiceSettings {
  const { env, authFailuresMax, authLockSeconds, ratePerAccount, ratePerSource, warmUnlockSeconds } = config;
  const { refuseUnknown, sadRetention, sadRewriteSeconds, auditRetention, jobRetention } = config;
  return {
    environment: env,
    version,
    authFailuresMax,
    authLockSeconds,
    ratePerAccount,
    ratePerSource,
    refuseUnknown,
    warmUnlockSeconds,
    sadTtlMs: sadRetention.kind === 'keep' ? 0 : sadRetention.ms,
    sadRewriteMs: sadRewriteSeconds * 1_000,
    sadAfterProxy: sadRetention.kind === 'after_proxy_success',
    auditRetentionMs: auditRetention === 'forever' ? 0 : auditRetention,
    jobRetentionMs: jobRetention === 'forever' ? 0 : jobRetention,
    people: peopleOf(config),
  };
}
