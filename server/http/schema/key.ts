import { type Static, Type } from '@sinclair/typebox';
import { ChosenPassphrase, NextToken, Passphrase, User } from './common.ts';
import { PreferredLimit } from './kinds.ts';

/** The query of GET /key. */
export const KeyListQuery = Type.Object({
  limit: PreferredLimit(65536),
  next_token: Type.Optional(NextToken),
});

/** The query of DELETE /key. */
export const KeyRemoveQuery = Type.Object({
  user: User,
  safe: Type.Boolean({
    default: true,
    description:
      'Whether the deletion fails while the key contains data. With false, all data of the key is permanently lost.',
  }),
});

/** The body of POST /key. */
export const CreateKeyBody = Type.Object(
  {
    user: User,
    passphrase: Type.Optional(
      ChosenPassphrase('The passphrase of the key; generated if omitted. It is never stored.'),
    ),
  },
  { $id: 'CreateKey' },
);

/** The body of PUT /key. */
export const ChangePassphraseBody = Type.Object(
  {
    user: User,
    passphrase: Passphrase('The current passphrase of the key.'),
    new_passphrase: Type.Optional(ChosenPassphrase('The new passphrase; generated if omitted.')),
  },
  { $id: 'ChangePassphrase' },
);

/** The reply of POST /key and PUT /key. */
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

/** A key in a list. */
export const Key = Type.Object({ user: User }, { $id: 'Key', description: 'A vault key.' });
export type Key = Static<typeof Key>;

/** The reply of GET /key. */
export const KeyList = Type.Array(Key, { description: 'In ascending order of user.' });
