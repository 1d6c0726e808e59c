import { Type } from '@sinclair/typebox';
import { CertificateId } from '../certificate/schema.ts';
import { PROXY_METHODS } from '../core/third-party.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Identifier, Reference, RuleIds, Token, User } from '../schema/common.ts';
import { EXPECTED, OTHER_NAME } from '../schema/kinds.ts';
import { WEBHOOK_MEMBERS } from '../schema/webhook.ts';
import { Algorithm } from '../vault/schema.ts';
import { GetWebhook, HeaderLines, REPLY_MEMBERS } from './webhook-schema.ts';

const Attempts = Type.Integer({
  minimum: 1,
  maximum: 16,
  default: 8,
  description:
    'Maximum number of attempts. The request is retried after 429, 5xx, and a connection that failed before anything was sent; each attempt is billed.',
});

const ITEM = { user: User, token: Token, reference: Type.Optional(Reference) };

export const ProxyPostQuery = Type.Object({
  ...ITEM,
  attempts: Attempts,
  debug: Type.Boolean({
    default: false,
    description:
      'Whether the reply includes populated_template. The request is still sent and billed. Refused to callers who may not see data, and to those who see it masked where rules are applied.',
  }),
  allow_missing: Type.Boolean({
    default: false,
    description:
      'Whether a name in the template that neither the item nor `extra_data` has is filled with an empty text. Otherwise the request is refused.',
  }),
  rules: Type.Optional({
    ...RuleIds,
    description:
      'Ids of rules, applied in this order to the data that is sent, after those of the connection; stored data does not change. Comma-separated in a query. Refused to credentials that do not see data unmasked.',
  }),
});

export const ProxyGetQuery = Type.Object({
  user: User,
  tokenization_algorithm: Type.Optional({ ...Algorithm, [OTHER_NAME]: 'algorithm' }),
  smart_parse: Type.Boolean({
    default: false,
    description:
      'Whether to search the reply (JSON, XML, form, CSV, TSV or text) for number, verification code (CVV), expiry and holder, and to store those. Otherwise the reply must be a JSON object with a number, and is stored unchanged.',
  }),
  attempts: Attempts,
  rules: Type.Optional({
    ...RuleIds,
    description:
      'Ids of rules, applied in this order to the received data before it is stored. Comma-separated in a query.',
  }),
});

export const NetworkTokenQuery = Type.Object({
  ...ITEM,
  requester_id: Identifier("Identifier of one of the operator's network token requesters."),
});

export const ProxyRequest = Type.Object(
  {
    method: Type.Union(
      PROXY_METHODS.map((name) => Type.Literal(name)),
      { description: 'The HTTP method.' },
    ),
    url: Type.String({
      pattern: '^https://',
      maxLength: 8192,
      [EXPECTED]: 'must begin with `https://` and have at most 8192 characters',
      description:
        'An https URL without user information. Path and query may contain template tags, whose values are percent-encoded.',
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
            'Objects with one member each: a name and its value, which may contain template tags. Headers of the connection and of framing, such as Host and Content-Length, are rejected.',
        },
      ),
    ),
    body: Type.Optional(
      Type.String({
        maxLength: BODY_BYTES.long,
        description:
          'A mustache template. `{{name}}` and `{{a.b}}` are filled from the stored object and escaped according to the Content-Type of the request: JSON (default), form or XML. `{{{name}}}` is not escaped.',
        examples: ['{"amount":1000,"card":{"number":"{{card_number}}","expiry":"{{expiry}}"}}'],
      }),
    ),
    client_cert_id: Type.Optional(CertificateId),
    connection: Type.Optional({
      ...Identifier(
        'A connection, which has the rest of the URL, credentials and certificate; `url` is then a path. Only with /proxy/post.',
      ),
    }),
    extra_data: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description:
            'Data of this call alone that the template is filled from beside the stored object, whose members win. Only with /proxy/post.',
          examples: [{ amount: '10.00' }],
        },
      ),
    ),
  },
  {
    $id: 'ProxyRequest',
    description: 'The request to send. With /proxy/get it is sent unchanged: templates are not filled.',
  },
);

export const ProxyWebhook = Type.Object(WEBHOOK_MEMBERS, {
  $id: 'ProxyWebhook',
  description: 'The webhook that receives the result.',
});

export const ProxyOrder = Type.Object(
  {
    request: ProxyRequest,
    synchronous: Type.Optional(
      Type.Boolean({
        description:
          'Whether to wait for the result, at most 20 s for all attempts, and to reply with it. Default: false; the result goes to the webhook.',
      }),
    ),
    webhook: Type.Optional(ProxyWebhook),
  },
  {
    $id: 'ProxyOrder',
    description: 'The request to send. Without `synchronous` the webhook is required.',
  },
);

export const CaptureOrder = Type.Object(
  {
    webhook: Type.Optional(ProxyWebhook),
  },
  { $id: 'CaptureOrder', description: 'Where captures are reported.' },
);

/** The webhook object of a network token, which may stand alone. */
export const NetworkTokenBody = Type.Union(
  [ProxyWebhook, Type.Object({ webhook: ProxyWebhook }, { $id: 'NetworkTokenOrder' })],
  { $id: 'NetworkTokenBody', description: 'The webhook, alone or as a member.' },
);

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
        'With `debug`: the filled request. It is masked for accounts without unmasked output; the request that was sent is not.',
    },
  ),
);

export const ProxyAccepted = Type.Object(
  {
    message: Type.String({
      description: 'What was done, for humans.',
      examples: ['The request was accepted; its result goes to the webhook.'],
    }),
    id: Type.String({
      description: 'The X-Vault-Request-Id of every attempt, and the webhook-id of every webhook.',
      examples: ['0q3vJq8nQm2dYtS1b7ZkXw'],
    }),
    populated_template: PopulatedTemplate,
  },
  { $id: 'ProxyAccepted', description: 'The request was accepted and will be sent.' },
);

export const ProxyReply = Type.Object(
  { ...REPLY_MEMBERS, populated_template: PopulatedTemplate },
  { $id: 'ProxyReply', description: 'The reply of the third party, with any status.' },
);

export const ProxyPostReply = Type.Union([ProxyReply, ProxyAccepted], {
  $id: 'ProxyPostReply',
  description: 'With `synchronous` the reply of the third party.',
});

export const ProxyGetReply = Type.Union([GetWebhook, ProxyAccepted], {
  $id: 'ProxyGetReply',
  description: 'With `synchronous` what was stored.',
});
