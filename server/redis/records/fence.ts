import { VaultError } from '../../core/errors.ts';

/** The length of the authentication tag at the end of a record or a log entry. */
export const TAG_BYTES = 16;

/**
 * `closed`: a deletion of the key is in progress; `stale`: the generation is no longer the newest, or whether the key has
 * summaries has changed.
 */
export type Fenced = { readonly kind: 'closed' | 'stale' };

export function asFenced(word: string): Fenced {
  if (word === 'closed' || word === 'stale') {
    return { kind: word };
  }
  throw new VaultError('integrity_failed');
}

/** The authentication tag of a metadata record, which identifies its version. */
export function tagOf(meta: Uint8Array): Uint8Array {
  return meta.subarray(meta.length - TAG_BYTES);
}
