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
      'Whether to refuse while the key still holds data. With false, all data under the key is lost for good.',
  }),
});

export const CreateKeyBody = Type.Object(
  {
    user: User,
    passphrase: Type.Optional(
      ChosenPassphrase('The passphrase to lock the key with; generated when left out. It is never stored.'),
    ),
  },
  { $id: 'CreateKey' },
);

export const ChangePassphraseBody = Type.Object(
  {
    user: User,
    passphrase: Passphrase('The passphrase that opens the key now.'),
    new_passphrase: Type.Optional(ChosenPassphrase('The passphrase from now on; generated when left out.')),
  },
  { $id: 'ChangePassphrase' },
);

export const KeyWithPassphrase = Type.Object(
  {
    user: User,
    passphrase: Type.String({
      description: 'The passphrase of the key. It is shown only here and stored nowhere.',
      'x-secret': true,
      examples: ['correct-horse-battery-staple-9Zq4'],
    }),
  },
  { $id: 'KeyWithPassphrase', description: 'A vault key with its passphrase, which is shown this once.' },
);

export const Key = Type.Object({ user: User }, { $id: 'Key', description: 'A vault key.' });
export type Key = Static<typeof Key>;

export const KeyList = Type.Array(Key, { description: 'In ascending order of user.' });
