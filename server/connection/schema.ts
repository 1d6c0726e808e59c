import { type Static, Type } from '@sinclair/typebox';
import { CertificateId } from '../certificate/schema.ts';
import { CONNECTION_LIMITS, HMAC_NAMES, PROXY_METHODS } from '../core/third-party.ts';
import { Identifier, NewIdentifier, Timestamp } from '../schema/common.ts';
import { EXPECTED } from '../schema/kinds.ts';

const ConnectionId = NewIdentifier('Identifier of the connection, unique in the account.');

export const ConnectionPath = Type.Object({ id: ConnectionId });

const HeaderName = Type.String({ minLength: 1, maxLength: 256, examples: ['Authorization'] });

const BaseUrl = Type.String({
  pattern: '^https://',
  maxLength: CONNECTION_LIMITS.baseUrlMax,
  [EXPECTED]: `must begin with \`https://\` and have at most ${CONNECTION_LIMITS.baseUrlMax} characters`,
  description:
    'The https URL that all paths are relative to, without user information, query and fragment. It is kept without a trailing slash.',
  examples: ['https://api.pay.example/v1'],
});

const Methods = Type.Array(Type.Union(PROXY_METHODS.map((name) => Type.Literal(name))), {
  minItems: 1,
  uniqueItems: true,
  description: 'The only methods that are sent, in small or capital letters. Default: every one of these.',
});

const Paths = Type.Array(
  Type.String({
    pattern: '^/',
    maxLength: CONNECTION_LIMITS.pathMax,
    examples: ['/charges'],
  }),
  {
    minItems: 1,
    maxItems: CONNECTION_LIMITS.pathsMax,
    description: 'What a path must begin with, relative to `base_url`. Default: any path.',
  },
);

const TimeoutMs = Type.Integer({
  minimum: CONNECTION_LIMITS.timeoutMsMin,
  maximum: CONNECTION_LIMITS.timeoutMsMax,
  description: 'How long the third party may take to reply, in milliseconds. Default: 20,000.',
  examples: [10_000],
});

const Rules = Type.Array(Identifier('The id of a rule.'), {
  maxItems: CONNECTION_LIMITS.rulesMax,
  description:
    'Rules that are applied, before those of the request, to the data that a proxied request sends through the connection. Setting them needs `vault:read` and unmasked output; a replacement without these rights keeps them.',
});

const ReplyPaths = Type.Array(
  Type.String({ minLength: 1, maxLength: CONNECTION_LIMITS.replyPathMax, examples: ['error.code'] }),
  {
    maxItems: CONNECTION_LIMITS.replyMax,
    description:
      'Paths of the members of a JSON reply that callers without `vault:read` see, such as `id` or `items[*].id`; of all else they see the status code. Name what the third party makes itself, never what repeats the request. Setting them needs `vault:read` and unmasked output; a replacement without these rights keeps them.',
  },
);

const Inbound = Type.Boolean({
  description:
    'Whether inbounds may forward requests through the connection. Setting it needs `vault:read` and unmasked output; a replacement without these rights keeps it. Default: `false`.',
  examples: [true],
});

const SIGN = {
  algorithm: Type.Union(
    HMAC_NAMES.map((name) => Type.Literal(name)),
    { description: 'The keyed digest.', examples: ['hmac-sha-256'] },
  ),
  header: Type.String({
    ...HeaderName,
    description: 'The header that carries the signature, in hexadecimal.',
    examples: ['X-Signature'],
  }),
  payload: Type.String({
    minLength: 1,
    maxLength: CONNECTION_LIMITS.signPayloadMax,
    description:
      'What is signed: a text with `{{method}}`, `{{path}}`, `{{timestamp}}` and `{{body}}`, at least `{{path}}` or `{{body}}`. The timestamp is sent as X-Vault-Timestamp.',
    examples: ['{{timestamp}}.{{body}}'],
  }),
};

const SETTINGS = {
  base_url: BaseUrl,
  headers: Type.Optional(
    Type.Array(
      Type.Record(Type.String(), Type.String({ maxLength: 16_384, 'x-secret': true }), {
        minProperties: 1,
        maxProperties: 1,
        examples: [{ Authorization: 'Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc' }],
      }),
      {
        maxItems: CONNECTION_LIMITS.headersMax,
        description:
          'Headers that are added to every request, in place of the caller’s own of these names: objects with one member each, a name and its value. They are stored encrypted, and no value is ever shown. Headers of the connection, of framing and of the vault are rejected.',
      },
    ),
  ),
  client_cert_id: Type.Optional(CertificateId),
  methods: Type.Optional(Methods),
  paths: Type.Optional(Paths),
  sign: Type.Optional(
    Type.Object(
      {
        ...SIGN,
        key: Type.String({
          minLength: 1,
          maxLength: CONNECTION_LIMITS.signKeyMax,
          'x-secret': true,
          description: 'The key, used as its UTF-8 bytes. It is stored encrypted and never shown.',
          examples: ['example-signing-key'],
        }),
      },
      { $id: 'ConnectionSign', description: 'How requests are signed.' },
    ),
  ),
  timeout_ms: Type.Optional(TimeoutMs),
  rules: Type.Optional(Rules),
  reply: Type.Optional(ReplyPaths),
  inbound: Type.Optional(Inbound),
};

export const CreateConnection = Type.Object(
  { id: ConnectionId, ...SETTINGS },
  { $id: 'CreateConnection', description: 'The address and the credentials of a third party.' },
);

export const ReplaceConnection = Type.Object(
  {
    id: Type.Optional({
      ...ConnectionId,
      description: 'Identifier of the connection, which may be left out.',
    }),
    ...SETTINGS,
  },
  { $id: 'ReplaceConnection', description: 'All that the connection has from now on.' },
);

export const Connection = Type.Object(
  {
    id: ConnectionId,
    base_url: BaseUrl,
    headers: Type.Array(HeaderName, {
      description: 'The names of the headers that are added, without their values.',
    }),
    client_cert_id: Type.Optional(CertificateId),
    methods: Type.Optional(Methods),
    paths: Type.Optional(Paths),
    sign: Type.Optional(
      Type.Object(SIGN, { $id: 'ShownSign', description: 'How requests are signed, without the key.' }),
    ),
    timeout_ms: Type.Optional(TimeoutMs),
    rules: Type.Optional(Rules),
    reply: Type.Optional(ReplyPaths),
    inbound: Type.Optional(Type.Literal(true, { description: 'Inbounds may forward requests through it.' })),
    created_at: Timestamp('When the connection was created.'),
    updated_at: Timestamp('When it was created or replaced last.'),
  },
  { $id: 'Connection', description: 'A third party, without the values of its credentials.' },
);
export type Connection = Static<typeof Connection>;

export const ConnectionList = Type.Array(Connection, {
  $id: 'ConnectionList',
  description: 'In ascending order of id.',
});
