import type { TSchema } from '@sinclair/typebox';
import { WEBHOOKS } from '../schema/webhook-body.ts';

type Json = Readonly<Record<string, unknown>>;

const SUMMARIES: Readonly<Record<keyof typeof WEBHOOKS, string>> = {
  proxyPost: 'What became of a request that was filled with stored data',
  proxyGet: 'What became of a request for data to store',
  networkToken: 'What became of a request for a network token',
};

const header = (name: string, description: string, required: boolean, schema: Json): Json => ({
  name,
  in: 'header',
  required,
  description,
  schema,
});

const TEXT = { type: 'string' };

const HEADERS: readonly Json[] = [
  header('webhook-id', 'The id that the call was accepted with; the same on repeats.', true, TEXT),
  header('webhook-timestamp', 'When this very call was made, in seconds since 1970.', true, TEXT),
  header(
    'webhook-signature',
    'Where the webhook has a secret: `v1,` and Base64 of HMAC-SHA-256 over `id.timestamp.body` (Standard Webhooks).',
    false,
    TEXT,
  ),
  header('X-Vault-Webhook-Secret', 'The secret of the webhook, where it has one.', false, {
    ...TEXT,
    'x-secret': true,
  }),
];

const operationOf = (name: string, summary: string, schema: Json): Json => ({
  operationId: `${name}Webhook`,
  tags: ['proxy'],
  summary,
  description:
    'The metadata of the request stands beside these members. The same event may be told more than once: drop repeats by `webhook-id`.',
  security: [],
  parameters: HEADERS,
  requestBody: { required: true, content: { 'application/json': { schema } } },
  responses: {
    '200': { description: 'Received: it is not told again.' },
    default: { description: 'Not received: it is told again after a pause, up to max_attempts calls.' },
  },
});

/** The calls that the service makes to webhooks, as the published document has them. */
export const webhooksOf = (write: (schema: TSchema) => Json): Json =>
  Object.fromEntries(
    Object.entries(SUMMARIES).map(([name, summary]) => [
      name,
      { post: operationOf(name, summary, write(WEBHOOKS[name as keyof typeof WEBHOOKS])) },
    ]),
  );
