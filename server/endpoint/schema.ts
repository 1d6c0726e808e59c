import { type Static, Type } from '@sinclair/typebox';
import { FormType } from '../form/schema.ts';
import {
  DURATION_PATTERN,
  ExpiryTime,
  Identifier,
  MaskFields,
  NewIdentifier,
  NextToken,
  Rate,
  Reference,
  RuleIds,
  ShownReference,
  Token,
  User,
} from '../schema/common.ts';
import { ListOf, PreferredLimit, PUBLISHED } from '../schema/kinds.ts';
import {
  Algorithm,
  CardMetadata,
  CardMetadataFlag,
  FACTS,
  NumberParameter,
  OwnAlgorithm,
  ReferencePrefix,
  SHOWN_FACTS,
} from '../vault/schema.ts';

const UniqueId = Identifier('Identifier of the endpoint, unique over all accounts.');

/** The path of an endpoint's own address. Any other text is an endpoint that does not exist. */
export const EndpointPath = Type.Object({ unique_id: UniqueId });

export const BinPath = Type.Object({
  unique_id: UniqueId,
  digits: Type.String({
    description: 'The first six to eight digits of the number.',
    examples: ['41111111'],
  }),
});

const ExpiresAt = Type.Union(
  [Type.String({ [PUBLISHED]: { format: 'date-time' }, examples: ['2026-01-31T12:00:00Z'] }), Type.Null()],
  { description: 'When the endpoint expires, to the second; null if it never expires.' },
);

/** The members of a new endpoint in the only reply that shows its secret. */
function newMembers(description: string, example: string, prefix: string) {
  return {
    url: Type.String({ description, examples: [example] }),
    unique_id: UniqueId,
    secret: Type.String({
      description: 'The secret of the endpoint. Only this reply contains it; the vault does not store it.',
      'x-secret': true,
      examples: [`${prefix}_dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ`],
    }),
    expires_at: ExpiresAt,
  };
}

/** The mark of an endpoint that only accepts sealed bodies. */
const RequireSealed = Type.Optional(
  Type.Literal(true, { description: 'Only sealed bodies are taken, or only sealed replies sent.' }),
);

const MaxUses = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description:
    'How often the endpoint can be used: successful captures, or replies with data. Then it answers 410 `endpoint_used_up`.',
  examples: [1],
});
const UseRate = Rate(
  'The requests of each source address: a number per `s`, `m` or `h`. More are rejected with 429 and `Retry-After`.',
  '20/m',
);
const Origin = Type.String({ minLength: 1, maxLength: 255, examples: ['https://shop.example'] });

/** What limits the use of an endpoint, as it is listed. */
const LIMITS = {
  max_uses: Type.Optional(MaxUses),
  uses: Type.Optional(Type.Integer({ minimum: 0, description: 'How often it was used; with `max_uses`.' })),
  rate: Type.Optional(UseRate),
  origins: Type.Optional(Type.Array(Origin, { description: 'The origins of pages that may use it.' })),
};

const CreateEndpointQuery = Type.Object({
  user: User,
  // URLs cannot contain `.` and `..` as a segment: such an endpoint could not be used or deleted.
  unique_id: Type.Optional(
    NewIdentifier('The identifier of the new endpoint; random if omitted. If any account uses it: 409.'),
  ),
  ttl: Type.Optional(
    Type.String({
      description:
        'The lifetime of the endpoint: `45m`, `1h30m`, `24h60m60s`, or ISO 8601 (`PT10M`, `P1D`, `P1W`), at most 10 years. Unlimited: `0`, `0s`, `P0T`, `P0T0`, `PT0S`, `P0D`. Default: 24 hours.',
      examples: ['24h'],
      [PUBLISHED]: { pattern: DURATION_PATTERN },
    }),
  ),
  rules: Type.Optional(RuleIds),
  return_card_metadata: CardMetadataFlag,
  max_uses: Type.Optional(MaxUses),
  rate: Type.Optional(UseRate),
  origins: Type.Optional(
    ListOf(Origin, {
      minItems: 1,
      maxItems: 64,
      description:
        'The origins of pages that may use the endpoint, such as `https://shop.example`; comma-separated in a query. `http` only on your own machine; `null` for pages without an origin. Pages of other origins get `origin_not_allowed`, programs do not.',
    }),
  ),
});
export type CreateEndpointQuery = Static<typeof CreateEndpointQuery>;

export const EndpointListQuery = Type.Object({ user: Type.Optional(User) });

/** An endpoint as it is listed; its secret is not kept, so it cannot be shown again. */
export const Endpoint = Type.Object(
  {
    url: Type.String({ description: 'The path of the endpoint.', examples: ['/v1/capture/web-shop'] }),
    unique_id: UniqueId,
    expires_at: ExpiresAt,
    user: User,
    token: Type.Optional(Token),
    reference: Type.Optional(ShownReference),
    require_sealed: RequireSealed,
    ...LIMITS,
    reference_field: Type.Optional(Type.String({ description: 'The path of the reference in a body.' })),
    expired: Type.Boolean({
      description:
        'Whether the endpoint can no longer be used: it has expired, or the passphrase of the key has changed.',
    }),
  },
  { $id: 'Endpoint' },
);

export const EndpointList = Type.Array(Endpoint, {
  description: 'In ascending order of user, then unique_id.',
});

export const CreateCaptureQuery = Type.Object({
  ...CreateEndpointQuery.properties,
  algorithm: Type.Optional(Algorithm),
  reference: Type.Optional({
    ...Reference,
    description:
      'The reference of items that are sent without one. Default: the unique id of the endpoint. With `token`: the reference that its item was stored with.',
  }),
  token: Type.Optional({
    ...Token,
    description:
      'The only item of the endpoint: what is sent is merged into it, member by member, and needs no number; the number of another item is refused with `number_invalid`. Not together with `algorithm` and `overwrite`.',
  }),
  smart_parse: Type.Optional(
    Type.Boolean({
      description:
        'Whether bodies of any format are taken, and the card is searched in them as in a reply to the proxy: JSON, XML, forms (also `multipart/form-data`), CSV, TSV and text, in UTF-8, UTF-16, ISO-8859-1 or Windows-1252.',
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
  reference_field: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'The path of the reference in a body as it was sent, such as `data.order.id`: a text or an integer of at most 255 characters. Where it is missing, empty or null, `reference` applies; the `reference` of a request wins. Not together with `token`.',
      examples: ['metadata.customer'],
    }),
  ),
  overwrite: Type.Optional(
    Type.Boolean({
      description: 'Whether an item that is stored already is replaced; otherwise its token is refused.',
      default: true,
    }),
  ),
});
export type CreateCaptureQuery = Static<typeof CreateCaptureQuery>;

export const CaptureEndpoint = Type.Object(
  newMembers('The path that data is posted to.', '/v1/capture/web-shop', 'vcs1'),
  { $id: 'CaptureEndpoint' },
);
export type CaptureEndpoint = Static<typeof CaptureEndpoint>;

/** An endpoint as its sender sees it before it sends. */
export const CaptureState = Type.Object(
  { unique_id: UniqueId, expires_at: ExpiresAt, require_sealed: RequireSealed, origins: LIMITS.origins },
  { $id: 'CaptureState', description: 'An endpoint that takes data now.' },
);
export type CaptureState = Static<typeof CaptureState>;

export const SEALED_TYPE = 'application/vnd.cardvault.sealed+json';

const KeyId = Type.String({
  description: 'Names the key.',
  minLength: 1,
  maxLength: 64,
  examples: ['20484-9f86d081884c7d65'],
});

/** The public key that bodies are sealed to. */
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
    expires_at: ExpiryTime('Until when the vault takes what is sealed to this key.'),
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
export type CaptureQuery = Static<typeof CaptureQuery>;

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

/** The report of a capture to the webhook of its endpoint. */
export const CaptureWebhook = Type.Object(
  { ...Captured.properties, metadata: SHOWN_FACTS.metadata },
  { $id: 'CaptureWebhook', description: 'Something was sent to a capture endpoint and stored.' },
);
export type CaptureWebhook = Static<typeof CaptureWebhook>;

export const CreateRetrieveQuery = Type.Object({
  ...CreateEndpointQuery.properties,
  token: Type.Optional({ ...Token, description: 'Limits the scope of the endpoint to this token.' }),
  reference: Type.Optional({
    ...Reference,
    description: 'Limits the scope of the endpoint to items with this reference.',
  }),
  mask_fields: Type.Optional(MaskFields),
  require_sealed: Type.Optional(
    Type.Boolean({
      description:
        'Whether only sealed replies are sent, which nothing between vault and reader can read. Other readers get `sealing_required`.',
      default: false,
    }),
  ),
});
export type CreateRetrieveQuery = Static<typeof CreateRetrieveQuery>;

export const RetrieveEndpoint = Type.Object(
  {
    ...newMembers('The path that data is read from.', '/v1/retrieve/call-centre', 'vrs1'),
    user: User,
    token: Type.Optional(Token),
    reference: Type.Optional(ShownReference),
  },
  { $id: 'RetrieveEndpoint' },
);
export type RetrieveEndpoint = Static<typeof RetrieveEndpoint>;

export const RetrieveQuery = Type.Object({
  token: Type.Optional(Token),
  reference: Type.Optional(Reference),
  reference_prefix: Type.Optional(ReferencePrefix),
  decrypt_all: Type.Boolean({
    default: false,
    description: 'Whether to decrypt every listed item. Each item counts as a decryption.',
  }),
  limit: PreferredLimit(1024),
  next_token: Type.Optional(NextToken),
  form_type: Type.Optional({
    ...FormType,
    description: 'The type of hosted form that displays the data; the action log then has the source `form`.',
  }),
});
export type RetrieveQuery = Static<typeof RetrieveQuery>;
