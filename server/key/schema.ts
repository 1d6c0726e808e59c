import { type Static, Type } from '@sinclair/typebox';
import { ChosenPassphrase, NextToken, Passphrase, Recipient, User } from '../schema/common.ts';
import { EXPECTED, PreferredLimit } from '../schema/kinds.ts';

export const KeyListQuery = Type.Object({
  limit: PreferredLimit(65536),
  next_token: Type.Optional(NextToken),
});

export const KeyRemoveQuery = Type.Object({
  user: User,
  safe: Type.Boolean({
    default: true,
    description:
      'Whether the deletion fails while the key contains data. With false, all data of the key is permanently lost.',
  }),
});

function Summary(more: string) {
  return Type.Boolean({
    description: `Whether brand, last four digits and expiry of each card can be listed without the passphrase, and found by the last four digits. Whoever has the database and the master key then has them too. ${more}`,
    examples: [true],
  });
}

export const CreateKeyBody = Type.Object(
  {
    user: User,
    passphrase: Type.Optional(
      ChosenPassphrase('The passphrase of the key; generated if omitted. It is never stored.'),
    ),
    summary: Type.Optional(Summary('Default: false.')),
  },
  {
    $id: 'CreateKey',
    examples: [{ key: 'customers-2026', passphrase: 'correct-horse-battery-staple-9Zq4' }],
  },
);

export const ChangePassphraseBody = Type.Object(
  {
    user: User,
    passphrase: Passphrase('The current passphrase of the key.'),
    new_passphrase: Type.Optional(
      ChosenPassphrase(
        'The new passphrase; generated if omitted. With `summary` alone the passphrase stays as it is.',
      ),
    ),
    summary: Type.Optional(
      Summary(
        'It counts for what is stored from then on; `POST /v1/key/reseal` changes the items before. It needs the rights to read unmasked.',
      ),
    ),
  },
  {
    $id: 'ChangePassphrase',
    examples: [
      {
        key: 'customers-2026',
        passphrase: 'correct-horse-battery-staple-9Zq4',
        new_passphrase: 'another-long-passphrase-Zq4-kT9',
      },
    ],
  },
);

export const KeyWithPassphrase = Type.Object(
  {
    user: User,
    passphrase: Type.String({
      description: 'The passphrase of the key. Only this reply contains it; the vault does not store it.',
      'x-secret': true,
      examples: ['correct-horse-battery-staple-9Zq4'],
    }),
    summary: Type.Optional(
      Type.Boolean({
        description: 'Whether the key has summaries from now on, where a change has set it.',
        examples: [true],
      }),
    ),
  },
  { $id: 'KeyWithPassphrase', description: 'A vault key with its passphrase, which is shown only once.' },
);

export const Key = Type.Object({ user: User }, { $id: 'Key', description: 'A vault key.' });
export type Key = Static<typeof Key>;

export const KeyList = Type.Array(Key, { description: 'In ascending order of user.' });

/** The smallest number of shares that may open a key, and the largest number of its shares. */
const SHARES_MIN = 2;
const SHARES_MAX = 16;
/** Far longer than a share, so that other texts are rejected as wrong shares. */
const SHARE_CHARACTERS_MAX = 1024;

const Threshold = Type.Integer({
  minimum: SHARES_MIN,
  maximum: SHARES_MAX,
  description: 'How many shares open the key.',
  examples: [2],
});

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
    threshold: Threshold,
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
        examples: [['vss1.staging.…', 'vss1.staging.…']],
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
    threshold: Threshold,
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
