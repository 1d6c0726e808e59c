/** Readers of Redis replies. A part of another type means a modified record: `integrity_failed`. */
import { VaultError } from '../core/errors.ts';

export function asBytes(part: unknown): Buffer {
  if (Buffer.isBuffer(part)) {
    return part;
  }
  throw new VaultError('integrity_failed');
}

/** Reads a reply part as bytes; undefined for a missing value. */
export function asOptionalBytes(part: unknown): Buffer | undefined {
  return part === null ? undefined : asBytes(part);
}

export function asText(part: unknown): string {
  return typeof part === 'string' ? part : asBytes(part).toString('utf8');
}

export function asCount(part: unknown): number {
  const value = typeof part === 'number' ? part : Number(asText(part));
  if (Number.isFinite(value)) {
    return value;
  }
  throw new VaultError('integrity_failed');
}

export function asList(part: unknown): readonly unknown[] {
  if (Array.isArray(part)) {
    return part;
  }
  throw new VaultError('integrity_failed');
}

/** True if a script replied `ok`. */
export function isOk(part: unknown): boolean {
  return asText(part) === 'ok';
}

/** Reads the reply of a script as one of its result words; any other word is a bug. */
export function asOneOf<const Word extends string>(part: unknown, words: readonly Word[]): Word {
  const found = asText(part);
  const known = words.find((word) => word === found);
  if (known === undefined) {
    throw new VaultError('internal');
  }
  return known;
}

/** Reads pairs of a reply, such as members with their scores: RESP3 nests each pair, RESP2 gives one flat list. */
export function asPairs(reply: unknown): readonly (readonly [first: unknown, second: unknown])[] {
  const parts = asList(reply).flat();
  return parts.flatMap((part, i) => (i % 2 === 0 ? [[part, parts[i + 1]] as const] : []));
}

/** The largest time of a JavaScript `Date`, ms. */
const TIME_MS_MAX = 8_640_000_000_000_000;

/** Reads a time in ms since 1970. */
export function asTime(part: unknown): number {
  const ms = asCount(part);
  if (ms < 0 || ms > TIME_MS_MAX) {
    throw new VaultError('integrity_failed');
  }
  return ms;
}
