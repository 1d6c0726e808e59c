import { type Static, Type } from '@sinclair/typebox';
import { BodyTime } from '../schema/body-time.ts';
import { Recipient, User } from '../schema/common.ts';
import { EXPECTED, PUBLISHED } from '../schema/kinds.ts';
import { ReferencePrefix } from '../vault/schema.ts';

const RECIPIENTS_MAX = 20;
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
