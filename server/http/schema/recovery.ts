import { type Static, Type } from '@sinclair/typebox';
import { ChosenPassphrase, Passphrase, Recipient, User } from './common.ts';
import { EXPECTED } from './kinds.ts';

/** The fewest shares that may open a key, and the most that there may be. */
const SHARES_MIN = 2;
const SHARES_MAX = 16;
/** Far longer than a share is, so that what is not one is refused as such. */
const SHARE_CHARACTERS_MAX = 1024;

function Threshold() {
  return Type.Integer({
    minimum: SHARES_MIN,
    maximum: SHARES_MAX,
    description: 'How many shares open the key.',
    examples: [2],
  });
}

export const CreateRecoveryBody = Type.Object(
  {
    user: User,
    passphrase: Passphrase('The passphrase of the key.'),
    recipients: Type.Array(Recipient, {
      minItems: SHARES_MIN,
      maxItems: SHARES_MAX,
      description: 'Who gets a share each: different recipients of age.',
      examples: [
        [
          'age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm',
          'age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg',
          'age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj',
        ],
      ],
      [EXPECTED]: `must be a list of ${SHARES_MIN} to ${SHARES_MAX} recipients of age`,
    }),
    threshold: Threshold(),
  },
  { $id: 'CreateRecovery' },
);
export type CreateRecoveryBody = Static<typeof CreateRecoveryBody>;

export const RecoveryQuery = Type.Object({ user: User });

export const RemoveRecoveryBody = Type.Object(
  { user: User, passphrase: Passphrase('The passphrase of the key.') },
  { $id: 'DeleteRecovery' },
);

export const RecoverBody = Type.Object(
  {
    user: User,
    shares: Type.Array(
      Type.String({
        maxLength: SHARE_CHARACTERS_MAX,
        description: 'What `age -d` gives for a share.',
        'x-secret': true,
        [EXPECTED]: `must be a text of at most ${SHARE_CHARACTERS_MAX} characters`,
      }),
      {
        minItems: 1,
        maxItems: SHARES_MAX,
        description: 'As many different shares as `threshold` says, or more.',
        [EXPECTED]: `must be a list of 1 to ${SHARES_MAX} shares`,
      },
    ),
    new_passphrase: Type.Optional(ChosenPassphrase('The new passphrase; generated if omitted.')),
  },
  { $id: 'RecoverKey' },
);
export type RecoverBody = Static<typeof RecoverBody>;

export const Recovery = Type.Object(
  {
    user: User,
    threshold: Threshold(),
    shares: Type.Array(
      Type.Object({
        recipient: Recipient,
        share: Type.String({
          description: 'A text in the age format (armored), which the recipient opens with `age -d`.',
          examples: ['-----BEGIN AGE ENCRYPTED FILE-----\n…\n-----END AGE ENCRYPTED FILE-----\n'],
        }),
      }),
      { description: 'One for each recipient, in the order given.' },
    ),
  },
  { $id: 'Recovery', description: 'The recovery of a key: shares that only their recipients can open.' },
);
export type Recovery = Static<typeof Recovery>;
