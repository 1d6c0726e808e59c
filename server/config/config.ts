import { availableParallelism } from 'node:os';
import { Secret } from '../core/secret.ts';
import type { Duration } from '../domain/text/duration.ts';
import {
  type NetworkTokenRequester,
  NO_PRICES,
  type PriceSetting,
  parseCertificates,
  parseExecutable,
  parseOwnCertificates,
  parsePrices,
  parseRequesters,
  privateKeyOf,
} from './files.ts';
import { type MasterKeyCommand, masterKeyCommandIn } from './master-key-command.ts';
import { createSettingReader, type Environment, type SettingReader } from './reader.ts';
import { parseRedisUrl, type RedisSetting, showRedis } from './redis.ts';
import { type RedisTls, readRedisTls } from './redis-tls.ts';
import { checkTlsPair, rejectInspector, rejectPlainHttp } from './rejections.ts';
import { type MasterKeyRing, parseMasterKeyFile, parseMasterKeys } from './ring.ts';
import { type AuditSink, parseAuditSink } from './sink.ts';
import {
  type Argon2Setting,
  choiceOf,
  integerFrom,
  listOf,
  parseAccountName,
  parseArgon2,
  parseBaseUrl,
  parseBoolean,
  parseCidr,
  parseDurationSetting,
  parseFilePath,
  parseHost,
  parseOrigin,
  parseOtlpEndpoint,
  parseOtlpHeaders,
  parsePassword,
  parseSadRetention,
  type SadRetention,
} from './values.ts';

const UNSAFE_CHECKS = ['appendonly', 'appendfsync', 'eviction', 'replica'] as const;

/** A durability check of Redis that the operator can disable by name. */
export type UnsafeCheck = (typeof UNSAFE_CHECKS)[number];

/**
 * The account that the first start creates. Without a name and password the server generates them, only in staging.
 */
export interface Bootstrap {
  readonly account: { readonly user: string; readonly password: Secret<string> } | undefined;
  /** Whether that account sees card numbers unmasked (PCI DSS 3.4.1). */
  readonly unmasked: boolean;
}

/** The validated, frozen configuration. Paths are absolute, limits are inclusive. */
export interface Config {
  readonly env: 'staging' | 'production';
  /** The address to listen on; a loopback address unless TLS or plain HTTP is configured explicitly. */
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /**
   * The address of a second listener, with everything; the first then has only what is used without an account. Port 0 = any
   * free one. Undefined: there is one listener.
   */
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  /** The certificate chain and its private key, in PEM. */
  readonly tls: { readonly cert: string; readonly key: Secret<string> } | undefined;
  /** How long a stopping server still accepts connections, so that load balancers notice. */
  readonly drainSeconds: number;
  /** Without a trailing slash; undefined: derived from `host` and the port, see `publicUrl`. */
  readonly publicUrl: string | undefined;
  /** The separate origin of hosted forms, without a path; undefined: forms are on the public URL. */
  readonly formsUrl: string | undefined;
  /** The base URL that forms use with `testing=true`; undefined: this server. */
  readonly stagingUrl: string | undefined;
  /** The folder of the embedded Redis and of the generated master key. */
  readonly dataDir: string;
  readonly redis: RedisSetting;
  /** Files for TLS to Redis; undefined: none are needed. */
  readonly redisTls: RedisTls | undefined;
  /** The redis-server to run, for the embedded Redis only. */
  readonly redisBinary: string | undefined;
  /** Unsafe settings of Redis that are tolerated in production. */
  readonly redisAllowUnsafe: ReadonlySet<UnsafeCheck>;
  /** The number of replicas that must confirm a write before it is acknowledged; 0 = none. */
  readonly redisWait: number;
  /** Undefined in staging, or with `masterKeyCommand`. `ensureMasterKey` returns the ring in every case. */
  readonly masterKey: Secret<MasterKeyRing> | undefined;
  /** What prints the ring; reading the configuration does not run it. */
  readonly masterKeyCommand: Secret<MasterKeyCommand> | undefined;
  readonly bootstrap: Bootstrap;
  /** The number of processes that share the port. */
  readonly processes: number;
  /** The number of worker threads of all processes together. */
  readonly workers: number;
  /** Addresses besides public ones that requests to third parties may use: CIDRs in normal form. */
  readonly proxyAllow: readonly string[];
  /** Additional certificate authorities for third parties, in PEM. */
  readonly proxyCa: string | undefined;
  /** Reverse proxies whose `X-Forwarded-For` is used: CIDRs in normal form. */
  readonly trustedProxies: readonly string[];
  /** Whether parameters and members that a route does not know are errors, on routes that need an account. */
  readonly refuseUnknown: boolean;
  /** Requests per minute; 0 = no limit. */
  readonly ratePerAccount: number;
  /** Requests per minute; 0 = no limit. */
  readonly ratePerSource: number;
  /** Failed attempts in 15 minutes; 0 = no limit. */
  readonly authFailuresMax: number;
  /** How long a source is locked out after that. */
  readonly authLockSeconds: number;
  /** How long entries of security logs are kept; at least 12 months by PCI DSS 10.5.1. */
  readonly auditRetention: Duration;
  readonly jobRetention: Duration;
  /** The file that checkpoints of security logs are appended to. */
  readonly auditCheckpointFile: string | undefined;
  /** Where access events are delivered; undefined: nowhere. */
  readonly auditSink: AuditSink | undefined;
  /** The cost of deriving a key from a passphrase, for new and changed keys. */
  readonly argon2: Argon2Setting;
  /** How long a key can be unlocked again without Argon2id; 0 = off. */
  readonly warmUnlockSeconds: number;
  /** How long verification codes and track data are kept (PCI DSS 3.3). */
  readonly sadRetention: SadRetention;
  /** Within how long after their expiry they have left the append-only file. */
  readonly sadRewriteSeconds: number;
  /** Unit prices for the usage report. */
  readonly prices: PriceSetting;
  /** Services that issue network tokens, by id. */
  readonly networkTokenRequesters: readonly NetworkTokenRequester[];
  /** The collector of traces; undefined: no traces. */
  readonly traces:
    | { readonly url: string; readonly headers: Secret<Readonly<Record<string, string>>> }
    | undefined;
  /** Setting names and effective values for the start log, without secrets. */
  readonly effective: Readonly<Record<string, string>>;
}

/** The environment of the process. No other code reads `process.env`. */
export function processEnv(): Environment {
  return process.env;
}

/** The second listener. Another program could not be told from this one on the same port, whatever the addresses. */
function readAdmin(reader: SettingReader, port: number): Config['admin'] {
  const adminPort = reader.optional('VAULT_ADMIN_PORT', integerFrom(0, 65_535));
  const host = reader.optional('VAULT_ADMIN_HOST', parseHost);
  if (adminPort === undefined) {
    if (host !== undefined && !reader.isSet('VAULT_ADMIN_PORT')) {
      reader.report('VAULT_ADMIN_PORT', 'is required with VAULT_ADMIN_HOST');
    }
    return undefined;
  }
  if (adminPort !== 0 && adminPort === port) {
    reader.report('VAULT_ADMIN_PORT', 'must be another port than VAULT_PORT');
  }
  return Object.freeze({ host: host ?? '127.0.0.1', port: adminPort });
}

/**
 * Addresses, ports and TLS. Plain HTTP on an address that other machines can reach must be allowed explicitly (PCI DSS
 * 4.2.1).
 */
function readListeners(
  reader: SettingReader,
): Pick<Config, 'host' | 'port' | 'admin' | 'tls' | 'drainSeconds'> {
  const host = reader.withDefault('VAULT_HOST', parseHost, '127.0.0.1');
  const port = reader.withDefault('VAULT_PORT', integerFrom(0, 65_535), '8080');
  const admin = readAdmin(reader, port);
  const drainSeconds = reader.withDefault('VAULT_DRAIN_SECONDS', integerFrom(0, 300), '0');
  const allowPlain = reader.withDefault('VAULT_ALLOW_PLAIN_HTTP', parseBoolean, 'false');
  const cert = reader.optional('VAULT_TLS_CERT_FILE', parseOwnCertificates);
  const key = reader.optional('VAULT_TLS_KEY_FILE', privateKeyOf(cert, 'VAULT_TLS_CERT_FILE'));
  if (cert !== undefined && key !== undefined) {
    return { host, port, admin, drainSeconds, tls: Object.freeze({ cert, key }) };
  }
  checkTlsPair(reader, ['VAULT_TLS_CERT_FILE', 'VAULT_TLS_KEY_FILE'], {
    cert: cert !== undefined,
    key: key !== undefined,
  });
  // An invalid file is already an error; the missing TLS is then not reported as well.
  const meansTls = reader.isSet('VAULT_TLS_CERT_FILE') || reader.isSet('VAULT_TLS_KEY_FILE');
  if (!allowPlain && !meansTls) {
    rejectPlainHttp(reader, [
      ['VAULT_HOST', host],
      ...(admin === undefined ? [] : ([['VAULT_ADMIN_HOST', admin.host]] as const)),
    ]);
  }
  return { host, port, admin, drainSeconds, tls: undefined };
}

/** The base URLs that appear in replies and pages. */
function readUrls(reader: SettingReader): Pick<Config, 'publicUrl' | 'formsUrl' | 'stagingUrl'> {
  return {
    publicUrl: reader.optional('VAULT_PUBLIC_URL', parseBaseUrl),
    formsUrl: reader.optional('VAULT_FORMS_URL', parseOrigin),
    stagingUrl: reader.optional('VAULT_STAGING_URL', parseBaseUrl),
  };
}

/** The Redis to use, and what is required of it. */
function readRedis(
  reader: SettingReader,
): Pick<Config, 'redis' | 'redisTls' | 'redisBinary' | 'redisAllowUnsafe' | 'redisWait' | 'dataDir'> {
  const redis = reader.secret('VAULT_REDIS_URL', parseRedisUrl, showRedis);
  return {
    redis: redis ?? Object.freeze({ kind: 'embedded' }),
    redisTls: readRedisTls(reader, redis),
    redisBinary: reader.optional('VAULT_REDIS_BIN', parseExecutable),
    redisAllowUnsafe: new Set(
      reader.optional('VAULT_REDIS_ALLOW_UNSAFE', listOf(choiceOf(...UNSAFE_CHECKS))),
    ),
    redisWait: reader.withDefault('VAULT_REDIS_WAIT', integerFrom(0, 100), '0'),
    dataDir: reader.withDefault('VAULT_DATA_DIR', parseFilePath, '.vault'),
  };
}

/** The master keys from the environment or from a file, or the command that prints them. Production requires one of them. */
function readMasterKey(
  reader: SettingReader,
  { env, environment }: { readonly env: Config['env']; readonly environment: Environment },
): Pick<Config, 'masterKey' | 'masterKeyCommand'> {
  const sources = ['VAULT_MASTER_KEY', 'VAULT_MASTER_KEY_FILE', 'VAULT_MASTER_KEY_COMMAND'] as const;
  const [first, ...others] = sources.filter((name) => reader.isSet(name));
  for (const other of others) {
    reader.report(String(first), `and ${other} are both set; keep one`);
  }
  if (first === undefined && env === 'production') {
    reader.report('VAULT_MASTER_KEY', `or ${sources.slice(1).join(' or ')} is required in production`);
  }
  const inline = reader.secret('VAULT_MASTER_KEY', parseMasterKeys);
  const fromFile = reader.optional('VAULT_MASTER_KEY_FILE', parseMasterKeyFile);
  const masterKeyCommand = reader.secret('VAULT_MASTER_KEY_COMMAND', masterKeyCommandIn(environment));
  return { masterKey: inline ?? fromFile, masterKeyCommand };
}

/** The first account; user and password are only valid together. */
function readBootstrap(reader: SettingReader): Bootstrap {
  const user = reader.optional('VAULT_BOOTSTRAP_USER', parseAccountName);
  const password = reader.secret('VAULT_BOOTSTRAP_PASSWORD', parsePassword);
  const unmasked = reader.withDefault('VAULT_BOOTSTRAP_UNMASKED', parseBoolean, 'false');
  if (user !== undefined && password !== undefined) {
    return Object.freeze({ account: Object.freeze({ user, password }), unmasked });
  }
  if (user !== undefined && !reader.isSet('VAULT_BOOTSTRAP_PASSWORD')) {
    reader.report('VAULT_BOOTSTRAP_PASSWORD', 'is required with VAULT_BOOTSTRAP_USER');
  }
  if (password !== undefined && !reader.isSet('VAULT_BOOTSTRAP_USER')) {
    reader.report('VAULT_BOOTSTRAP_USER', 'is required with VAULT_BOOTSTRAP_PASSWORD');
  }
  return Object.freeze({ account: undefined, unmasked });
}

/** One for each four cores, on Linux: elsewhere the system gives all connections of a shared port to one process. */
function defaultProcesses(): number {
  return process.platform === 'linux' ? Math.max(1, Math.floor(availableParallelism() / 4)) : 1;
}

/** Processes, threads, networks, rates, and the files of prices and token requesters. */
function readLimits(
  reader: SettingReader,
): Pick<
  Config,
  | 'processes'
  | 'workers'
  | 'proxyAllow'
  | 'proxyCa'
  | 'trustedProxies'
  | 'refuseUnknown'
  | 'ratePerAccount'
  | 'ratePerSource'
  | 'authFailuresMax'
  | 'authLockSeconds'
  | 'prices'
  | 'networkTokenRequesters'
> {
  return {
    processes: reader.withDefault('VAULT_PROCESSES', integerFrom(1, 64), String(defaultProcesses())),
    workers: reader.withDefault(
      'VAULT_WORKERS',
      integerFrom(1, 256),
      String(Math.max(1, availableParallelism() - 1)),
    ),
    proxyAllow: reader.optional('VAULT_PROXY_ALLOW', listOf(parseCidr)) ?? [],
    proxyCa: reader.optional('VAULT_PROXY_CA_FILE', parseCertificates),
    trustedProxies: reader.optional('VAULT_TRUSTED_PROXIES', listOf(parseCidr)) ?? [],
    refuseUnknown:
      reader.withDefault('VAULT_UNKNOWN_PARAMETERS', choiceOf('refuse', 'ignore'), 'refuse') === 'refuse',
    ratePerAccount: reader.withDefault('VAULT_RATE_ACCOUNT', integerFrom(0, 100_000_000), '0'),
    ratePerSource: reader.withDefault('VAULT_RATE_SOURCE', integerFrom(0, 100_000_000), '0'),
    authFailuresMax: reader.withDefault('VAULT_AUTH_FAILURES_MAX', integerFrom(0, 1_000_000), '10'),
    authLockSeconds: reader.withDefault('VAULT_AUTH_LOCK_SECONDS', integerFrom(1, 2_592_000), '1800'),
    prices: reader.optional('VAULT_PRICES_FILE', parsePrices) ?? NO_PRICES,
    networkTokenRequesters: reader.optional('VAULT_NETWORK_TOKEN_FILE', parseRequesters) ?? [],
  };
}

/** Retention and the cost of attacks on stored data. */
function readProtection(
  reader: SettingReader,
  env: Config['env'],
): Pick<
  Config,
  | 'auditRetention'
  | 'jobRetention'
  | 'auditCheckpointFile'
  | 'auditSink'
  | 'argon2'
  | 'warmUnlockSeconds'
  | 'sadRetention'
  | 'sadRewriteSeconds'
> {
  return {
    auditRetention: reader.withDefault('VAULT_AUDIT_RETENTION', parseDurationSetting, 'P400D'),
    jobRetention: reader.withDefault('VAULT_JOB_RETENTION', parseDurationSetting, 'P30D'),
    auditCheckpointFile: reader.optional('VAULT_AUDIT_CHECKPOINT_FILE', parseFilePath),
    auditSink: reader.optional('VAULT_AUDIT_SINK', parseAuditSink),
    argon2: Object.freeze(reader.withDefault('VAULT_ARGON2', parseArgon2, 'm=65536,t=3,p=4')),
    warmUnlockSeconds: reader.withDefault('VAULT_WARM_UNLOCK_SECONDS', integerFrom(0, 300), '60'),
    sadRetention: Object.freeze(
      reader.withDefault('VAULT_SAD_RETENTION', parseSadRetention, env === 'production' ? '24h' : 'keep'),
    ),
    sadRewriteSeconds: reader.withDefault('VAULT_SAD_REWRITE_SECONDS', integerFrom(1, 86_400), '600'),
  };
}

/** The endpoint and headers of the OpenTelemetry collector, with the standard variable names. */
function readTraces(reader: SettingReader): Config['traces'] {
  const endpoint = reader.optional('OTEL_EXPORTER_OTLP_ENDPOINT', parseOtlpEndpoint);
  const headers = reader.secret('OTEL_EXPORTER_OTLP_HEADERS', (text) => new Secret(parseOtlpHeaders(text)));
  return endpoint === undefined
    ? undefined
    : Object.freeze({ url: `${endpoint}/v1/traces`, headers: headers ?? new Secret({}) });
}

/**
 * Reads the configuration from the environment and from the files that settings name; writes nothing. Throws `ConfigError`
 * with one line for each unknown name, invalid value and invalid combination. `runtimeArguments` is `process.execArgv`.
 */
export function loadConfig(environment: Environment, runtimeArguments: readonly string[] = []): Config {
  const reader = createSettingReader(environment);
  const env = reader.withDefault('VAULT_ENV', choiceOf('staging', 'production'), 'staging');
  if (env === 'production') {
    rejectInspector(reader, environment, runtimeArguments);
  }
  const config = {
    env,
    ...readListeners(reader),
    ...readUrls(reader),
    ...readRedis(reader),
    ...readMasterKey(reader, { env, environment }),
    bootstrap: readBootstrap(reader),
    ...readLimits(reader),
    ...readProtection(reader, env),
    traces: readTraces(reader),
    effective: Object.freeze(reader.effective),
  };
  reader.finish();
  return Object.freeze(config);
}

/**
 * The base URL that callers use, without a trailing slash: the configured one, or one that is derived from host and
 * port.
 */
export function publicUrl(config: Config, listeningPort: number): string {
  if (config.publicUrl !== undefined) {
    return config.publicUrl;
  }
  return urlOf(config, config.host, listeningPort);
}

/** The base URL of a listener as it is called on its own machine, without a trailing slash. */
function urlOf({ tls }: Config, address: string, port: number): string {
  const named = address === '0.0.0.0' || address === '::' ? 'localhost' : address;
  const host = named.includes(':') ? `[${named}]` : named;
  return `${tls === undefined ? 'http' : 'https'}://${host}:${port}`;
}

/** The base URL of what needs an account, without a trailing slash: that of the second listener, where there is one. */
export function adminUrl(config: Config): string {
  return config.admin === undefined
    ? publicUrl(config, config.port)
    : urlOf(config, config.admin.host, config.admin.port);
}
