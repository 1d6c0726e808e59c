import { type Static, Type } from '@sinclair/typebox';
import { type Role as AnyRole, ROLES } from '../../core/roles.ts';
import { ExpiryTime, Timestamp, User } from '../../schema/common.ts';
import { EXPECTED } from '../../schema/kinds.ts';
import { Scope } from '../credential/schema.ts';

const KEYS_MAX = 100;
export const NAME_CHARACTERS_MAX = 128;

export const Role = Type.Unsafe<AnyRole>(
  Type.Union(
    ROLES.map((role) => Type.Literal(role)),
    {
      description: 'What the person may do: a fixed set of scopes, see `GET /v1/person/role`.',
      examples: ['support'],
    },
  ),
);

const PersonId = Type.String({
  description: 'Identifier of the person.',
  examples: ['pers_Zm9vYmFyYmF6cXV4cXV1eA'],
});

export const PersonPath = Type.Object({ id: PersonId });

export const PasskeyPath = Type.Object({
  id: PersonId,
  passkey_id: Type.String({ description: 'Identifier of the passkey.', examples: ['Zm9vYmFyYmF6cXV4'] }),
});

const RIGHTS = {
  name: Type.String({
    minLength: 1,
    maxLength: NAME_CHARACTERS_MAX,
    pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$',
    description: 'The name of the person, shown in lists and logs.',
    examples: ['Ada Lovelace'],
    [EXPECTED]: `must have 1 to ${NAME_CHARACTERS_MAX} characters, none of them a control character`,
  }),
  role: Role,
  keys: Type.Optional(
    Type.Array(User, {
      minItems: 1,
      maxItems: KEYS_MAX,
      description: 'The vault keys that the person may use; all if omitted.',
      examples: [['customers-2026']],
    }),
  ),
};

const Unmasked = Type.Boolean({
  description:
    'Whether the person sees numbers unmasked; by default it does not. Only accounts with unmasked output can have such people.',
});

export const PersonInput = Type.Object(
  { ...RIGHTS, unmasked: Type.Optional(Unmasked) },
  { $id: 'PersonInput', description: 'Who the person is, and what it may do.' },
);
export type PersonInput = Static<typeof PersonInput>;

const MEMBERS = { id: PersonId, ...RIGHTS, unmasked: Unmasked };

export const InvitedPerson = Type.Object(
  {
    ...MEMBERS,
    invitation: Type.String({
      description:
        'A URL of the console at which the person adds a passkey, once. Only this reply contains it; the vault keeps a digest. Give it to nobody else.',
      'x-secret': true,
      examples: ['https://vault.example/console#/join?token=dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ'],
    }),
    expires_at: ExpiryTime('When the invitation expires.'),
  },
  { $id: 'InvitedPerson', description: 'A person with a new invitation.' },
);

const Passkey = Type.Object(
  {
    id: Type.String({ description: 'Its identifier.', examples: ['Zm9vYmFyYmF6cXV4'] }),
    name: Type.String({ description: 'What its owner calls it.', examples: ['MacBook'] }),
    created_at: Timestamp('When it was added.'),
  },
  { description: 'A passkey, without its key.' },
);

/** The members of a person as it is shown. */
export const SHOWN_PERSON = {
  ...MEMBERS,
  oidc: Type.Optional(
    Type.Literal(true, { description: 'The person signs in with OpenID Connect. Omitted for others.' }),
  ),
  last_seen_at: Type.Union(
    [Timestamp('When the person was signed in last, to within a minute.'), Type.Null()],
    {
      description: 'Null for a person who has never signed in.',
    },
  ),
  passkeys: Type.Array(Passkey, { description: 'The passkeys of the person, the oldest first.' }),
};

export const Person = Type.Object(SHOWN_PERSON, {
  $id: 'Person',
  description: 'Somebody who signs in at the console and acts for the account.',
});
export type Person = Static<typeof Person>;

export const PersonList = Type.Array(Person, { $id: 'PersonList', description: 'The oldest first.' });

export const RoleList = Type.Array(
  Type.Object({ role: Role, scopes: Type.Array(Scope, { description: 'What the role may do.' }) }),
  { $id: 'RoleList', description: 'The roles, those with the most rights first.' },
);
