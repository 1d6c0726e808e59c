import { type Static, Type } from '@sinclair/typebox';
import { Recipient, User } from '../schema/common.ts';
import { EXPECTED, PUBLISHED } from '../schema/kinds.ts';
import { ReferencePrefix } from '../vault/schema.ts';

const RECIPIENTS_MAX = 20;
export const TIME_EXPECTED = 'must be a time as in RFC 3339, such as `2026-01-31T12:00:00Z`';

/** A time filter of a body, which the service parses. */
function BodyTime(description: string) {
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

export const ExportRequest = Type.Object(
  {
    user: User,
    recipients: Type.Array(Recipient, {
      minItems: 1,
      maxItems: RECIPIENTS_MAX,
      description: 'Who can open the file: the holder of the identity of any of them.',
      examples: [['age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm']],
      [EXPECTED]: `must be a list of 1 to ${RECIPIENTS_MAX} recipients of age`,
    }),
    reference_prefix: Type.Optional(ReferencePrefix),
    stored_after: BodyTime('Only items stored at or after this time.'),
    stored_before: BodyTime('Only items stored before this time.'),
  },
  { $id: 'ExportRequest' },
);
export type ExportRequest = Static<typeof ExportRequest>;

export const ExportFile = Type.String({
  description: 'A file in the age format (age-encryption.org/v1).',
  [PUBLISHED]: { format: 'binary' },
});
