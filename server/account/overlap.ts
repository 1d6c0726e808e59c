import { VaultError } from '../core/errors.ts';
import { parseDuration } from '../domain/text/duration.ts';

const OVERLAP_MS_MAX = 7 * 24 * 60 * 60 * 1_000;

/** How long a replaced secret lives on, in ms; undefined when it is omitted, and the secret ends at once. */
export function overlapOf(overlap: string | undefined): number | undefined {
  if (overlap === undefined) {
    return undefined;
  }
  const ms = parseDuration(overlap);
  if (typeof ms !== 'number' || ms > OVERLAP_MS_MAX) {
    const expected = 'must be a duration such as `15m` or `P1D`, more than 0 and at most 7 days';
    throw new VaultError('invalid_request', { field: 'body.overlap', expected });
  }
  return ms;
}
