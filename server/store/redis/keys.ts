import type { Bucket } from '../records/name.ts';
import { RECORD_KINDS } from '../records/registry.ts';

type Kinds = typeof RECORD_KINDS;

/** How a key of each kind is named: a text, or a function that builds one. */
export const redisKeys = Object.fromEntries(
  Object.entries(RECORD_KINDS).map(([kind, { name }]) => [kind, name.make]),
  // `fromEntries` loses which kind has which name.
) as unknown as { readonly [Kind in keyof Kinds]: Kinds[Kind]['name']['make'] };

/** The bucket of a token: FNV-1a over its characters, fixed for the life of the vault. */
export function bucketOf(kid: string, token: string, buckets: number): Bucket {
  let hash = 0x811c9dc5;
  for (let i = 0; i < token.length; i++) {
    hash ^= token.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return { kid, number: (hash >>> 0) % buckets };
}
