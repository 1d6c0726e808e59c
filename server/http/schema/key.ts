import { type Static, Type } from '@sinclair/typebox';
import { ChosenPassphrase, NextToken, Passphrase, User } from './common.ts';
import { PreferredLimit } from './kinds.ts';

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

export const CreateKeyBody = Type.Object(
  {
    user: User,
    passphrase: Type.Optional(
      ChosenPassphrase('The passphrase of the key; generated if omitted. It is never stored.'),
    ),
    summary: Type.Optional(
      Type.Boolean({
        description:
          'Whether brand, last four digits and expiry of each card can be listed without the passphrase. Whoever has the database and the master key then has them too. It cannot be changed later.',
      }),
    ),
  },
  {
    $id: 'CreateKey',
    examples: [{ user: 'customers-2026', passphrase: 'correct-horse-battery-staple-9Zq4' }],
  },
);

export const ChangePassphraseBody = Type.Object(
  {
    user: User,
    passphrase: Passphrase('The current passphrase of the key.'),
    new_passphrase: Type.Optional(ChosenPassphrase('The new passphrase; generated if omitted.')),
  },
  {
    $id: 'ChangePassphrase',
    examples: [
      {
        user: 'customers-2026',
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
  },
  { $id: 'KeyWithPassphrase', description: 'A vault key with its passphrase, which is shown only once.' },
);

export const Key = Type.Object({ user: User }, { $id: 'Key', description: 'A vault key.' });
export type Key = Static<typeof Key>;

export const KeyList = Type.Array(Key, { description: 'In ascending order of user.' });
