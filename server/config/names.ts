import { editsBetween } from '../core/edits.ts';
import { SERVER_SETTING_NAMES, type SettingName } from './settings.ts';

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
