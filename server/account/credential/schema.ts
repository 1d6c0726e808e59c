import { type Static, Type } from '@sinclair/typebox';
import { type Scope as AnyScope, SCOPES } from '../../core/scopes.ts';
import { ExpiryTime, Timestamp, User } from '../../schema/common.ts';
import { EXPECTED } from '../../schema/kinds.ts';

/** Keys, ranges and hosts of one credential. */
const ENTRIES_MAX = 100;
const NAME_CHARACTERS_MAX = 128;

/** The type also has the scope of the operator's credentials, which no request can name. */
export const Scope = Type.Unsafe<AnyScope>(
  Type.Union(
    SCOPES.map((scope) => Type.Literal(scope)),
    {
      description:
        'One thing that a credential may do. `rule:write`, `form:write` and `retrieve:write` reach card data.',
      examples: ['proxy:send'],
    },
  ),
);

const CredentialId = Type.String({
  description: 'Identifier of the credential.',
  examples: ['cred_Zm9vYmFyYmF6cXV4cXV1eA'],
});

export const CredentialPath = Type.Object({ id: CredentialId });

const Scopes = Type.Array(Scope, {
  minItems: 1,
  maxItems: SCOPES.length,
  description:
    'What it may do. Each operation names the scope that it needs. `rule:write`, `form:write` and `retrieve:write` reach card data: through rules that others apply, through scripts of forms, and through endpoints that read.',
  examples: [['proxy:send', 'job:read']],
});

const LIMITS = {
  keys: Type.Optional(
    Type.Array(User, {
      minItems: 1,
      maxItems: ENTRIES_MAX,
      description: 'The vault keys that it may use; all if omitted.',
      examples: [['customers-2026']],
    }),
  ),
  ips: Type.Optional(
    Type.Array(Type.String({ description: 'An address or a CIDR.' }), {
      minItems: 1,
      maxItems: ENTRIES_MAX,
      description: 'The addresses that it may be used from; any if omitted.',
      examples: [['192.0.2.0/24']],
    }),
  ),
  hosts: Type.Optional(
    Type.Array(Type.String({ description: 'A host name, a wildcard below one, or an address.' }), {
      minItems: 1,
      maxItems: ENTRIES_MAX,
      description:
        'The hosts that it may send data to with the proxy, within those of the account; all of these if omitted. Webhooks are not limited by it.',
      examples: [['api.payments.example', '*.acquirer.example']],
    }),
  ),
};

const Unmasked = Type.Boolean({
  description:
    'Whether it sees numbers unmasked; by default it does not. Only accounts with unmasked output can have such credentials.',
});

/** A name for people: of any printable characters. */
const Name = Type.String({
  minLength: 1,
  maxLength: NAME_CHARACTERS_MAX,
  pattern: '^[^\\x00-\\x1f\\x7f]*$',
  description: 'What it is for, shown in lists.',
  examples: ['charge worker'],
  [EXPECTED]: `must have 1 to ${NAME_CHARACTERS_MAX} characters, none of them a control character`,
});

export const CreateCredential = Type.Object(
  {
    name: Name,
    scopes: Scopes,
    unmasked: Type.Optional(Unmasked),
    ...LIMITS,
    expires_in: Type.Optional(
      Type.String({
        description:
          'Its lifetime: a duration such as `12h` or `P90D`, at most 10 years. Default: unlimited.',
        examples: ['P90D'],
      }),
    ),
  },
  { $id: 'CreateCredential', description: 'What the credential may do, and for how long.' },
);
export type CreateCredential = Static<typeof CreateCredential>;

const MEMBERS = {
  id: CredentialId,
  name: Name,
  scopes: Scopes,
  unmasked: Unmasked,
  ...LIMITS,
  created_at: Timestamp('When it was made.'),
  expires_at: Type.Optional(ExpiryTime('When it expires; omitted if it does not.')),
  last_used_at: Type.Optional(
    Timestamp('When it was used last, to within a minute; omitted before its first use.'),
  ),
};

export const Credential = Type.Object(MEMBERS, {
  $id: 'Credential',
  description: 'A credential of the account, without its secret.',
});
export type Credential = Static<typeof Credential>;

export const CredentialList = Type.Array(Credential, {
  $id: 'CredentialList',
  description: 'The oldest first.',
});

export const CredentialWithSecret = Type.Object(
  {
    ...MEMBERS,
    secret: Type.String({
      description:
        'Sent as `Authorization: Bearer …`, or as the password of Basic authentication with the id as name. Only this reply contains it; the vault keeps a digest.',
      'x-secret': true,
      examples: ['vak1_dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ'],
    }),
  },
  { $id: 'CredentialWithSecret', description: 'A credential with its new secret.' },
);

export const RollCredential = Type.Object(
  {
    overlap: Type.Optional(
      Type.String({
        description:
          'How long the secret before this one can still be used: a duration such as `15m`, at most 7 days. It ends at once if omitted.',
        examples: ['24h'],
      }),
    ),
  },
  { $id: 'RollCredential', description: 'How long the old secret lives on.' },
);
