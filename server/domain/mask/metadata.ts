/** What callers keep beside an item to find it by, in names and texts of their own. */
import { VaultError } from '../../core/errors.ts';
import type { JsonValue } from '../json/json.ts';
import { maskNumbersIn } from './found-numbers.ts';

/** Names and texts; an object without a prototype. */
export type ItemMetadata = Readonly<Record<string, string>>;

const MEMBERS_MAX = 32;
const CHARACTERS_MAX = 500;
const NAME = /^[A-Za-z0-9_.-]{1,40}$/;

const DIGIT = /\p{Nd}/u;
const FOREIGN_DIGIT = /(?!\d)\p{Nd}/gu;
/** What is not seen beside or upon a digit. */
const UNSEEN = /[\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu;
/** What separates the groups of a card number; those of dates and times are shorter. */
const BETWEEN_GROUPS = /(?<=\d{4})[^\p{L}\p{N}]{1,3}(?=\d{3})/gu;

/** The ordinary digit for one of any script: each has its ten in a row, and rows begin where others end. */
function ordinary(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (DIGIT.test(String.fromCodePoint(code - value - 1))) {
    value++;
  }
  return String(value % 10);
}

/** A text as its reader takes it: with ordinary digits, nothing that cannot be seen, and one space between groups of digits. */
function plainOf(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(UNSEEN, '')
    .replaceAll(FOREIGN_DIGIT, ordinary)
    .replaceAll(BETWEEN_GROUPS, ' ');
}

/**
 * Reads metadata that was sent at `field`; undefined for an empty object. `invalid_request` for what is no flat object of
 * texts, `metadata_sensitive` where a name or a text holds a card number.
 */
export function readMetadata(value: JsonValue, field: string): ItemMetadata | undefined {
  if (!(value instanceof Map) || value.size > MEMBERS_MAX) {
    throw new VaultError('invalid_request', { field, expected: 'must be an object of at most 32 texts' });
  }
  const metadata: Record<string, string> = Object.create(null);
  for (const [name, text] of value) {
    if (!NAME.test(name)) {
      const expected = 'must have names of 1 to 40 letters, digits or characters of `_.-`';
      throw new VaultError('invalid_request', { field, expected });
    }
    if (typeof text !== 'string' || [...text].length > CHARACTERS_MAX || !text.isWellFormed()) {
      throw new VaultError('invalid_request', {
        field,
        expected: 'must have texts of at most 500 characters',
      });
    }
    if ([name, text, plainOf(name), plainOf(text)].some((part) => maskNumbersIn(part) !== part)) {
      throw new VaultError('metadata_sensitive', { field });
    }
    metadata[name] = text;
  }
  return value.size === 0 ? undefined : metadata;
}

/** One name with the text that an item must have under it. */
export type MetadataPair = readonly [name: string, text: string];

/** Whether metadata has all of these pairs. */
export function hasPairs(metadata: ItemMetadata | undefined, pairs: readonly MetadataPair[]): boolean {
  return pairs.every(
    ([name, text]) => metadata !== undefined && Object.hasOwn(metadata, name) && metadata[name] === text,
  );
}
