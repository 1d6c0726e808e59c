/** What callers keep beside an item to find it by, in names and texts of their own. */
import { VaultError } from '../../core/errors.ts';
import type { JsonValue } from '../json/json.ts';
import { maskNumbersIn } from './found-numbers.ts';

/** Names and texts; an object without a prototype. */
export type ItemMetadata = Readonly<Record<string, string>>;

const MEMBERS_MAX = 32;
const CHARACTERS_MAX = 500;
const NAME = /^[A-Za-z0-9_.-]{1,40}$/;

/** A text with ordinary digits, and without what cannot be seen: both come along when a number is copied. */
function plainOf(text: string): string {
  return text.normalize('NFKC').replaceAll(/\p{Cf}/gu, '');
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
    if ([name, text, plainOf(text)].some((part) => maskNumbersIn(part) !== part)) {
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
