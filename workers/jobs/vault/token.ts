import { VaultError } from '../../../server/core/errors.ts';
import {
  formatToken,
  isClashProne,
  keptAlgorithm,
  parseAlgorithm,
} from '../../../server/domain/card/token-format.ts';
import { identityTag, tokenDigest } from '../../crypto/item/lookup.ts';
import { EMPTY, IntegrityError, utf8 } from '../../crypto/primitives/bytes.ts';
import { formatUuid, randomBytes, UUID_BYTES } from '../../crypto/primitives/random.ts';
import { sha256 } from '../../crypto/primitives/symmetric.ts';
import type { StoreParams } from './jobs.ts';

/** Skipped candidates in a row that cannot happen randomly (each is skipped with less than 3% probability). */
const CANDIDATES_MAX = 64;

/** A token, with the number of the candidate that it was, and its identity tag (may be empty). */
export interface ChosenToken {
  readonly token: string;
  readonly candidate: number;
  readonly identity: Uint8Array;
}

/** Returns a random token, or the same one for the same seed. */
function uuidOf(seed: string | undefined): string {
  return formatUuid(
    seed === undefined ? randomBytes(UUID_BYTES) : sha256(utf8(`token ${seed}`)).subarray(0, UUID_BYTES),
  );
}

function invalidAt(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

/** Chooses the token of a number. A token that another vault made is kept, such that no token of this vault takes its place. */
export function chooseToken(tokenKey: Uint8Array, number: string, params: StoreParams): ChosenToken {
  const { token: kept, reference, seed } = params;
  const algorithm = kept === undefined ? parseAlgorithm(params.algorithm) : keptAlgorithm(kept, number);
  if (algorithm === undefined) {
    throw kept === undefined
      ? invalidAt('query.algorithm', 'must be a format of tokens')
      : invalidAt('query.token', 'must have the form of a token that a vault makes of this number');
  }
  const identityOf = () =>
    isClashProne(algorithm, number) ? identityTag(tokenKey, number, reference) : EMPTY;
  if (kept !== undefined) {
    return { token: kept, candidate: 0, identity: identityOf() };
  }
  if (algorithm.kind === 'uuid') {
    return { token: uuidOf(seed), candidate: 0, identity: EMPTY };
  }
  // Without a token key the tokens could be guessed.
  if (tokenKey.length === 0) {
    throw new IntegrityError('key');
  }
  for (let candidate = params.candidate; candidate < params.candidate + CANDIDATES_MAX; candidate++) {
    const token = formatToken(algorithm, number, tokenDigest(tokenKey, number, reference, candidate));
    if (token !== undefined) {
      return { token, candidate, identity: identityOf() };
    }
  }
  throw new VaultError('internal');
}
