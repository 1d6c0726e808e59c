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

/** Keeps a token that another vault made, such that no token of this vault can take its place. */
function keepToken(tokenKey: Uint8Array, number: string, token: string, reference?: string): ChosenToken {
  const algorithm = keptAlgorithm(token, number);
  if (algorithm === undefined) {
    throw new VaultError('invalid_request', {
      field: 'query.token',
      expected: 'must have the form of a token that a vault makes of this number',
    });
  }
  const identity = isClashProne(algorithm, number) ? identityTag(tokenKey, number, reference) : EMPTY;
  return { token, candidate: 0, identity };
}

/** Returns a random token, or the same one for the same seed. */
function uuidOf(seed: string | undefined): string {
  return formatUuid(
    seed === undefined ? randomBytes(UUID_BYTES) : sha256(utf8(`token ${seed}`)).subarray(0, UUID_BYTES),
  );
}

export function chooseToken(tokenKey: Uint8Array, number: string, params: StoreParams): ChosenToken {
  if (params.token !== undefined) {
    return keepToken(tokenKey, number, params.token, params.reference);
  }
  const parsed = parseAlgorithm(params.algorithm);
  if (!parsed) {
    throw new VaultError('invalid_request', {
      field: 'query.algorithm',
      expected: 'must be a format of tokens',
    });
  }
  if (parsed.kind === 'uuid') {
    return { token: uuidOf(params.seed), candidate: 0, identity: EMPTY };
  }
  // Without a token key the tokens could be guessed by anybody.
  if (tokenKey.length === 0) {
    throw new IntegrityError('key');
  }
  for (let candidate = params.candidate; candidate < params.candidate + CANDIDATES_MAX; candidate++) {
    const token = formatToken(parsed, number, tokenDigest(tokenKey, number, params.reference, candidate));
    if (token !== undefined) {
      const identity = isClashProne(parsed, number) ? identityTag(tokenKey, number, params.reference) : EMPTY;
      return { token, candidate, identity };
    }
  }
  throw new VaultError('internal');
}
