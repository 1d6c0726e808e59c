import { type Static, Type } from '@sinclair/typebox';
import { FormType } from '../form/schema.ts';
import { Reference, ShownReference, Token, User } from '../schema/common.ts';
import { PUBLISHED } from '../schema/kinds.ts';
import {
  Algorithm,
  CardMetadata,
  FACTS,
  NumberParameter,
  OwnAlgorithm,
  SHOWN_FACTS,
} from '../vault/schema.ts';
import { CREATE_MEMBERS, ExpiresAt, NewSecret, RequireSealed, UniqueId } from './schema.ts';

export const CreateCaptureQuery = Type.Object({
  ...CREATE_MEMBERS,
  algorithm: Type.Optional(Algorithm),
  reference: Type.Optional({
    ...Reference,
    description:
      'The reference of items that are sent without one. Default: the unique id of the endpoint. With `token`: the reference that its item was stored with.',
  }),
  token: Type.Optional({
    ...Token,
    description:
      'The only item of the endpoint: what is sent is merged into it, member by member, and needs no number. Not together with `algorithm` and `overwrite`.',
  }),
  smart_parse: Type.Optional(
    Type.Boolean({
      description:
        'Whether bodies of any format are taken, and the card is searched in them as in a reply to the proxy: JSON, XML, forms and text.',
      default: false,
    }),
  ),
  require_sealed: Type.Optional(
    Type.Boolean({
      description:
        'Whether only sealed bodies are taken, which nothing between sender and vault can read. Others get `sealing_required`.',
      default: false,
    }),
  ),
  overwrite: Type.Optional(
    Type.Boolean({
      description: 'Whether an item that is stored already is replaced; otherwise its token is refused.',
      default: true,
    }),
  ),
});

export const CaptureEndpoint = Type.Object(
  {
    url: Type.String({
      description: 'The path that data is posted to.',
      examples: ['/v1/capture/web-shop'],
    }),
    unique_id: UniqueId,
    secret: NewSecret('vcs1'),
    expires_at: ExpiresAt,
  },
  { $id: 'CaptureEndpoint' },
);
export type CaptureEndpoint = Static<typeof CaptureEndpoint>;

/** What a sender learns of an endpoint before it sends. */
export const CaptureState = Type.Object(
  { unique_id: UniqueId, expires_at: ExpiresAt, require_sealed: RequireSealed },
  { $id: 'CaptureState', description: 'An endpoint that takes data now.' },
);
export type CaptureState = Static<typeof CaptureState>;

/** The content type of a sealed body. */
export const SEALED_TYPE = 'application/vnd.cardvault.sealed+json';

const KeyId = Type.String({
  description: 'Names the key.',
  minLength: 1,
  maxLength: 64,
  examples: ['20484-9f86d081884c7d65'],
});

/** What a body is sealed to. */
export const SealingKey = Type.Object(
  {
    kid: KeyId,
    suite: Type.Literal('P256-HKDF-SHA256-AES256GCM', {
      description: 'HPKE (RFC 9180) Base: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-256-GCM.',
    }),
    public_key: Type.String({
      description: 'The public key as an uncompressed point, in base64url without padding.',
      examples: ['BP_9ce_S5iQAHZh6w5F3QFQVVVBFCzVFBzXEbhbmCHFEWjHqmBm5tdkOjIRF5HkqnrJQlaCFJgnLjjCFyqHZnSc'],
      minLength: 87,
      maxLength: 87,
    }),
    expires_at: Type.String({
      description: 'Until when the vault takes what is sealed to this key.',
      [PUBLISHED]: { format: 'date-time' },
      examples: ['2026-02-02T00:00:00Z'],
    }),
  },
  { $id: 'SealingKey', description: 'The public half of the key of the day.' },
);
export type SealingKey = Static<typeof SealingKey>;

/** A body that only the vault can read. */
export const SealedCapture = Type.Object(
  {
    kid: KeyId,
    enc: Type.String({
      description: 'The encapsulated key, an uncompressed point in base64url without padding.',
      minLength: 87,
      maxLength: 87,
    }),
    ct: Type.String({
      description:
        'The ciphertext of the body in base64url without padding. Info: `cardvault sealed capture`; associated data: the JSON text `[unique_id, reference or null, Idempotency-Key or null]`, as this request has them.',
      minLength: 22,
    }),
  },
  { $id: 'SealedCapture', description: 'What would be sent otherwise, sealed with HPKE.' },
);

export const CaptureQuery = Type.Object({
  reference: Type.Optional({
    ...Reference,
    description: 'The reference of the item. Default: that of the endpoint, otherwise its unique id.',
  }),
  number: Type.Optional(NumberParameter),
  algorithm: Type.Optional(OwnAlgorithm),
  return_card_metadata: Type.Optional(
    Type.Boolean({
      description: 'Whether to add card_metadata. Default: the setting of the endpoint.',
    }),
  ),
  form_type: Type.Optional(FormType),
  ...FACTS,
});

export const Captured = Type.Object(
  {
    token: Token,
    user: User,
    reference: Type.Optional(ShownReference),
    expires_at: SHOWN_FACTS.expires_at,
    card_metadata: Type.Optional(CardMetadata),
  },
  {
    $id: 'Captured',
    description: 'The reply of a capture, for the third party to pass on to the owner of the endpoint.',
  },
);
export type Captured = Static<typeof Captured>;

/** What the webhook of an endpoint is told. */
export const ToldCapture = Type.Object({ ...Captured.properties, metadata: SHOWN_FACTS.metadata });
export type ToldCapture = Static<typeof ToldCapture>;

export const CaptureWebhook = Type.Object(ToldCapture.properties, {
  $id: 'CaptureWebhook',
  description: 'Something was sent to a capture endpoint and stored.',
});
