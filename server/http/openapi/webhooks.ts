import type { TSchema } from '@sinclair/typebox';

type Json = Readonly<Record<string, unknown>>;

/** A call that the service makes to a webhook. */
export interface Webhook {
  readonly summary: string;
  readonly body: TSchema;
}

/** The tag of the calls that the service makes, apart from those that a client makes. */
export const WEBHOOK_TAG = 'webhook';

function header(name: string, description: string, required: boolean, schema: Json): Json {
  return {
    name,
    in: 'header',
    required,
    description,
    schema,
  };
}

const TEXT = { type: 'string' };

const HEADERS: readonly Json[] = [
  header(
    'webhook-id',
    'The id from the reply that accepted the request; the same in every attempt.',
    true,
    TEXT,
  ),
  header('webhook-timestamp', 'The time of this attempt, in seconds since 1970.', true, TEXT),
  header(
    'webhook-signature',
    'If the webhook has a secret: `v1,` and Base64 of HMAC-SHA-256 over `id.timestamp.body` (Standard Webhooks).',
    false,
    TEXT,
  ),
  header('X-Vault-Webhook-Secret', 'The secret of the webhook, if it has one.', false, {
    ...TEXT,
    'x-secret': true,
  }),
];

/** Writes schemas, those with a name of their own as components. */
interface Writer {
  readonly write: (schema: TSchema) => Json;
  readonly components: Readonly<Record<string, Json>>;
}

function operationOf(name: string, summary: string, schema: Json): Json {
  return {
    operationId: `${name}Webhook`,
    tags: [WEBHOOK_TAG],
    summary,
    description:
      'The metadata of the request is added to these members. An event may be delivered more than once: ignore duplicates by `webhook-id`.',
    security: [],
    parameters: HEADERS,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '200': { description: 'Received. The event is not delivered again.' },
      default: {
        description: 'Not received. Delivery is retried after a delay, up to max_attempts attempts.',
      },
    },
  };
}

/** The kinds of body in full: generators drop a schema with a name that no route leads to, and not what names it. */
function bodyOf(schema: TSchema, { write, components }: Writer): Json {
  const kinds: readonly TSchema[] = schema['anyOf'] ?? [schema];
  return {
    anyOf: kinds.map((kind) => {
      const written = write(kind);
      return components[kind.$id ?? ''] ?? written;
    }),
  };
}

/** The calls that the service makes to webhooks, as the published document has them. */
export function webhooksOf(webhooks: Readonly<Record<string, Webhook>>, writer: Writer): Json {
  return Object.fromEntries(
    Object.entries(webhooks).map(([name, { summary, body }]) => [
      name,
      { post: operationOf(name, summary, bodyOf(body, writer)) },
    ]),
  );
}
