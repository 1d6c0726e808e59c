import { Value } from '@sinclair/typebox/value';
import { VaultError } from '../core/errors.ts';
import { type JsonValue, parseJson, stringifyJson, toPlain } from '../domain/json/json.ts';
import { parseBooleanText, parseIntegerText, parseListText } from '../domain/text/query-text.ts';
import type { Preferences } from '../request/context.ts';
import { expectedOf } from '../schema/expected.ts';
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
const DEFAULTS = Object.freeze(Value.Default(SYSTEM_PREFERENCES, {}) as Preferences);
const encoder = new TextEncoder();

/** Returns whether a preference changes the behaviour of the vault. Such a preference always has a value. */
export function isSystemPreference(key: string): boolean {
  return SYSTEM.has(key);
}

const TEXT_READERS = [parseIntegerText, parseBooleanText, parseListText] as const;

/** Returns a valid value, also from a text like that of the query parameter; undefined if it is invalid. */
function meaningOf(key: string, value: unknown): unknown {
  const schema = SYSTEM.get(key);
  if (schema === undefined) {
    return undefined;
  }
  const readings = typeof value === 'string' ? TEXT_READERS.map((read) => read(value)) : [];
  return [value, ...readings].find((reading) => Value.Check(schema, reading));
}

/** Returns the JSON text of a valid value. Throws `body_too_large` or `invalid_request`. */
export function checkPreference(key: string, value: JsonValue): string {
  const text = stringifyJson(value);
  if (Buffer.byteLength(text) > VALUE_BYTES_MAX) {
    throw new VaultError('body_too_large', { field: 'body.value' });
  }
  const schema = SYSTEM.get(key);
  if (schema !== undefined && meaningOf(key, toPlain(value)) === undefined) {
    throw new VaultError('invalid_request', { field: 'body.value', expected: expectedOf(schema) });
  }
  return text;
}

export function withPreference(
  own: readonly OwnPreference[],
  key: string,
  text: string,
): readonly OwnPreference[] {
  const next: readonly OwnPreference[] = [...withoutPreference(own, key), [key, text]];
  const chosen = next.filter(([name]) => !isSystemPreference(name));
  const bytes = chosen.reduce((sum, [, value]) => sum + Buffer.byteLength(value), 0);
  if (chosen.length > OWN_MAX || bytes > OWN_BYTES_MAX) {
    throw new VaultError('preferences_full');
  }
  return next;
}

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
  const values: Record<string, unknown> = { ...DEFAULTS, default_limit: undefined };
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
