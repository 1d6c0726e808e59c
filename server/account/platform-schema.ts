import { type Static, Type } from '@sinclair/typebox';
import { Rate, Timestamp } from '../schema/common.ts';
import { EXPECTED, PUBLISHED } from '../schema/kinds.ts';

const HOSTS_MAX = 100;

/** Names of new accounts: not the form of a credential's id, nor a segment that URLs cannot contain. */
const NewName = Type.String({
  pattern: '^(?!(?:\\.{1,2}|cred_[A-Za-z0-9_-]{22})$)[A-Za-z0-9._@-]{1,128}$',
  description:
    'The name of the account, with which it signs in. A name that an account has, or that a deleted one had: 409.',
  examples: ['shop-4711'],
  [EXPECTED]:
    'must have 1 to 128 letters, digits or characters of `._@-`, and must not be `.`, `..` or have the form of the id of a credential',
  [PUBLISHED]: {
    pattern: '^[A-Za-z0-9._@-]{1,128}$',
    not: { pattern: '^(?:\\.{1,2}|cred_[A-Za-z0-9_-]{22})$' },
  },
});

const Name = Type.String({ description: 'The name of the account.', examples: ['shop-4711'] });

/** The path of an account. Any other text is an account that does not exist. */
export const AccountPath = Type.Object({ name: Name });

const Unmasked = Type.Boolean({ description: 'Whether it sees numbers unmasked.' });
const Paying = Type.Boolean({
  description: 'Whether it is paying, and may read the compliance certificate.',
});
const Hosts = Type.Array(Type.String({ description: 'A host name, a wildcard below one, or an address.' }), {
  minItems: 1,
  maxItems: HOSTS_MAX,
  description: 'The hosts that it may send data to; any if omitted.',
  examples: [['api.payments.example', '*.acquirer.example']],
});
const OwnRate = Rate(
  'The requests of the account in all, its endpoints included: a number per `s`, `m` or `h`. More are rejected with 429 and `Retry-After`. No limit of its own if omitted.',
  '600/m',
);

export const CreateAccount = Type.Object(
  {
    name: NewName,
    unmasked: Type.Optional(Unmasked),
    paying: Type.Optional(Paying),
    hosts: Type.Optional(Hosts),
    rate: Type.Optional(OwnRate),
  },
  { $id: 'CreateAccount', description: 'The name of the account, and what it may do.' },
);
export type CreateAccount = Static<typeof CreateAccount>;

export const ChangeAccount = Type.Object(
  {
    unmasked: Type.Optional(Unmasked),
    paying: Type.Optional(Paying),
    hosts: Type.Optional(
      Type.Union([Hosts, Type.Null()], { description: 'The hosts that it may send data to; null: any.' }),
    ),
    rate: Type.Optional(
      Type.Union([OwnRate, Type.Null()], {
        description: 'The requests of the account in all; null: no limit of its own.',
      }),
    ),
  },
  { $id: 'ChangeAccount', description: 'What changes; anything else stays as it is.' },
);
export type ChangeAccount = Static<typeof ChangeAccount>;

const RIGHTS = {
  unmasked: Unmasked,
  paying: Paying,
  hosts: Type.Optional(Hosts),
  rate: Type.Optional(OwnRate),
  suspended: Type.Boolean({ description: 'Whether its requests are refused, and its jobs wait.' }),
  created_at: Timestamp('When it was made.'),
};

export const Account = Type.Object({ name: Name, ...RIGHTS }, { $id: 'Account', description: 'An account.' });
export type Account = Static<typeof Account>;

export const AccountList = Type.Array(Account, {
  $id: 'AccountList',
  description: 'In ascending order of name.',
});

const Password = Type.String({
  description: 'Its password, with 256 bits of randomness. Only this reply contains it.',
  'x-secret': true,
  examples: ['dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBwYXNzd29yZA'],
});

export const NewAccount = Type.Object(
  { name: Name, password: Password, ...RIGHTS },
  { $id: 'NewAccount', description: 'An account with its password.' },
);

export const ReplacedPassword = Type.Object(
  { name: Name, password: Password },
  { $id: 'ReplacedPassword', description: 'An account with its new password.' },
);
