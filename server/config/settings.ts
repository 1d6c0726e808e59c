import { availableParallelism } from 'node:os';
import { Secret } from '../core/secret.ts';
import { UNSAFE_REDIS, type UnsafeRedis } from '../core/settings.ts';
import {
  NO_PRICES,
  parseAppendedFile,
  parseAuditSink,
  parseCertificates,
  parseExecutable,
  parseOwnCertificates,
  parsePrices,
  parseRequesters,
  readPrivateFile,
} from './files.ts';
import { parseClientId, parseClientSecretFile, parseIssuer, parseOidcRoles } from './oidc.ts';
import type { Parse } from './reader.ts';
import { parseRedisUrl, showRedis } from './redis.ts';
import { parseMasterKeyFile, parseMasterKeys } from './ring.ts';
import {
  choiceOf,
  integerFrom,
  listOf,
  parseAccountName,
  parseArgon2,
  parseBoolean,
  parseCidr,
  parseCommandLine,
  parseDurationSetting,
  parseFilePath,
  parseHost,
  parseOrigin,
  parseOtlpEndpoint,
  parseOtlpHeaders,
  parsePassword,
  parseSadRetention,
} from './values.ts';

export type Env = 'staging' | 'production';

/** A setting: an environment variable, the parser of its text, and its value without the variable. */
export interface Setting<Name extends string, T> {
  readonly name: Name;
  readonly parse: Parse<T>;
  readonly fallback?: string | ((env: Env) => string);
  /** The value without the variable, if there is no default text. */
  readonly absent?: T;
  /** The text for the start log of a value that is a secret. */
  shown?(value: T): string;
}

function optional<const Name extends string, T>(name: Name, parse: Parse<T>): Setting<Name, T | undefined> {
  return { name, parse };
}

function secret<const Name extends string, T>(
  name: Name,
  parse: Parse<T>,
  show: (value: T) => string = () => '[secret]',
): Setting<Name, T | undefined> {
  return { name, parse, shown: (value) => (value === undefined ? '[secret]' : show(value)) };
}

function withDefault<const Name extends string, T>(
  name: Name,
  parse: Parse<T>,
  fallback: string | ((env: Env) => string),
): Setting<Name, T> {
  return { name, parse, fallback };
}

function withAbsent<const Name extends string, T>(name: Name, parse: Parse<T>, absent: T): Setting<Name, T> {
  return { name, parse, absent };
}

/** One for each four cores, on Linux: elsewhere the system gives all connections of a shared port to one process. */
function defaultProcesses(): number {
  return process.platform === 'linux' ? Math.max(1, Math.floor(availableParallelism() / 4)) : 1;
}

/**
 * All settings, in the order of the start log and of error messages. Any other `VAULT_…` name in the environment prevents the
 * start, so a misspelt name cannot silently disable a protection. Paths become absolute, limits are inclusive.
 */
export const SETTINGS = {
  env: withDefault('VAULT_ENV', choiceOf('staging', 'production'), 'staging'),
  /** The address to listen on; a loopback address unless TLS or plain HTTP is configured explicitly. */
  host: withDefault('VAULT_HOST', parseHost, '127.0.0.1'),
  /** 0 = any free port. */
  port: withDefault('VAULT_PORT', integerFrom(0, 65_535), '8080'),
  adminPort: optional('VAULT_ADMIN_PORT', integerFrom(0, 65_535)),
  adminHost: optional('VAULT_ADMIN_HOST', parseHost),
  /** The time in which a stopping server still accepts connections, so that load balancers notice. */
  drainSeconds: withDefault('VAULT_DRAIN_SECONDS', integerFrom(0, 300), '0'),
  allowPlainHttp: withDefault('VAULT_ALLOW_PLAIN_HTTP', parseBoolean, 'false'),
  tlsCert: optional('VAULT_TLS_CERT_FILE', parseOwnCertificates),
  tlsKey: optional('VAULT_TLS_KEY_FILE', (path) => new Secret(readPrivateFile(path))),
  /** An origin of the vault alone, since elements trust theirs; undefined: derived from `host` and the port, see `publicUrl`. */
  publicUrl: optional('VAULT_PUBLIC_URL', parseOrigin),
  /** The separate origin of hosted forms; undefined: forms are on the public URL. */
  formsUrl: optional('VAULT_FORMS_URL', parseOrigin),
  /** The public URL of the server that forms use with `testing=true`; undefined: this server. */
  stagingUrl: optional('VAULT_STAGING_URL', parseOrigin),
  /** The origin of the console, at which people sign in; undefined: the public URL, unless there is a second listener. */
  consoleUrl: optional('VAULT_CONSOLE_URL', parseOrigin),
  /** False: no passwords and API credentials from browsers. */
  consolePassword: withDefault('VAULT_CONSOLE_PASSWORD', parseBoolean, 'true'),
  redisUrl: secret('VAULT_REDIS_URL', parseRedisUrl, showRedis),
  redisCa: optional('VAULT_REDIS_CA_FILE', parseCertificates),
  redisCert: optional('VAULT_REDIS_CERT_FILE', parseOwnCertificates),
  redisKey: optional('VAULT_REDIS_KEY_FILE', (path) => new Secret(readPrivateFile(path))),
  /** The redis-server to run, for the embedded Redis only. */
  redisBinary: optional('VAULT_REDIS_BIN', parseExecutable),
  /** Unsafe settings of Redis that are tolerated in production. */
  redisAllowUnsafe: withAbsent<'VAULT_REDIS_ALLOW_UNSAFE', ReadonlySet<UnsafeRedis>>(
    'VAULT_REDIS_ALLOW_UNSAFE',
    (text) => new Set(listOf(choiceOf(...UNSAFE_REDIS))(text)),
    new Set(),
  ),
  /** The number of replicas that must confirm a write before it is acknowledged; 0 = none. */
  redisWait: withDefault('VAULT_REDIS_WAIT', integerFrom(0, 100), '0'),
  /** The folder of the embedded Redis and of the generated master key. */
  dataDir: withDefault('VAULT_DATA_DIR', parseFilePath, '.vault'),
  masterKeyRing: secret('VAULT_MASTER_KEY', parseMasterKeys),
  masterKeyFile: optional('VAULT_MASTER_KEY_FILE', parseMasterKeyFile),
  masterKeyLine: secret('VAULT_MASTER_KEY_COMMAND', parseCommandLine),
  bootstrapUser: optional('VAULT_BOOTSTRAP_USER', parseAccountName),
  bootstrapPassword: secret('VAULT_BOOTSTRAP_PASSWORD', parsePassword),
  bootstrapUnmasked: withDefault('VAULT_BOOTSTRAP_UNMASKED', parseBoolean, 'false'),
  oidcIssuer: optional('VAULT_OIDC_ISSUER', parseIssuer),
  oidcClientId: optional('VAULT_OIDC_CLIENT_ID', parseClientId),
  oidcClientSecret: optional('VAULT_OIDC_CLIENT_SECRET_FILE', parseClientSecretFile),
  /** Who acts for which account, by what the provider tells. */
  oidcRoles: optional('VAULT_OIDC_ROLES', parseOidcRoles),
  processes: withDefault('VAULT_PROCESSES', integerFrom(1, 64), () => String(defaultProcesses())),
  /** The number of worker threads of all processes together. */
  workers: withDefault('VAULT_WORKERS', integerFrom(1, 256), () =>
    String(Math.max(1, availableParallelism() - 1)),
  ),
  /** Addresses besides public ones that requests to third parties may use: CIDRs in normal form. */
  proxyAllow: withAbsent('VAULT_PROXY_ALLOW', listOf(parseCidr), []),
  /** Additional certificate authorities for third parties, in PEM. */
  proxyCa: optional('VAULT_PROXY_CA_FILE', parseCertificates),
  /** Reverse proxies whose `X-Forwarded-For` is used: CIDRs in normal form. */
  trustedProxies: withAbsent('VAULT_TRUSTED_PROXIES', listOf(parseCidr), []),
  /** Unknown parameters and members are errors, on routes that need an account. */
  refuseUnknown: withDefault(
    'VAULT_UNKNOWN_PARAMETERS',
    (text) => choiceOf('refuse', 'ignore')(text) === 'refuse',
    'refuse',
  ),
  /** Requests per minute; 0 = no limit. */
  ratePerAccount: withDefault('VAULT_RATE_ACCOUNT', integerFrom(0, 100_000_000), '0'),
  /** Requests per minute; 0 = no limit. */
  ratePerSource: withDefault('VAULT_RATE_SOURCE', integerFrom(0, 100_000_000), '0'),
  /** Failed attempts in 15 minutes; 0 = no limit. */
  authFailuresMax: withDefault('VAULT_AUTH_FAILURES_MAX', integerFrom(0, 1_000_000), '10'),
  /** The duration of the lockout of a source after that. */
  authLockSeconds: withDefault('VAULT_AUTH_LOCK_SECONDS', integerFrom(1, 2_592_000), '1800'),
  prices: withAbsent('VAULT_PRICES_FILE', parsePrices, NO_PRICES),
  /** Services that issue network tokens, by id. */
  networkTokenRequesters: withAbsent('VAULT_NETWORK_TOKEN_FILE', parseRequesters, []),
  /** The retention of entries of security logs; at least 12 months by PCI DSS 10.5.1. */
  auditRetention: withDefault('VAULT_AUDIT_RETENTION', parseDurationSetting, 'P400D'),
  jobRetention: withDefault('VAULT_JOB_RETENTION', parseDurationSetting, 'P30D'),
  /** The file that checkpoints of security logs are appended to. */
  auditCheckpointFile: optional('VAULT_AUDIT_CHECKPOINT_FILE', parseAppendedFile),
  /** The destination of access events; undefined: they are not delivered. */
  auditSink: optional('VAULT_AUDIT_SINK', parseAuditSink),
  /** The cost of deriving a key from a passphrase, for new and changed keys. */
  argon2: withDefault('VAULT_ARGON2', parseArgon2, 'm=65536,t=3,p=4'),
  /** The time in which a key can be unlocked again without Argon2id; 0 = off. */
  warmUnlockSeconds: withDefault('VAULT_WARM_UNLOCK_SECONDS', integerFrom(0, 300), '60'),
  /** The retention of verification codes and track data (PCI DSS 3.3). */
  sadRetention: withDefault('VAULT_SAD_RETENTION', parseSadRetention, (env) =>
    env === 'production' ? '24h' : 'keep',
  ),
  /** The time after their expiry until they have left the append-only file. */
  sadRewriteSeconds: withDefault('VAULT_SAD_REWRITE_SECONDS', integerFrom(1, 86_400), '600'),
  otlpEndpoint: optional('OTEL_EXPORTER_OTLP_ENDPOINT', parseOtlpEndpoint),
  otlpHeaders: secret('OTEL_EXPORTER_OTLP_HEADERS', (text) => new Secret(parseOtlpHeaders(text))),
};

export type SettingValues = {
  readonly [Member in keyof typeof SETTINGS]: (typeof SETTINGS)[Member] extends Setting<string, infer T>
    ? T
    : never;
};

export type SettingName = (typeof SETTINGS)[keyof typeof SETTINGS]['name'];

export const SERVER_SETTING_NAMES: readonly SettingName[] = Object.values(SETTINGS).map(({ name }) => name);
