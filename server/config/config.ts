import { editsBetween } from '../core/edits.ts';
import { Secret } from '../core/secret.ts';
import type { OidcSettings } from '../core/settings.ts';
import { isPrivateKeyOf } from './files.ts';
import { type MasterKeyCommand, masterKeyCommandOf } from './master-key-command.ts';
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

/** The account that the first start creates. Without a name and password the server generates them, only in staging. */
interface Bootstrap {
  readonly account: { readonly user: string; readonly password: Secret<string> } | undefined;
  /** The account sees card numbers unmasked (PCI DSS 3.4.1). */
  readonly unmasked: boolean;
}

/** A certificate chain and its private key, in PEM. */
interface KeyPair {
  readonly cert: string;
  readonly key: Secret<string>;
}

/** The validated, frozen configuration: the settings by their names in `SETTINGS`, and values that combine several settings. */
export interface Config extends SettingValues {
  /** The second listener, with all routes; the first then has only those without an account. Port 0 = any free one. */
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  readonly tls: KeyPair | undefined;
  readonly redis: RedisSetting;
  /** For TLS to Redis: authorities besides the built-in ones, in PEM, and the certificate of this server. */
  readonly redisTls: { readonly ca: string | undefined; readonly client: KeyPair | undefined } | undefined;
  /** Undefined in staging, or with `masterKeyCommand`. `ensureMasterKey` returns the ring in every case. */
  readonly masterKey: Secret<MasterKeyRing> | undefined;
  /** The command that prints the ring; reading the configuration does not run it. */
  readonly masterKeyCommand: Secret<MasterKeyCommand> | undefined;
  readonly bootstrap: Bootstrap;
  /** The provider that people sign in at; undefined without one. */
  readonly oidc: OidcSettings | undefined;
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
  const values = reader.readAll();
  const { env, host, redisUrl, redisCa } = values;
  if (env === 'production') {
    rejectInspector(reader, environment, runtimeArguments);
  }
  const admin = adminOf(reader, values);
  const tls = keyPairOf(reader, 'VAULT_TLS_CERT_FILE', values.tlsCert, 'VAULT_TLS_KEY_FILE', values.tlsKey);
  if (!values.allowPlainHttp) {
    rejectPlainHttp(reader, host, admin?.host);
  }
  checkUrls(reader, values);
  const { redisCert, redisKey } = values;
  const client = keyPairOf(reader, 'VAULT_REDIS_CERT_FILE', redisCert, 'VAULT_REDIS_KEY_FILE', redisKey);
  const redisTls =
    redisCa === undefined && client === undefined ? undefined : Object.freeze({ ca: redisCa, client });
  if (redisTls !== undefined) {
    rejectTlsFiles(reader, redisUrl);
  }
  checkMasterKey(reader, env);
  const { masterKeyLine, otlpEndpoint, otlpHeaders } = values;
  const config: Config = {
    ...values,
    ...{ admin, tls, redisTls },
    redis: redisUrl ?? Object.freeze({ kind: 'embedded' }),
    masterKey: values.masterKeyRing ?? values.masterKeyFile,
    masterKeyCommand: masterKeyLine && masterKeyCommandOf(masterKeyLine, environment),
    bootstrap: Object.freeze({
      account: firstAccountOf(reader, values),
      unmasked: values.bootstrapUnmasked,
    }),
    oidc: oidcOf(reader, values),
    traces:
      otlpEndpoint === undefined
        ? undefined
        : Object.freeze({ url: `${otlpEndpoint}/v1/traces`, headers: otlpHeaders ?? new Secret({}) }),
    effective: Object.freeze(reader.effective),
  };
  if (config.formsUrl !== undefined && new URL(config.formsUrl).host === new URL(publicUrl(config)).host) {
    reader.report('VAULT_FORMS_URL', 'must have another host than VAULT_PUBLIC_URL, or be omitted');
  }
  if (config.oidc !== undefined) {
    checkOidcConsole(reader, config);
  }
  reader.finish();
  return Object.freeze(config);
}

/** Reads settings. An invalid value is recorded and treated as not set, so that `finish` reports all errors together. */
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
    // Each member has the value of the setting of its name.
    return values as SettingValues;
  }

  /** Returns whether the variable exists, even with an invalid value. */
  isSet(name: SettingName): boolean {
    return this.environment[name] !== undefined;
  }

  report(name: string, reason: string): void {
    this.errors.push(new ConfigError(name, reason));
  }

  /** Reports a setting that is missing although another one has a value; an invalid one was reported already. */
  require(name: SettingName, other: SettingName, value: unknown): void {
    if (value !== undefined && !this.isSet(name)) {
      this.report(name, `is required with ${other}`);
    }
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

/** The setting with the smallest number of edits to a name; the first one of several. */
function nearest(name: string): { readonly known: SettingName; readonly edits: number } {
  return SERVER_SETTING_NAMES.map((known) => ({ known, edits: editsBetween(name, known) })).reduce(
    (best, next) => (next.edits < best.edits ? next : best),
  );
}

/** A setting that the name is a prefix of (`VAULT_REDIS`), or that is a prefix of the name (`VAULT_ENVIRONMENT`). */
function related(name: string): SettingName | undefined {
  return SERVER_SETTING_NAMES.find((known) => known.startsWith(`${name}_`) || name.startsWith(known));
}

/** Creates an error for each name that starts with `VAULT_` in any case, or is within two edits of a setting (`VALT_PORT`). */
function unknownSettings(environment: Environment): ConfigError[] {
  const settings: ReadonlySet<string> = new Set(SERVER_SETTING_NAMES);
  return Object.keys(environment).flatMap((name) => {
    if (environment[name] === undefined || settings.has(name) || !/^v/i.test(name)) {
      return [];
    }
    const upper = name.toUpperCase();
    const { known, edits } = nearest(upper);
    if (edits > 2 && !upper.startsWith('VAULT_')) {
      return [];
    }
    const further = related(upper) ?? (edits <= name.length / 3 ? known : undefined);
    const meant = edits <= 2 ? known : further;
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
    // Names come from the environment, and may contain any character.
    return new ConfigError(name.replaceAll(/[^\w.-]/g, '?').slice(0, 64), `is not a setting${hint}`);
  });
}

/** Returns the second listener, which needs a port other than that of the first for every address. */
function adminOf(reader: SettingReader, { adminHost, adminPort, port }: SettingValues): Config['admin'] {
  if (adminPort === undefined) {
    reader.require('VAULT_ADMIN_PORT', 'VAULT_ADMIN_HOST', adminHost);
    return undefined;
  }
  if (adminPort !== 0 && adminPort === port) {
    reader.report('VAULT_ADMIN_PORT', 'must be another port than VAULT_PORT');
  }
  return Object.freeze({ host: adminHost ?? '127.0.0.1', port: adminPort });
}

/** Returns a certificate with its key. Reports a missing half, but not one whose file was reported already. */
function keyPairOf(
  reader: SettingReader,
  certName: SettingName,
  cert: string | undefined,
  keyName: SettingName,
  key: Secret<string> | undefined,
): KeyPair | undefined {
  if (cert !== undefined && key !== undefined) {
    if (isPrivateKeyOf(cert, key)) {
      return Object.freeze({ cert, key });
    }
    reader.report(keyName, `does not name the unencrypted PEM private key of ${certName}`);
  }
  reader.require(keyName, certName, cert);
  reader.require(certName, keyName, key);
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

/** True for a URL of plain HTTP on a machine other than the browser's own, which pages under HTTPS cannot call. */
function isBlocked(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''));
}

/** Reports URLs of plain HTTP where the server has TLS, or where forms under HTTPS would call them in vain. */
function checkUrls(
  reader: SettingReader,
  { publicUrl: own, formsUrl, stagingUrl, consoleUrl, tlsCert }: SettingValues,
): void {
  const hasTls = tlsCert !== undefined;
  const isSecure = hasTls || [own, formsUrl].some((url) => url?.startsWith('https:'));
  for (const [name, url] of [
    ['VAULT_PUBLIC_URL', own],
    ['VAULT_FORMS_URL', formsUrl],
    ['VAULT_CONSOLE_URL', consoleUrl],
  ] as const) {
    if (hasTls && url?.startsWith('http:')) {
      reader.report(name, 'must begin with https://: with VAULT_TLS_CERT_FILE the server has no plain HTTP');
    }
  }
  for (const [name, url] of [
    ['VAULT_PUBLIC_URL', hasTls ? undefined : own],
    ['VAULT_STAGING_URL', stagingUrl],
  ] as const) {
    if (isSecure && url !== undefined && isBlocked(url)) {
      reader.report(name, 'must begin with https://: browsers let forms under HTTPS call nothing else');
    }
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
function firstAccountOf(reader: SettingReader, values: SettingValues): Bootstrap['account'] {
  const { bootstrapUser: user, bootstrapPassword: password } = values;
  if (user !== undefined && password !== undefined) {
    return Object.freeze({ user, password });
  }
  reader.require('VAULT_BOOTSTRAP_PASSWORD', 'VAULT_BOOTSTRAP_USER', user);
  reader.require('VAULT_BOOTSTRAP_USER', 'VAULT_BOOTSTRAP_PASSWORD', password);
  return undefined;
}

/** Returns the provider of OpenID Connect, whose settings are only valid together. */
function oidcOf(reader: SettingReader, values: SettingValues): OidcSettings | undefined {
  const {
    oidcIssuer: issuer,
    oidcClientId: clientId,
    oidcClientSecret: clientSecret,
    oidcRoles: roles,
  } = values;
  const read = [
    ['VAULT_OIDC_ISSUER', issuer],
    ['VAULT_OIDC_CLIENT_ID', clientId],
    ['VAULT_OIDC_CLIENT_SECRET_FILE', clientSecret],
    ['VAULT_OIDC_ROLES', roles],
  ] as const;
  const [given, value] = read.find(([, each]) => each !== undefined) ?? read[0];
  for (const [name] of read) {
    reader.require(name, given, value);
  }
  return issuer === undefined || clientId === undefined || clientSecret === undefined || roles === undefined
    ? undefined
    : Object.freeze({ issuer, clientId, clientSecret, roles });
}

function hostnameOf(url: string): string {
  return new URL(url).hostname;
}

/** Reports a console to which the provider could not lead back, or where a cookie could be read on its way, or set by others. */
function checkOidcConsole(reader: SettingReader, config: Config): void {
  const url = consoleUrl(config);
  if (url === undefined && !reader.isSet('VAULT_CONSOLE_URL')) {
    reader.report('VAULT_CONSOLE_URL', 'is required with VAULT_OIDC_ISSUER where VAULT_ADMIN_PORT is set');
  }
  if (url !== undefined && isBlocked(url)) {
    reader.report(
      'VAULT_OIDC_ISSUER',
      'needs a console that browsers reach over HTTPS, or on their own machine: set VAULT_CONSOLE_URL',
    );
  }
  if (url !== undefined && config.formsUrl !== undefined && hostnameOf(url) === hostnameOf(config.formsUrl)) {
    reader.report(
      'VAULT_OIDC_ISSUER',
      'needs a console at another host name than VAULT_FORMS_URL, not only at another port: scripts of forms could set its cookies',
    );
  }
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

/** The base URL for callers, without a trailing slash: the configured one, or one that is derived from host and port. */
export function publicUrl(config: Config): string {
  return config.publicUrl ?? urlOf(config, config.host, config.port);
}

/** The origin of the console; undefined if there is a second listener, whose address only `VAULT_CONSOLE_URL` tells. */
export function consoleUrl(config: Config): string | undefined {
  return config.consoleUrl ?? (config.admin === undefined ? publicUrl(config) : undefined);
}

/** The base URL of a listener as it is called on its own machine, without a trailing slash. */
function urlOf({ tls }: Config, address: string, port: number): string {
  const named = address === '0.0.0.0' || address === '::' ? 'localhost' : address;
  const host = named.includes(':') ? `[${named}]` : named;
  return `${tls === undefined ? 'http' : 'https'}://${host}:${port}`;
}

/** The base URL of routes that need an account, without a trailing slash: that of the second listener, if there is one. */
export function adminUrl(config: Config): string {
  return config.admin === undefined ? publicUrl(config) : urlOf(config, config.admin.host, config.admin.port);
}
