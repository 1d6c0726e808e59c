import { type Static, Type } from '@sinclair/typebox';
import { EXPECTED } from '../../schema/kinds.ts';

/** Twice the length of the longest id of a credential (1,023 bytes) and more than any answer without attestation has. */
const ANSWER_CHARACTERS_MAX = 16_384;

/** Bytes in base64url without padding. */
function Base64Url(description: string, maxLength = ANSWER_CHARACTERS_MAX) {
  return Type.String({
    pattern: '^[A-Za-z0-9_-]+$',
    maxLength,
    description,
    examples: ['Zm9vYmFyYmF6cXV4cXV1eA'],
    [EXPECTED]: `must be base64url without padding, of at most ${maxLength} characters`,
  });
}

export const PasskeyId = Base64Url('Identifier of the passkey: the id of its WebAuthn credential.', 1_364);

const NAME_CHARACTERS_MAX = 128;

export const PasskeyName = Type.String({
  minLength: 1,
  maxLength: NAME_CHARACTERS_MAX,
  pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$',
  description: 'What its owner calls it, such as the device that keeps it. Default: `Passkey`.',
  examples: ['Laptop'],
  [EXPECTED]: `must have 1 to ${NAME_CHARACTERS_MAX} characters, none of them a control character`,
});

/** Browsers add members to answers; those that the vault does not use are ignored. */
const OPEN = { additionalProperties: true } as const;

const COMMON = {
  id: PasskeyId,
  rawId: PasskeyId,
  type: Type.Literal('public-key', { description: 'The kind of the credential.' }),
  clientExtensionResults: Type.Optional(
    Type.Object(
      {},
      {
        ...OPEN,
        description:
          'What extensions have found, without results of `prf`: they open what is wrapped under the passkey, and a request that has them is refused.',
      },
    ),
  ),
};

const ClientData = Base64Url('What the browser has signed for: ceremony, challenge and origin.');

/** `PublicKeyCredential.toJSON()` of a new passkey. */
export const NewPasskeyAnswer = Type.Object(
  {
    ...COMMON,
    response: Type.Object(
      {
        clientDataJSON: ClientData,
        attestationObject: Base64Url('The new passkey. An attestation in it is ignored.'),
        transports: Type.Optional(
          Type.Array(Type.String({ maxLength: 32 }), {
            maxItems: 16,
            description: 'How a browser reaches it.',
          }),
        ),
      },
      { ...OPEN, description: 'What the authenticator has answered.' },
    ),
  },
  {
    ...OPEN,
    $id: 'NewPasskeyAnswer',
    description: '`toJSON()` of the credential that `navigator.credentials.create()` has made.',
  },
);
export type NewPasskeyAnswer = Static<typeof NewPasskeyAnswer>;

/** `PublicKeyCredential.toJSON()` of a sign-in. */
export const PasskeyAnswer = Type.Object(
  {
    ...COMMON,
    response: Type.Object(
      {
        clientDataJSON: ClientData,
        authenticatorData: Base64Url('What the authenticator has signed for.'),
        signature: Base64Url('Its signature.'),
        userHandle: Type.Optional(
          Type.Union([Base64Url('The person, as the authenticator knows it.', 128), Type.Null()]),
        ),
      },
      { ...OPEN, description: 'What the authenticator has answered.' },
    ),
  },
  {
    ...OPEN,
    $id: 'PasskeyAnswer',
    description: '`toJSON()` of the credential that `navigator.credentials.get()` has found.',
  },
);
export type PasskeyAnswer = Static<typeof PasskeyAnswer>;

/** What browsers turn into binary options. The members are those of WebAuthn; all but the challenge are the same each time. */
function OptionsJson($id: string, description: string, reads: string) {
  return Type.Object(
    {
      challenge: Base64Url('Random bytes; good once, for five minutes.'),
      timeout: Type.Integer({ description: 'Milliseconds.', examples: [300_000] }),
      extensions: Type.Object({}, { ...OPEN, description: 'Asks for the extension `prf`.' }),
    },
    { ...OPEN, $id, description: `${description} \`PublicKeyCredential.${reads}()\` reads them.` },
  );
}

export const CreationOptions = OptionsJson(
  'PasskeyCreationOptions',
  'Options of `navigator.credentials.create()`.',
  'parseCreationOptionsFromJSON',
);

export const RequestOptions = OptionsJson(
  'PasskeyRequestOptions',
  'Options of `navigator.credentials.get()`.',
  'parseRequestOptionsFromJSON',
);
