import { FormatRegistry, type Static, Type } from '@sinclair/typebox';
import { countCharacters } from '../domain/text/identifiers.ts';
import { ALGORITHM, Identifier } from '../schema/common.ts';
import { EXPECTED, PUBLISHED } from '../schema/kinds.ts';
import { Scope } from './credential/schema.ts';
import { Role } from './person/schema.ts';

const SignedInCredential = Type.Object(
  {
    id: Type.String({ description: 'Its identifier.' }),
    scopes: Type.Array(Scope, { description: 'What it may do.' }),
    keys: Type.Optional(
      Type.Array(Type.String(), { description: 'The vault keys that it may use. Omitted: all.' }),
    ),
    unmasked: Type.Boolean({ description: 'Whether it sees whole numbers.' }),
  },
  {
    $id: 'SignedInCredential',
    description: 'The API credential that signed in, and its rights. Omitted for a password.',
  },
);

const WhoPerson = Type.Object(
  {
    id: Type.String({ description: 'Its identifier.' }),
    name: Type.String({ description: 'Its name.' }),
    role: Role,
    scopes: Type.Array(Scope, { description: 'What it may do.' }),
    keys: Type.Optional(
      Type.Array(Type.String(), { description: 'The vault keys that it may use. Omitted: all.' }),
    ),
    unmasked: Type.Boolean({ description: 'Whether it sees whole numbers.' }),
  },
  {
    $id: 'SignedInPerson',
    description: 'The person who has signed in at the console, and its rights. Omitted for others.',
  },
);

export const WhoAmI = Type.Object(
  {
    user: Type.String({ description: 'The name of the account.', examples: ['shop'] }),
    environment: Type.Union([Type.Literal('staging'), Type.Literal('production')], {
      description: 'Staging stores published test numbers; production rejects them.',
    }),
    api_version: Type.String({ description: 'The version of the server.', examples: ['0.1.0'] }),
    backwards_compatibility: Type.Literal('v1', {
      description: 'The version of the API that the server is compatible with.',
    }),
    credential: Type.Optional(SignedInCredential),
    person: Type.Optional(WhoPerson),
  },
  { $id: 'WhoAmI', description: 'The account of the credentials, and the server.' },
);
export type WhoAmI = Static<typeof WhoAmI>;

const PASSWORD_CHARACTERS_MAX = 4096;
/** A longer one, in base64 with the name before it, would not fit into the headers of a request. */
const PASSWORD_BYTES_MAX = 8192;

const encoder = new TextEncoder();

FormatRegistry.Set(
  'new-password',
  (text) =>
    text !== '' &&
    text.isWellFormed() &&
    countCharacters(text) <= PASSWORD_CHARACTERS_MAX &&
    encoder.encode(text).length <= PASSWORD_BYTES_MAX,
);

function NewPassword(description: string) {
  return Type.String({
    format: 'new-password',
    [EXPECTED]: `must be a text of 1 to ${PASSWORD_CHARACTERS_MAX} characters and at most ${PASSWORD_BYTES_MAX} bytes`,
    description,
    'x-secret': true,
    examples: ['another-long-password-Zq4-kT9'],
    [PUBLISHED]: { format: 'password', minLength: 1, maxLength: PASSWORD_CHARACTERS_MAX },
  });
}

export const ChangePasswordQuery = Type.Object({
  new_password: Type.Optional(NewPassword('The new password. Prefer the body.')),
});

export const ChangePasswordBody = Type.Object(
  {
    new_password: Type.Optional(
      NewPassword(
        'The new password: any text of 1 to 4096 characters and at most 8192 bytes of UTF-8. Generated if omitted.',
      ),
    ),
    overlap: Type.Optional(
      Type.String({
        description:
          'How long the old password can still be used: a duration such as `15m`, at most 7 days. It ends at once if omitted.',
        examples: ['24h'],
      }),
    ),
  },
  { $id: 'ChangePassword' },
);

export const AccountPassword = Type.Object(
  {
    user: Type.String({ description: 'The name of the account.', examples: ['shop'] }),
    password: Type.String({
      description: 'The new password. Only this reply contains it.',
      'x-secret': true,
      examples: ['another-long-password-Zq4-kT9'],
    }),
  },
  { $id: 'AccountPassword', description: 'An account with its new password, which is shown only once.' },
);

const LIMIT_MAX = Number.MAX_SAFE_INTEGER;

/** The preferences that the vault itself acts on, with what holds until they are set. */
export const SYSTEM_PREFERENCES = Type.Object({
  default_algorithm: Type.String({ ...ALGORITHM, default: 'full' }),
  default_limit: Type.Union(
    [Type.Integer({ minimum: 1, maximum: LIMIT_MAX }), Type.Integer({ minimum: -LIMIT_MAX, maximum: -1 })],
    { default: 1024 },
  ),
  mask_fields: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { maxItems: 256, default: [] }),
  return_card_metadata: Type.Boolean({ default: false }),
  webhook_max_attempts: Type.Integer({ minimum: 1, maximum: 8, default: 8 }),
});

const PreferenceKey = Identifier('The name of the preference.');

export const PreferenceQuery = Type.Object({ key: PreferenceKey });

export const PreferenceReadQuery = Type.Object({ key: Type.Optional(PreferenceKey) });

/** The value of a preference; its text is kept, which a schema cannot do. */
const PreferenceValue = Type.Unknown({
  description:
    'Any JSON value of at most 4 KB, such as a string, a number, a boolean or a list. Numbers keep their exact text. Preferences that the vault uses must have the right type.',
  examples: ['luhn'],
});

export const SetPreference = Type.Object(
  { key: PreferenceKey, value: PreferenceValue },
  { $id: 'SetPreference' },
);

export const Preference = Type.Object(
  {
    key: PreferenceKey,
    value: PreferenceValue,
    is_default: Type.Boolean({ description: 'True if the account has not set it, and this is the default.' }),
  },
  { $id: 'Preference' },
);

const PreferenceList = Type.Array(Preference, {
  $id: 'PreferenceList',
  description: 'In ascending order of key. Preferences that the vault uses are always included.',
});

export const PreferencesReply = Type.Union([Preference, PreferenceList], {
  $id: 'PreferencesReply',
  description: 'With `key` that preference, otherwise all of them.',
});
