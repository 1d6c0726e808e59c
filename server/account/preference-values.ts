import { Value } from '@sinclair/typebox/value';
import { type JsonValue, parseJson, stringifyJson, toPlain } from '../domain/json/json.ts';
import { parseBooleanText, parseIntegerText, parseListText } from '../domain/text/query-text.ts';
import type { Preferences } from '../request/context.ts';
import { SYSTEM_PREFERENCES } from './schema.ts';

/** A preference that an account has set: its name, and the exact JSON text of its value. */
export type OwnPreference = readonly [key: string, text: string];

/** A preference as it is returned; `is_default` if the account has not set it. */
export interface ShownPreference {
  readonly key: string;
  /** JSON text, exactly as it was sent. */
  readonly value: string;
  readonly is_default: boolean;
}

/** Preferences of an account in addition to those of the system. */
const OWN_MAX = 64;
/** Bytes of their values together, since they are read with every request. */
const OWN_BYTES_MAX = 16_384;
/** Bytes of one value. */
const VALUE_BYTES_MAX = 4_096;

const SYSTEM: ReadonlyMap<string, (typeof SYSTEM_PREFERENCES.properties)[keyof Preferences]> = new Map(
  Object.entries(SYSTEM_PREFERENCES.properties),
);
const DEFAULTS = Object.freeze(Value.Default(SYSTEM_PREFERENCES, {}) as Omit<Preferences, 'default_limit'>);

const encoder = new TextEncoder();
function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

/** Whether a preference changes the behaviour of the vault. Such a preference always has a value. */
export function isSystemPreference(key: string): boolean {
  return SYSTEM.has(key);
}

/** The parsers of query parameters, in the order in which they are tried. */
const TEXT_READERS = [parseIntegerText, parseBooleanText, parseListText] as const;

/**
 * Returns the value that the vault uses: the value itself, or a text parsed like the query parameter; undefined if it is
 * invalid.
 */
function meaningOf(key: string, value: unknown): unknown {
  const schema = SYSTEM.get(key);
  if (schema === undefined) {
    return undefined;
  }
  const readings = typeof value === 'string' ? TEXT_READERS.map((read) => read(value)) : [];
  return [value, ...readings].find((reading) => Value.Check(schema, reading));
}

/** The JSON text of a valid value, or the reason why it is invalid for this preference. */
export type CheckedPreference =
  | { readonly kind: 'valid'; readonly text: string }
  | { readonly kind: 'invalid' | 'too_large' };

/** Checks the value of a preference. Preferences of the account's own may have any value of at most 4096 bytes. */
export function checkPreference(key: string, value: JsonValue): CheckedPreference {
  const text = stringifyJson(value);
  if (bytesOf(text) > VALUE_BYTES_MAX) {
    return { kind: 'too_large' };
  }
  return !isSystemPreference(key) || meaningOf(key, toPlain(value)) !== undefined
    ? { kind: 'valid', text }
    : { kind: 'invalid' };
}

/** Returns the preferences with one of them set; undefined if that exceeds the limits of an account. */
export function withPreference(
  own: readonly OwnPreference[],
  key: string,
  text: string,
): readonly OwnPreference[] | undefined {
  const next: readonly OwnPreference[] = [...withoutPreference(own, key), [key, text]];
  const chosen = next.filter(([name]) => !isSystemPreference(name));
  const bytes = chosen.reduce((sum, [, value]) => sum + bytesOf(value), 0);
  return chosen.length > OWN_MAX || bytes > OWN_BYTES_MAX ? undefined : next;
}

/** Returns the preferences without one of them. */
export function withoutPreference(own: readonly OwnPreference[], key: string): readonly OwnPreference[] {
  return own.filter(([name]) => name !== key);
}

/** Returns all preferences of an account in order: those of the system, set or not, and its own. */
export function showPreferences(own: readonly OwnPreference[]): readonly ShownPreference[] {
  const set = new Map(own);
  const shown = own.map(([key, value]) => ({ key, value, is_default: false }));
  for (const [key, schema] of SYSTEM) {
    if (!set.has(key)) {
      shown.push({ key, value: JSON.stringify(schema.default), is_default: true });
    }
  }
  return shown.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Returns the values that the vault uses: valid ones that are set, otherwise the defaults. */
export function readPreferences(own: readonly OwnPreference[]): Preferences {
  const values: Record<string, unknown> = { default_limit: undefined, ...DEFAULTS };
  values['default_limit'] = undefined;
  for (const [key, text] of own) {
    const value = isSystemPreference(key)
      ? meaningOf(key, toPlain(parseJson(encoder.encode(text))))
      : undefined;
    if (value !== undefined) {
      values[key] = key === 'default_limit' && typeof value === 'number' && value < 0 ? -1 : value;
    }
  }
  return values as unknown as Preferences;
}

/** Returns the number of entries of a listing: as requested, as preferred, or the default of that listing. */
export function preferredLimit(
  { default_limit }: Preferences,
  asked: number | undefined,
  byDefault: number,
): number {
  return asked ?? default_limit ?? byDefault;
}
