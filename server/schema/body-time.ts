import { Type } from '@sinclair/typebox';
import { VaultError } from '../core/errors.ts';
import { parseFilterTime } from '../domain/text/time.ts';
import { EXPECTED, PUBLISHED } from './kinds.ts';

const TIME_EXPECTED = 'must be a time as in RFC 3339, such as `2026-01-31T12:00:00Z`';

/** A time filter of a body, which the service parses with `bodyTimeOf`. */
export function BodyTime(description: string) {
  return Type.Optional(
    Type.String({
      description: `${description} A time as in RFC 3339.`,
      examples: ['2026-01-31T12:00:00Z'],
      maxLength: 64,
      [EXPECTED]: TIME_EXPECTED,
      [PUBLISHED]: { format: 'date-time' },
    }),
  );
}

/** The time of a filter of a body in ms since 1970; undefined if it is left out. Throws `invalid_request`. */
export function bodyTimeOf(name: string, text: string | undefined): number | undefined {
  const time = text === undefined ? undefined : parseFilterTime(text);
  if (text !== undefined && time === undefined) {
    throw new VaultError('invalid_request', { field: `body.${name}`, expected: TIME_EXPECTED });
  }
  return time;
}
