import type { Role } from './roles.ts';
import type { Secret } from './secret.ts';

/** How people sign in at the console. */
export interface PeopleSettings {
  /** The origin of the console, to which their cookies belong; undefined: unknown, and nobody can sign in. */
  readonly consoleUrl: string | undefined;
  /** Why no passkey can belong to its host, as the end of a sentence; undefined if they can. */
  readonly flaw: string | undefined;
  /** False: in browsers people sign in, and passwords and API credentials do not. */
  readonly hasPasswords: boolean;
}

export interface ServiceSettings {
  readonly environment: 'staging' | 'production';
  /** The version of the server that `whoami` reports. */
  readonly version: string;
  /** 0 = no limit. */
  readonly authFailuresMax: number;
  /** The duration of the lockout of a source after that many failures. */
  readonly authLockSeconds: number;
  /** Requests a minute; 0 = no limit. */
  readonly ratePerAccount: number;
  /** Unknown parameters and members are errors. */
  readonly refuseUnknown: boolean;
  /** Requests a minute; 0 = no limit. */
  readonly ratePerSource: number;
  /** 0 = every request pays the full passphrase derivation. */
  readonly warmUnlockSeconds: number;
  /** The retention of sensitive authentication data, ms; 0 = until it is deleted. */
  readonly sadTtlMs: number;
  /** The time after its expiry until it has left the append-only file, ms. */
  readonly sadRewriteMs: number;
  /** It is deleted after a successful request that contained it. */
  readonly sadAfterProxy: boolean;
  /** The retention of entries of security logs, ms; 0 = for ever. */
  readonly auditRetentionMs: number;
  /** The retention of ended jobs, ms; 0 = for ever. */
  readonly jobRetentionMs: number;
  readonly people: PeopleSettings;
}

/** Unit prices as decimal strings, by billable operation; `default` is for all others. */
export interface PriceTable {
  /** ISO 4217. */
  readonly currency: string;
  readonly prices: Readonly<Record<string, string>>;
  readonly default: string;
}

/** A network token requester; its headers contain the credentials. */
export interface NetworkTokenRequester {
  readonly id: string;
  readonly url: string;
  readonly headers: Secret<Readonly<Record<string, string>>>;
  readonly client_cert_id: string | undefined;
}

/** People with this value in this claim act for the account in this role. */
export interface OidcRole {
  readonly claim: string;
  readonly value: string;
  readonly account: string;
  readonly role: Role;
}

/** The provider of OpenID Connect that people sign in at. */
export interface OidcSettings {
  /** As the provider writes it. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret<string>;
  /** The first one that fits decides. */
  readonly roles: readonly OidcRole[];
}

/** The destination of access events. */
export type AuditSink =
  | { readonly kind: 'stdout' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'syslog'; readonly host: string; readonly port: number; readonly tls: boolean };

/** Durability checks of Redis, by the names that VAULT_REDIS_ALLOW_UNSAFE accepts. */
export const UNSAFE_REDIS = ['appendonly', 'appendfsync', 'eviction', 'replica'] as const;

export type UnsafeRedis = (typeof UNSAFE_REDIS)[number];

/** User name and password for Redis; an empty text for none. */
export interface RedisCredentials {
  readonly username: string;
  readonly password: string;
}

/** Sentinels, and the name of the primary that they watch. */
export interface SentinelGroup {
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  readonly name: string;
  readonly database: number;
  /** Sentinels and servers use TLS. */
  readonly isTls: boolean;
  readonly credentials: RedisCredentials;
  /** For the Sentinels; undefined: those of the servers, if a Sentinel requires any. */
  readonly sentinelCredentials?: RedisCredentials | undefined;
}
