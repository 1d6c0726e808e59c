/** The callers' own names and texts on an item, for searches. */
import { VaultError } from '../../core/errors.ts';
import type { JsonValue } from '../json/json.ts';
import { placeOf } from '../text/unknown-name.ts';
import { maskNumbersIn } from './found-numbers.ts';
import { plainNumbers, UNSEEN } from './plain-numbers.ts';

/** An object without a prototype. */
export type ItemMetadata = Readonly<Record<string, string>>;

const MEMBERS_MAX = 32;
const CHARACTERS_MAX = 500;
const NAME = /^[A-Za-z0-9_.-]{1,40}$/;

/** Separators of card number groups; groups of dates and times are shorter. */
const BETWEEN_GROUPS = /(?<=\d{4})[^\p{L}\p{N}]{1,3}(?=\d{3})/gu;

/** A text as people read it, with one space between groups of digits. */
export function plainText(text: string): string {
  return plainNumbers(text.normalize('NFKC')).replaceAll(UNSEEN, '').replaceAll(BETWEEN_GROUPS, ' ');
}

/** Tells whether a text has a card number, however people would read it. */
export function hasCardNumber(text: string): boolean {
  return [text, plainText(text)].some((part) => maskNumbersIn(part) !== part);
}

/**
 * Rejects a name of somebody or something that has a card number: names are shown and logged as they are. They are members
 * `name` of bodies.
 */
export function requireName(name: string): void {
  if (hasCardNumber(name)) {
    throw new VaultError('invalid_request', { field: 'body.name', expected: 'must not have a card number' });
  }
}

/**
 * Reads metadata at `field`; undefined for an empty object. `invalid_request` for other values than a flat object of
 * texts, `metadata_sensitive` for a card number in a name or text.
 */
export function readMetadata(value: JsonValue, field: string): ItemMetadata | undefined {
  const invalid = (place: string, expected: string) =>
    new VaultError('invalid_request', { field: place, expected });
  if (!(value instanceof Map) || value.size > MEMBERS_MAX) {
    throw invalid(field, 'must be an object of at most 32 texts');
  }
  const metadata: Record<string, string> = Object.create(null);
  for (const [name, text] of value) {
    if (!NAME.test(name)) {
      throw invalid(field, 'must have names of 1 to 40 letters, digits or characters of `_.-`');
    }
    if (typeof text !== 'string' || [...text].length > CHARACTERS_MAX || !text.isWellFormed()) {
      throw invalid(placeOf(field, name), 'must have a text of at most 500 characters');
    }
    if ([name, text].some(hasCardNumber)) {
      throw new VaultError('metadata_sensitive', { field: placeOf(field, name) });
    }
    metadata[name] = text;
  }
  return value.size === 0 ? undefined : metadata;
}

/** A name with the text that an item must have. */
export type MetadataPair = readonly [name: string, text: string];

export function hasPairs(metadata: ItemMetadata | undefined, pairs: readonly MetadataPair[]): boolean {
  return pairs.every(
    ([name, text]) => metadata !== undefined && Object.hasOwn(metadata, name) && metadata[name] === text,
  );
}
