import { Secret } from '../core/secret.ts';
import { isPrivateKeyOf } from './files.ts';
import { type MasterKeyCommand, masterKeyCommandOf } from './master-key-command.ts';
import { findUnknownSettings } from './names.ts';
import { BadValue, ConfigError, type Environment, rejectValue } from './reader.ts';
import { isRedisTls, type RedisSetting } from './redis.ts';
import type { MasterKeyRing } from './ring.ts';
import {
  type Env,
  SERVER_SETTING_NAMES,
  SETTINGS,
  type Setting,
  type SettingName,
  type SettingValues,
} from './settings.ts';
import { isLoopback } from './values.ts';

/** Settings that only have a meaning together with others. */
type Combined =
  | 'adminHost'
  | 'adminPort'
  | 'allowPlainHttp'
  | 'tlsCert'
  | 'tlsKey'
  | 'redisUrl'
  | 'redisCa'
  | 'redisCert'
  | 'redisKey'
  | 'masterKeyRing'
  | 'masterKeyFile'
  | 'masterKeyLine'
  | 'bootstrapUser'
  | 'bootstrapPassword'
  | 'bootstrapUnmasked'
  | 'otlpEndpoint'
  | 'otlpHeaders';

/**
 * The account that the first start creates. Without a name and password the server generates them, only in staging.
 */
interface Bootstrap {
  readonly account: { readonly user: string; readonly password: Secret<string> } | undefined;
  /** Whether that account sees card numbers unmasked (PCI DSS 3.4.1). */
  readonly unmasked: boolean;
}

/** A certificate chain and its private key, in PEM. */
interface KeyPair {
  readonly cert: string;
  readonly key: Secret<string>;
}

/** The validated, frozen configuration: the settings by their names in `SETTINGS`, and values of several settings. */
export interface Config extends Omit<SettingValues, Combined> {
  /**
   * The address of a second listener, with everything; the first then has only what is used without an account. Port 0 = any
   * free one. Undefined: there is one listener.
   */
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  readonly tls: KeyPair | undefined;
  readonly redis: RedisSetting;
  /**
   * Files for TLS to Redis: certificate authorities besides the built-in ones, in PEM, and the certificate of this server.
   * Undefined: none are needed.
   */
  readonly redisTls: { readonly ca: string | undefined; readonly client: KeyPair | undefined } | undefined;
  /** Undefined in staging, or with `masterKeyCommand`. `ensureMasterKey` returns the ring in every case. */
  readonly masterKey: Secret<MasterKeyRing> | undefined;
  /** The command that prints the ring; reading the configuration does not run it. */
  readonly masterKeyCommand: Secret<MasterKeyCommand> | undefined;
  readonly bootstrap: Bootstrap;
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

/**
 * Reads the configuration from the environment and from the files that settings name; writes nothing. Throws `ConfigError`
 * with one line for each unknown name, invalid value and invalid combination. `runtimeArguments` is `process.execArgv`.
 */
export function loadConfig(environment: Environment, runtimeArguments: readonly string[] = []): Config {
  const reader = new SettingReader(environment);
  const { adminHost, adminPort, allowPlainHttp, tlsCert, tlsKey, ...rest } = reader.readAll();
  const { redisUrl, redisCa, redisCert, redisKey, masterKeyRing, masterKeyFile, masterKeyLine, ...others } =
    rest;
  const { bootstrapUser, bootstrapPassword, bootstrapUnmasked, otlpEndpoint, otlpHeaders, ...plain } = others;
  const { env, host, port } = plain;
  if (env === 'production') {
    rejectInspector(reader, environment, runtimeArguments);
  }
  const admin = adminOf(reader, adminHost, adminPort, port);
  const tls = keyPairOf(reader, ['VAULT_TLS_CERT_FILE', 'VAULT_TLS_KEY_FILE'], tlsCert, tlsKey);
  if (!allowPlainHttp) {
    rejectPlainHttp(reader, host, admin?.host);
  }
  const names = ['VAULT_REDIS_CERT_FILE', 'VAULT_REDIS_KEY_FILE'] as const;
  const client = keyPairOf(reader, names, redisCert, redisKey);
  if (redisCa !== undefined || client !== undefined) {
    rejectTlsFiles(reader, redisUrl);
  }
  checkMasterKey(reader, env);
  const config: Config = {
    ...plain,
    ...{ admin, tls },
    redis: redisUrl ?? Object.freeze({ kind: 'embedded' }),
    redisTls:
      redisCa === undefined && client === undefined ? undefined : Object.freeze({ ca: redisCa, client }),
    masterKey: masterKeyRing ?? masterKeyFile,
    masterKeyCommand: masterKeyLine && masterKeyCommandOf(masterKeyLine, environment),
    bootstrap: Object.freeze({
      account: firstAccountOf(reader, bootstrapUser, bootstrapPassword),
      unmasked: bootstrapUnmasked,
    }),
    traces:
      otlpEndpoint === undefined
        ? undefined
        : Object.freeze({ url: `${otlpEndpoint}/v1/traces`, headers: otlpHeaders ?? new Secret({}) }),
    effective: Object.freeze(reader.effective),
  };
  reader.finish();
  return Object.freeze(config);
}

/**
 * Reads settings, and collects their effective values for the start log. An invalid value is recorded and treated as not set,
 * so that `finish` reports all errors together.
 */
class SettingReader {
  /** Setting names and their effective values, without secrets. */
  readonly effective: Record<string, string> = {};
  private readonly errors: ConfigError[];

  constructor(private readonly environment: Environment) {
    this.errors = unknownSettings(environment);
  }

  readAll(): SettingValues {
    const values: Record<string, unknown> = {};
    let env: Env = 'staging';
    for (const [member, setting] of Object.entries<Setting<SettingName, unknown>>(SETTINGS)) {
      values[member] = this.read(setting, env);
      env = values['env'] === 'production' ? 'production' : 'staging';
    }
    // Each value is of its own setting.
    return values as SettingValues;
  }

  /** Returns whether the variable exists, even with an invalid value. */
  isSet(name: SettingName): boolean {
    return this.environment[name] !== undefined;
  }

  /** Records an invalid setting, or combination of settings. */
  report(name: string, reason: string): void {
    this.errors.push(new ConfigError(name, reason));
  }

  /** Throws one `ConfigError` with all recorded errors in the order of the settings, if there are any. */
  finish(): void {
    const names: readonly string[] = SERVER_SETTING_NAMES;
    // Other names come first.
    const [first, ...further] = this.errors.toSorted(
      (a, b) => names.indexOf(a.setting) - names.indexOf(b.setting),
    );
    if (first !== undefined) {
      throw new ConfigError(first.setting, first.message.slice(first.setting.length + 1), further);
    }
  }

  private read(setting: Setting<SettingName, unknown>, env: Env): unknown {
    const { name, parse, fallback, absent } = setting;
    const text = this.environment[name];
    if (text !== undefined) {
      const parsed = this.parse(name, parse, text);
      this.effective[name] = setting.shown?.(parsed?.value) ?? text;
      if (parsed !== undefined) {
        return Object.freeze(parsed.value);
      }
    }
    if (fallback === undefined) {
      this.effective[name] ??= 'not set';
      return absent;
    }
    const used = typeof fallback === 'string' ? fallback : fallback(env);
    this.effective[name] = `${used} (default)`;
    return Object.freeze(parse(used));
  }

  /** Parses a value; undefined if it is invalid. Errors other than `BadValue` are bugs and are thrown. */
  private parse<T>(
    name: SettingName,
    parse: (text: string) => T,
    text: string,
  ): { readonly value: T } | undefined {
    try {
      // An empty value is usually a mistake in a template, which the default would hide.
      return { value: text === '' ? rejectValue('is empty; set a value or remove it') : parse(text) };
    } catch (error) {
      if (error instanceof BadValue) {
        this.report(name, error.message);
        return undefined;
      }
      throw error;
    }
  }
}

/** Creates an error for each variable that is probably a misspelt setting. */
function unknownSettings(environment: Environment): ConfigError[] {
  const names = Object.keys(environment).filter((name) => environment[name] !== undefined);
  return findUnknownSettings(names).map(({ name, suggestion }) => {
    const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`;
    // Names come from the environment, and may contain any character.
    return new ConfigError(name.replaceAll(/[^\w.-]/g, '?').slice(0, 64), `is not a setting${hint}`);
  });
}

/** Returns the second listener. A request could not be told from one for the first on the same port, whatever the addresses. */
function adminOf(
  reader: SettingReader,
  host: string | undefined,
  adminPort: number | undefined,
  port: number,
): Config['admin'] {
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

/** Returns a certificate with its key. Reports a missing half, but not one whose file was reported already. */
function keyPairOf(
  reader: SettingReader,
  [certName, keyName]: readonly [cert: SettingName, key: SettingName],
  cert: string | undefined,
  key: Secret<string> | undefined,
): KeyPair | undefined {
  if (cert !== undefined && key !== undefined) {
    if (isPrivateKeyOf(cert, key)) {
      return Object.freeze({ cert, key });
    }
    reader.report(keyName, `does not name the unencrypted PEM private key of ${certName}`);
  }
  if (cert !== undefined && !reader.isSet(keyName)) {
    reader.report(keyName, `is required with ${certName}`);
  }
  if (key !== undefined && !reader.isSet(certName)) {
    reader.report(certName, `is required with ${keyName}`);
  }
  return undefined;
}

/** Reports each address that other machines can reach over plain HTTP, unless TLS is configured (PCI DSS 4.2.1). */
function rejectPlainHttp(reader: SettingReader, host: string, adminHost: string | undefined): void {
  // An invalid file is already an error; the missing TLS is then not reported as well.
  if (reader.isSet('VAULT_TLS_CERT_FILE') || reader.isSet('VAULT_TLS_KEY_FILE')) {
    return;
  }
  const reason =
    'is not a loopback address: set VAULT_TLS_CERT_FILE and VAULT_TLS_KEY_FILE, or VAULT_ALLOW_PLAIN_HTTP=true behind a proxy that terminates TLS';
  if (!isLoopback(host)) {
    reader.report('VAULT_HOST', reason);
  }
  if (adminHost !== undefined && !isLoopback(adminHost)) {
    reader.report('VAULT_ADMIN_HOST', reason);
  }
}

/** Reports files that a Redis without TLS would never be shown: its operator expects a protection that is not there. */
function rejectTlsFiles(reader: SettingReader, redis: RedisSetting | undefined): void {
  const isInvalid = redis === undefined && reader.isSet('VAULT_REDIS_URL');
  if (!isInvalid && (redis === undefined || !isRedisTls(redis))) {
    const names = ['VAULT_REDIS_CA_FILE', 'VAULT_REDIS_CERT_FILE'] as const;
    reader.report(
      names.find((name) => reader.isSet(name)) ?? 'VAULT_REDIS_KEY_FILE',
      'is only for TLS: VAULT_REDIS_URL must begin with rediss:// or rediss+sentinel://',
    );
  }
}

/** Reports more than one source of the master keys, and in production none. */
function checkMasterKey(reader: SettingReader, env: Env): void {
  const sources = ['VAULT_MASTER_KEY', 'VAULT_MASTER_KEY_FILE', 'VAULT_MASTER_KEY_COMMAND'] as const;
  const [first, ...others] = sources.filter((name) => reader.isSet(name));
  for (const other of others) {
    reader.report(String(first), `and ${other} are both set; keep one`);
  }
  if (first === undefined && env === 'production') {
    reader.report('VAULT_MASTER_KEY', `or ${sources.slice(1).join(' or ')} is required in production`);
  }
}

/** Returns the first account; user and password are only valid together. */
function firstAccountOf(
  reader: SettingReader,
  user: string | undefined,
  password: Secret<string> | undefined,
): Bootstrap['account'] {
  if (user !== undefined && password !== undefined) {
    return Object.freeze({ user, password });
  }
  if (user !== undefined && !reader.isSet('VAULT_BOOTSTRAP_PASSWORD')) {
    reader.report('VAULT_BOOTSTRAP_PASSWORD', 'is required with VAULT_BOOTSTRAP_USER');
  }
  if (password !== undefined && !reader.isSet('VAULT_BOOTSTRAP_USER')) {
    reader.report('VAULT_BOOTSTRAP_USER', 'is required with VAULT_BOOTSTRAP_PASSWORD');
  }
  return undefined;
}

/** Reports an inspector (bun --inspect, BUN_INSPECT), which could read keys and card data from the process. */
function rejectInspector(
  reader: SettingReader,
  environment: Environment,
  runtimeArguments: readonly string[],
): void {
  const name = ['BUN_INSPECT', 'BUN_INSPECT_CONNECT_TO', 'BUN_INSPECT_NOTIFY', 'BUN_INSPECT_PRELOAD'].find(
    (key) => environment[key],
  );
  if (name !== undefined) {
    reader.report(name, 'is not allowed in production');
  }
  if (runtimeArguments.some((argument) => /^--inspect/.test(argument))) {
    reader.report('--inspect', 'is not allowed in production');
  }
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
