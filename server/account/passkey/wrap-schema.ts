import { type Static, Type } from '@sinclair/typebox';
import { Timestamp, User } from '../../schema/common.ts';
import { EXPECTED } from '../../schema/kinds.ts';
import { PasskeyId, RequestOptions } from './ceremony-schema.ts';

/** Nonce, one byte and tag. */
const WRAP_CHARACTERS_MIN = 39;
/** Nonce, 4,096 characters of four bytes, and tag. */
const WRAP_CHARACTERS_MAX = 21_883;

const Wrap = Type.String({
  pattern: '^[A-Za-z0-9_-]+$',
  minLength: WRAP_CHARACTERS_MIN,
  maxLength: WRAP_CHARACTERS_MAX,
  description:
    'Base64url of a nonce of 12 bytes, the encrypted passphrase and a tag of 16 bytes: AES-256-GCM under a key that HKDF-SHA256 derives from the result of the extension `prf`, which stays in the browser.',
  [EXPECTED]: 'must be base64url of 12 bytes of nonce, the encrypted passphrase and 16 bytes of tag',
  'x-secret': true,
  examples: ['AAECAwQFBgcICQoLZXhhbXBsZSBjaXBoZXJ0ZXh0IGFuZCB0YWc'],
});

const Generation = Type.Integer({
  minimum: 1,
  description: 'The generation of the key, which a new passphrase raises.',
  examples: [1],
});

export const WrapOptionsBody = Type.Object(
  { user: User, passkey_id: PasskeyId },
  { $id: 'PassphraseOptionsOrder', description: 'The key, and the passkey to keep its passphrase under.' },
);

const Aad = Type.String({
  description: 'The additional data of AES-256-GCM, as UTF-8: what the wrap belongs to.',
  examples: [
    '["cardvault passphrase 1","production","shop","pers_Zm9vYmFyYmF6cXV4cXV1eA","3q2-7w","n1b2c3d4e5f6g7h8i9j0kl",1]',
  ],
});

export const WrapOptions = Type.Object(
  { aad: Aad, generation: Generation, options: RequestOptions },
  {
    $id: 'PassphraseOptions',
    description:
      'What a browser needs to keep the passphrase of a key under a passkey. The answer to `options` stays in the browser.',
  },
);

export const PutWrap = Type.Object(
  {
    user: User,
    passkey_id: PasskeyId,
    wrap: Wrap,
    generation: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'The generation in the additional data. If the key has another one by now, nothing is stored.',
        examples: [1],
      }),
    ),
  },
  { $id: 'KeepPassphrase', description: 'A passphrase that the browser has encrypted.' },
);
export type PutWrap = Static<typeof PutWrap>;

export const WrapQuery = Type.Object({ user: User, passkey_id: PasskeyId });

export const KeptPassphrase = Type.Object(
  {
    key: Type.String({ description: 'Identifier of the vault key.', examples: ['customers-2026'] }),
    passkey_id: PasskeyId,
    wrap: Wrap,
    aad: Aad,
    generation: Generation,
    created_at: Timestamp('When it was stored.'),
  },
  { $id: 'KeptPassphrase', description: 'A passphrase of a key, encrypted under a passkey.' },
);
export type KeptPassphrase = Static<typeof KeptPassphrase>;

export const KeptPassphrases = Type.Array(KeptPassphrase, {
  $id: 'KeptPassphrases',
  description:
    'Those of the person that signed in, for keys that it may use and whose passphrase has not changed.',
});
