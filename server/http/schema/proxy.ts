import { Type } from '@sinclair/typebox';
import { CertificateId } from './cert.ts';
import { Identifier, Reference, RuleIds, Token, User } from './common.ts';
import { ALGORITHM, Algorithm } from './vault.ts';
import { WEBHOOK_SECRET_PATTERN } from './webhook.ts';
import { GetWebhook, HeaderLines, REPLY_MEMBERS } from './webhook-body.ts';

/** The largest body of a proxy call, in bytes. */
export const PROXY_BYTES_MAX = 1_048_576;

const Attempts = Type.Integer({
  minimum: 1,
  maximum: 16,
  default: 8,
  description:
    'How often the request may be sent. It is sent again after 429, 5xx and a connection that failed before anything was sent; each attempt is billed.',
});

const ITEM = { user: User, token: Token, reference: Type.Optional(Reference) };

export const ProxyPostQuery = Type.Object({
  ...ITEM,
  attempts: Attempts,
  debug: Type.Boolean({
    default: false,
    description:
      'Whether the reply also has populated_template. The request is sent and billed all the same.',
  }),
  rules: Type.Optional({
    ...RuleIds,
    description:
      'Ids of rules, applied in this order to what is sent; nothing stored changes. In a query, separated by commas.',
  }),
});

export const ProxyGetQuery = Type.Object({
  user: User,
  algorithm: Type.Optional(Algorithm),
  tokenization_algorithm: Type.Optional(
    Type.String({
      ...ALGORITHM,
      description: 'Another name of `algorithm`; given both, they must be equal.',
    }),
  ),
  smart_parse: Type.Boolean({
    default: false,
    description:
      'Whether to look for number, code, expiry and holder in a reply of any form (JSON, XML, form, text) and to store those. Otherwise the reply must be a JSON object with a number, and is stored as it is.',
  }),
  attempts: Attempts,
  rules: Type.Optional({
    ...RuleIds,
    description:
      'Ids of rules, applied in this order to what was received before it is stored. In a query, separated by commas.',
  }),
});

export const NetworkTokenQuery = Type.Object({
  ...ITEM,
  requester_id: Identifier("Identifier of one of the operator's network token requesters."),
});

export const ProxyRequest = Type.Object(
  {
    method: Type.Union(
      (['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const).map((name) =>
        Type.Literal(name),
      ),
      { description: 'The HTTP method.' },
    ),
    url: Type.String({
      pattern: '^https://',
      maxLength: 8192,
      description:
        'An https URL without user information. Path and query may hold tags, whose values are percent-encoded.',
      examples: ['https://pay.example.com/v1/charges'],
    }),
    headers: Type.Optional(
      Type.Array(
        Type.Record(Type.String(), Type.String({ maxLength: 16_384 }), {
          minProperties: 1,
          maxProperties: 1,
          examples: [{ 'Content-Type': 'application/json' }],
        }),
        {
          maxItems: 64,
          description:
            'Objects of one member each: a name and its value, which may hold tags. Headers of the connection and of framing, such as Host and Content-Length, are refused.',
        },
      ),
    ),
    body: Type.Optional(
      Type.String({
        maxLength: PROXY_BYTES_MAX,
        description:
          'A mustache template. `{{name}}` and `{{a.b}}` are filled from the stored object and escaped by the Content-Type of the request: JSON (also without one), form or XML; `{{{name}}}` is not escaped.',
        examples: ['{"amount":1000,"card":{"number":"{{card_number}}","expiry":"{{expiry}}"}}'],
      }),
    ),
    client_cert_id: Type.Optional(CertificateId),
  },
  {
    $id: 'ProxyRequest',
    description:
      'The request to send. With /proxy/get all of its texts are sent as they are: nothing is filled.',
  },
);

export const ProxyWebhook = Type.Object(
  {
    url: Type.String({
      pattern: '^https://',
      maxLength: 2048,
      description: 'The https URL to report to.',
      examples: ['https://shop.example.com/webhooks'],
    }),
    secret: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        pattern: WEBHOOK_SECRET_PATTERN,
        'x-secret': true,
        description:
          'What calls are signed with (Standard Webhooks), and what X-Vault-Webhook-Secret says: any text that a header can carry, or `whsec_` and Base64. Left out: calls are not signed.',
        examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      }),
    ),
    max_attempts: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 8,
        description: 'How often to call until a call is answered with 200; 8 when left out.',
      }),
    ),
    metadata: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description:
            'Members to add to what the webhook says, at most 64 KB. Those with the name of one of its own are left out.',
          examples: [{ order: '4711' }],
        },
      ),
    ),
  },
  { $id: 'ProxyWebhook', description: 'Where to report to.' },
);

export const ProxyOrder = Type.Object(
  {
    request: ProxyRequest,
    synchronous: Type.Optional(
      Type.Boolean({
        description:
          'Whether to wait for the outcome, at most 20 s for all attempts, and to answer with it. Otherwise, and when left out, the webhook is told.',
      }),
    ),
    webhook: Type.Optional(ProxyWebhook),
  },
  { $id: 'ProxyOrder', description: 'What to send. Without `synchronous` the webhook is required.' },
);

/** The webhook object of a network token, which may stand alone. */
export const NetworkTokenOrder = Type.Union([
  ProxyWebhook,
  Type.Object({ webhook: ProxyWebhook }, { $id: 'NetworkTokenOrder' }),
]);

const PopulatedTemplate = Type.Optional(
  Type.Object(
    {
      method: Type.String({ description: 'The method.', examples: ['POST'] }),
      url: Type.String({ description: 'The URL.' }),
      headers: HeaderLines,
      body: Type.Optional(Type.String({ description: 'The body.' })),
    },
    {
      $id: 'PopulatedTemplate',
      description:
        'The request as it was filled, with `debug`; masked for accounts without unmasked output, while what was sent is not.',
    },
  ),
);

export const ProxyAccepted = Type.Object(
  {
    message: Type.String({
      description: 'What was done, for a person.',
      examples: ['The request was accepted; its outcome goes to the webhook.'],
    }),
    id: Type.String({
      description:
        'The X-Vault-Request-Id of every attempt, and the webhook-id of every call of the webhook.',
      examples: ['0q3vJq8nQm2dYtS1b7ZkXw'],
    }),
    populated_template: PopulatedTemplate,
  },
  { $id: 'ProxyAccepted', description: 'The request was accepted and will be sent.' },
);

export const ProxyReply = Type.Object(
  { ...REPLY_MEMBERS, populated_template: PopulatedTemplate },
  { $id: 'ProxyReply', description: 'What the third party answered, whatever its status.' },
);

export const ProxyPostReply = Type.Union([ProxyReply, ProxyAccepted]);
export const ProxyGetReply = Type.Union([GetWebhook, ProxyAccepted]);
