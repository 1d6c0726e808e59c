import { VaultError } from '../../core/errors.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { parseTemplate, type Template } from '../template/parse.ts';
import { type NamesElsewhere, unknownName } from '../text/unknown-name.ts';

/** Size limits of the texts of a proxy request, in UTF-16 units unless the name says bytes. */
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

/** The error for one place in the body of a proxy call, with what was expected there as the rest of a sentence. */
export function invalidAt(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

/** Rejects the first member of an object that has none of the given names. */
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

/** The object at a place. */
export function objectAt(value: JsonValue | undefined, field: string): JsonObject {
  if (!(value instanceof Map)) {
    throw invalidAt(field, 'must be an object');
  }
  return value;
}

/** The text at a place: well-formed, not empty, and no longer than `lengthMax`. */
export function textAt(value: JsonValue | undefined, field: string, lengthMax: number): string {
  if (typeof value !== 'string' || value === '' || value.length > lengthMax || !value.isWellFormed()) {
    throw invalidAt(field, `must be a text of 1 to ${lengthMax} characters`);
  }
  return value;
}

/** The truth value at a place, `false` when it is omitted. */
export function flagAt(value: JsonValue | undefined, field: string): boolean {
  if (value !== undefined && typeof value !== 'boolean') {
    throw invalidAt(field, 'must be `true` or `false`');
  }
  return value ?? false;
}

/** The whole number from 1 to `max` (one digit) at a place, `byDefault` when it is omitted. */
export function countAt(value: JsonValue | undefined, field: string, max: number, byDefault = max): number {
  if (value === undefined) {
    return byDefault;
  }
  if (!(value instanceof JsonNumber) || !/^[1-9]$/.test(value.text) || Number(value.text) > max) {
    throw invalidAt(field, `must be an integer of 1 to ${max}`);
  }
  return Number(value.text);
}

/** Whether the texts of a request are templates, or literal where nothing is filled in. */
export interface TextOptions {
  readonly literal?: boolean;
}

/** The defaults of webhooks. */
export interface WebhookOptions {
  /** The most delivery attempts, 1 to 8; 8 by default. */
  readonly webhookAttempts?: number;
}

/** Parses a template; throws at its own place. */
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

/** Whether a text contains a control character (C0, DEL or C1), which no URL and no header may. */
export function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || (unit >= 0x7f && unit <= 0x9f)) {
      return true;
    }
  }
  return false;
}

const DOT_SEGMENT = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?=[/\\;]|%2f|%5c|%3b|$)/i;

/** Whether a path takes a step up or stays somewhere, also for servers that decode it before they take it apart. */
export function hasDotSegment(path: string): boolean {
  return DOT_SEGMENT.test(path);
}

/** Whether a text can be a header's value on the wire: no control characters, nothing beyond ISO 8859-1. */
export function isHeaderText(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 0xff) {
      return false;
    }
  }
  return !hasControl(text);
}
