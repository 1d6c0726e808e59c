import { VaultError } from '../../core/errors.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { parseTemplate, type Template } from '../template/parse.ts';
import { type NamesElsewhere, unknownName } from '../text/unknown-name.ts';

/** Size limits of a proxy request, in UTF-16 units unless the name says bytes. */
export const PROXY_LIMITS = {
  urlMax: 8192,
  headersMax: 64,
  headerNameMax: 256,
  headerValueMax: 16_384,
  bodyMax: 1_048_576,
  webhookUrlMax: 2048,
  webhookSecretMax: 1024,
  metadataBytesMax: 65_536,
  webhookAttemptsMax: 8,
} as const;

/** The error at a place in the body; `expected` is the rest of a sentence. */
export function invalidAt(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

export function rejectOthers(
  object: JsonObject,
  names: readonly string[],
  field: string,
  elsewhere?: NamesElsewhere,
): void {
  for (const name of object.keys()) {
    if (!names.includes(name)) {
      throw unknownName(field, name, names, elsewhere);
    }
  }
}

/** A present member; null counts as omitted. */
export function member(object: JsonObject, name: string): JsonValue | undefined {
  return object.get(name) ?? undefined;
}

/** Reads a member at its place; undefined if it is omitted. */
export function optionalAt<T>(
  object: JsonObject,
  field: string,
  name: string,
  read: (value: JsonValue, field: string) => T,
): T | undefined {
  const value = member(object, name);
  return value === undefined ? undefined : read(value, `${field}.${name}`);
}

export function objectAt(value: JsonValue | undefined, field: string): JsonObject {
  if (!(value instanceof Map)) {
    throw invalidAt(field, 'must be an object');
  }
  return value;
}

/** The text at a place: well-formed and not empty. */
export function textAt(value: JsonValue | undefined, field: string, lengthMax: number): string {
  if (typeof value !== 'string' || value === '' || value.length > lengthMax || !value.isWellFormed()) {
    throw invalidAt(field, `must be a text of 1 to ${lengthMax} characters`);
  }
  return value;
}

/** The boolean at a place, `false` by default. */
export function flagAt(value: JsonValue | undefined, field: string): boolean {
  if (value !== undefined && typeof value !== 'boolean') {
    throw invalidAt(field, 'must be `true` or `false`');
  }
  return value ?? false;
}

/** The integer of one digit from 1 to `max` at a place. */
export function countAt(value: JsonValue | undefined, field: string, max: number, byDefault = max): number {
  if (value === undefined) {
    return byDefault;
  }
  if (!(value instanceof JsonNumber) || !/^[1-9]$/.test(value.text) || Number(value.text) > max) {
    throw invalidAt(field, `must be an integer of 1 to ${max}`);
  }
  return Number(value.text);
}

export interface TextOptions {
  /** The texts of a request are no templates. */
  readonly literal?: boolean;
}

/** Parses a template; throws at `field`. */
export function templateAt(text: string, field: string, { literal }: TextOptions = {}): Template {
  if (literal) {
    const parts = text === '' ? [] : [{ kind: 'text', text, bytes: Buffer.byteLength(text) } as const];
    return { parts, firstCharacter: text.trimStart().charAt(0) };
  }
  try {
    return parseTemplate(text);
  } catch (error) {
    throw error instanceof VaultError ? invalidAt(field, 'must be a valid template') : error;
  }
}

/** Tells whether a text contains a control character (C0, DEL or C1), which no URL and no header may. */
export function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

const DOT_SEGMENT = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?=[/\\;]|%2f|%5c|%3b|$)/i;

/** Tells whether a path has a dot segment, also for servers that decode it before they split it. */
export function hasDotSegment(path: string): boolean {
  return DOT_SEGMENT.test(path);
}

/** Tells whether a text can be a header's value: ISO 8859-1 without control characters. */
export function isHeaderText(text: string): boolean {
  return /^[\x20-\x7e\xa0-\xff]*$/.test(text);
}
