import { editsBetween } from '../core/edits.ts';

/**
 * All settings. Any other `VAULT_…` name in the environment prevents the start, so a misspelt name cannot silently
 * disable a protection.
 */
export const SERVER_SETTING_NAMES = [
  'VAULT_ENV',
  'VAULT_HOST',
  'VAULT_PORT',
  'VAULT_ADMIN_HOST',
  'VAULT_ADMIN_PORT',
  'VAULT_DRAIN_SECONDS',
  'VAULT_PUBLIC_URL',
  'VAULT_REDIS_URL',
  'VAULT_DATA_DIR',
  'VAULT_REDIS_BIN',
  'VAULT_MASTER_KEY',
  'VAULT_MASTER_KEY_FILE',
  'VAULT_MASTER_KEY_COMMAND',
  'VAULT_BOOTSTRAP_USER',
  'VAULT_BOOTSTRAP_PASSWORD',
  'VAULT_BOOTSTRAP_UNMASKED',
  'VAULT_PROCESSES',
  'VAULT_WORKERS',
  'VAULT_PROXY_ALLOW',
  'VAULT_PROXY_CA_FILE',
  'VAULT_STAGING_URL',
  'VAULT_REDIS_ALLOW_UNSAFE',
  'VAULT_REDIS_WAIT',
  'VAULT_UNKNOWN_PARAMETERS',
  'VAULT_RATE_ACCOUNT',
  'VAULT_RATE_SOURCE',
  'VAULT_AUDIT_RETENTION',
  'VAULT_JOB_RETENTION',
  'VAULT_AUDIT_CHECKPOINT_FILE',
  'VAULT_AUDIT_SINK',
  'VAULT_FORMS_URL',
  'VAULT_TRUSTED_PROXIES',
  'VAULT_AUTH_FAILURES_MAX',
  'VAULT_AUTH_LOCK_SECONDS',
  'VAULT_ARGON2',
  'VAULT_WARM_UNLOCK_SECONDS',
  'VAULT_SAD_RETENTION',
  'VAULT_SAD_REWRITE_SECONDS',
  'VAULT_PRICES_FILE',
  'VAULT_NETWORK_TOKEN_FILE',
  'VAULT_TLS_CERT_FILE',
  'VAULT_TLS_KEY_FILE',
  'VAULT_ALLOW_PLAIN_HTTP',
  'VAULT_REDIS_CA_FILE',
  'VAULT_REDIS_CERT_FILE',
  'VAULT_REDIS_KEY_FILE',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
] as const;

/** The name of a setting. */
export type SettingName = (typeof SERVER_SETTING_NAMES)[number];

/** For look-ups. */
const KNOWN: ReadonlySet<string> = new Set(SERVER_SETTING_NAMES);

/** The setting with the smallest distance; the first one of several. */
function nearest(name: string): { readonly known: SettingName; readonly distance: number } {
  return SERVER_SETTING_NAMES.map((known) => ({
    known,
    distance: editsBetween(name.toUpperCase(), known),
  })).reduce((best, next) => (next.distance < best.distance ? next : best));
}

/** A setting that the name is a prefix of (`VAULT_REDIS`), or that is a prefix of the name (`VAULT_ENVIRONMENT`). */
function related(name: string): SettingName | undefined {
  return SERVER_SETTING_NAMES.find((known) => known.startsWith(`${name}_`) || name.startsWith(known));
}

/**
 * An environment variable that is probably a misspelt setting; `suggestion` is the setting that was probably meant.
 */
export interface UnknownSetting {
  readonly name: string;
  readonly suggestion: SettingName | undefined;
}

/** Undefined for a setting, and for a name that does not resemble one. */
function checkName(name: string): UnknownSetting | undefined {
  if (KNOWN.has(name) || !/^v/i.test(name)) {
    return undefined;
  }
  const { known, distance } = nearest(name);
  if (distance <= 2) {
    return { name, suggestion: known };
  }
  if (!/^VAULT_/i.test(name)) {
    return undefined;
  }
  return {
    name,
    suggestion: related(name.toUpperCase()) ?? (distance <= name.length / 3 ? known : undefined),
  };
}

/**
 * Finds names that are not settings: those that start with `VAULT_` in any case, and those within two edits of a setting
 * (`VALT_PORT`).
 */
export function findUnknownSettings(names: readonly string[]): readonly UnknownSetting[] {
  return names.map(checkName).filter((unknown) => unknown !== undefined);
}
