import { Kind, type TObject, type TSchema } from '@sinclair/typebox';
import packageJson from '../../../package.json' with { type: 'json' };
import { ERRORS } from '../../core/error-table.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { OPERATOR_SCOPE } from '../../core/scopes.ts';
import { ErrorBody, RelayErrorBody } from '../../schema/common.ts';
import { closed } from '../../schema/json-body.ts';
import { ALIASES, PAIR_PATTERN, PUBLISHED } from '../../schema/kinds.ts';
import { publishedNames } from '../../schema/other-name.ts';
import { KEY_HEADERS } from '../key-header.ts';
import { PASSPHRASE_HEADER, PassphraseParameter } from '../passphrase.ts';
import { errorBody, isRelayPath } from '../reply.ts';
import {
  type BodyRule,
  hasKeyHeader,
  type Noun,
  type RouteShape,
  routeErrors,
  SECRET_HEADERS,
  scopesOf,
} from '../route.ts';

type Json = Readonly<Record<string, unknown>>;

export interface OpenApiDocument extends Json {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> } & Json;
}

const HEADERS: Readonly<Record<string, Json>> = {
  'X-Request-Id': {
    description: 'The id of this request: the one that you sent if it is valid, otherwise a generated one.',
    schema: { type: 'string' },
  },
  'X-Vault-Next-Token': {
    description: 'Present if there are more results: send it as next_token to get the next page.',
    schema: { type: 'string' },
  },
  'Idempotency-Replayed': {
    description: 'Present if this is the stored reply of an earlier request with the same Idempotency-Key.',
    schema: { const: 'true' },
  },
  'Retry-After': {
    description: 'Seconds to wait before a retry.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': { description: 'The challenge (RFC 7617).', schema: { type: 'string' } },
};

const SECURITY_SCHEMES = {
  basicAuth: { type: 'http', scheme: 'basic', description: 'The name and password of an account.' },
  credential: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The secret of an API credential, which has a part of the rights of its account. The names beside it are the scopes: a credential needs one of them. Only an operator credential has `account:write`, and nothing else. It can also be the password of basicAuth, with the id of the credential as name.',
  },
  captureSecret: {
    type: 'apiKey',
    in: 'header',
    name: SECRET_HEADERS.capture_secret,
    description:
      'The secret of a capture endpoint, which allows storing data, or of an inbound, which allows sending through it; nothing else.',
  },
  retrieveSecret: {
    type: 'apiKey',
    in: 'header',
    name: SECRET_HEADERS.retrieve_secret,
    description:
      'The secret of a retrieval endpoint. It allows reading items within the scope of the endpoint and nothing else.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-vault_session',
    description:
      'The session of a person who has signed in at the console, on plain `http://localhost` under the name `vault_session`. It counts for requests of the console alone.',
  },
} as const;

/** The authentication of a route. A credential needs one of the listed scopes. */
function securityOf({ auth, scope }: RouteShape): readonly Json[] {
  switch (auth) {
    case 'basic':
      if (scope === 'person') {
        return [{ session: [] }];
      }
      return [
        ...(scope === OPERATOR_SCOPE ? [] : [{ basicAuth: [] }]),
        ...(scope === 'password' ? [] : [{ credential: scopesOf(scope) }]),
      ];
    case 'capture_secret':
    case 'inbound_secret':
      return [{ captureSecret: [] }];
    case 'retrieve_secret':
      return [{ retrieveSecret: [] }];
    case 'public':
    case 'console':
      return [];
  }
}

/** The description of a route with its scopes, which viewers do not show for a bearer. */
function descriptionOf({ auth, scope, description }: RouteShape): string {
  if (auth !== 'basic') {
    return description;
  }
  if (scope === OPERATOR_SCOPE) {
    return `${description}\n\nAn operator credential is needed, whose scope is \`${scope}\`.`;
  }
  if (scope === 'person') {
    return `${description}\n\nA person who has signed in at the console is needed.`;
  }
  const scopes = scopesOf(scope).map((name) => `\`${name}\``);
  if (scopes.length > 0) {
    return `${description}\n\nA credential needs the scope ${scopes.join(' or ')}.`;
  }
  return `${description}\n\n${scope === 'password' ? 'No' : 'Any'} credential may be used.`;
}

function headerRefs(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Writes schemas as plain JSON, and collects those with an `$id` as components. */
class SchemaWriter {
  readonly components: Record<string, Json> = {};

  write(schema: TSchema): Json {
    if (schema[Kind] === 'Union') {
      const options: readonly TSchema[] = schema['anyOf'];
      if (options.every((option) => option[Kind] === 'Literal')) {
        const { anyOf, ...members } = this.writeMembers(schema);
        return { type: 'string', enum: options.map((option) => option['const']), ...members };
      }
    }
    if (schema.$id === undefined) {
      return this.writeMembers(schema);
    }
    this.components[schema.$id] ??= this.writeMembers(schema);
    return { $ref: `#/components/schemas/${schema.$id}` };
  }

  private writeMembers(schema: TSchema): Json {
    const { $id, patternProperties, ...members } = schema;
    const plain = Object.entries(members).map(([name, value]) => [name, this.writeValue(value)]);
    // A record is written as additional members, which more tools understand.
    const record: readonly TSchema[] = Object.values(patternProperties ?? {});
    const additional = record[0] === undefined ? {} : { additionalProperties: this.write(record[0]) };
    return { ...Object.fromEntries(plain), ...additional, ...schema[PUBLISHED] };
  }

  private writeValue(value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.map((member) => this.writeValue(member));
    }
    if (typeof value !== 'object' || value === null) {
      return value;
    }
    return Kind in value
      ? this.write(value as TSchema)
      : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.writeValue(member)]));
  }
}

function parameter(name: string, place: 'path' | 'query' | 'header', required: boolean, schema: Json): Json {
  const { description, examples, ...rest } = schema;
  const example = Array.isArray(examples) ? { example: examples[0] } : {};
  // Pairs contain commas.
  const explode = (rest['items'] as Json | undefined)?.['pattern'] === PAIR_PATTERN;
  const list = rest['type'] === 'array' ? { style: 'form', explode } : {};
  return { name, in: place, required, description, ...list, schema: rest, ...example };
}

/** At most 4096 characters of four bytes each, and three characters a byte. */
const ENCODED_PASSPHRASE = { maxLength: 49_152, pattern: '^(?:[ -$&-~]|%[0-9A-Fa-f]{2})+$' };

function parametersIn(place: 'query' | 'header', schemas: TObject, writer: SchemaWriter): readonly Json[] {
  const { required: names = [], properties } = publishedNames(schemas);
  const required = new Set(names);
  return Object.entries(properties).flatMap(([name, property]) => {
    const schema = writer.write(property);
    const own = parameter(name, place, required.has(name) && schema['default'] === undefined, schema);
    const aliases: readonly string[] = property[ALIASES] ?? [];
    const description = `Alias of \`${name}\`.`;
    return [own, ...aliases.map((alias) => parameter(alias, place, false, { ...schema, description }))];
  });
}

function passphraseHeader(writer: SchemaWriter, isRequired: boolean, needed = ''): Json {
  return parameter(PASSPHRASE_HEADER, 'header', isRequired, {
    ...writer.write(PassphraseParameter),
    ...ENCODED_PASSPHRASE,
    description: `The passphrase of the key, as percent-encoded UTF-8; \`+\` is a literal plus.${needed}`,
  });
}

function parametersOf(route: RouteShape, writer: SchemaWriter): readonly Json[] {
  const inPath = Object.entries(route.params.properties).map(([name, property]) =>
    parameter(name, 'path', true, writer.write(property)),
  );
  const parameters = [...inPath, ...parametersIn('query', route.query, writer)];
  if (hasKeyHeader(route)) {
    return [...parameters, ...parametersIn('header', KEY_HEADERS, writer), passphraseHeader(writer, true)];
  }
  if (route.passphrase !== 'none') {
    const needed =
      route.passphrase === 'required' ? ' Required in one of two places, the header or the query.' : '';
    parameters.push(
      passphraseHeader(writer, false, needed),
      parameter('passphrase', 'query', false, {
        ...writer.write(PassphraseParameter),
        description: `${PassphraseParameter.description}${needed}`,
      }),
    );
  }
  if (route.idempotent) {
    parameters.push(
      parameter('Idempotency-Key', 'header', false, {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        pattern: '^[!-~](?:[ -~]*[!-~])?$',
        description: 'Makes a retry safe: for 24 hours a repeated request gets the first reply.',
        examples: ['order-4711'],
      }),
    );
  }
  return parameters;
}

const EXAMPLE_ID = '0190a5f2-6c1e-7b3a-9d84-2f5e8c7b1a60';

function errorResponse(status: number, codes: readonly ErrorCode[], path: string): Json {
  const names = ['X-Request-Id'];
  if (status === 401) {
    names.push('WWW-Authenticate');
  }
  // A conflict has it if the same request is still in flight.
  if (codes.some((code) => ERRORS[code].retryAfterSeconds !== undefined || code === 'idempotency_conflict')) {
    names.push('Retry-After');
  }
  const examples = codes.map((code) => [
    code,
    { value: errorBody(path, { code, message: ERRORS[code].text }, EXAMPLE_ID) },
  ]);
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].text}`).join('\n\n'),
    headers: headerRefs(names),
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${isRelayPath(path) ? 'RelayError' : 'Error'}` },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

function contentOf(route: RouteShape, writer: SchemaWriter): Json {
  if (route.file !== undefined) {
    return { [route.file]: { schema: writer.write(route.response) } };
  }
  const page = { 'text/html': { schema: { type: 'string', description: 'An HTML page.' } } };
  return {
    ...(route.html === 'always' ? {} : { 'application/json': { schema: writer.write(route.response) } }),
    ...(route.html === undefined ? {} : page),
  };
}

function responsesOf(route: RouteShape, writer: SchemaWriter): Json {
  const names = ['X-Request-Id'];
  if ('next_token' in route.query.properties) {
    names.push('X-Vault-Next-Token');
  }
  if (route.idempotent) {
    names.push('Idempotency-Replayed');
  }
  const byStatus = Map.groupBy(routeErrors(route), (code) => ERRORS[code].status);
  const errors = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, codes]) => [String(status), errorResponse(status, codes, route.path)]);
  return {
    '200': {
      description: route.summary,
      headers: headerRefs(names),
      content: contentOf(route, writer),
    },
    ...Object.fromEntries(errors),
  };
}

function bodyContentOf(body: Exclude<BodyRule, { kind: 'none' }>, writer: SchemaWriter): Json {
  const { type = 'application/json', example = undefined, other } = body.kind === 'stored' ? body : {};
  return {
    [type]: {
      schema: writer.write(closed(publishedNames(body.schema))),
      ...(example === undefined ? {} : { example }),
    },
    ...(other && { [other.type]: { schema: writer.write(closed(other.schema)) } }),
  };
}

function operationOf(route: RouteShape, writer: SchemaWriter, server: string | undefined): Json {
  const { body } = route;
  const required = !(body.kind === 'stored' && body.optional);
  return {
    operationId: route.operationId,
    tags: [route.noun],
    summary: route.summary,
    description: descriptionOf(route),
    ...(server === undefined ? {} : { servers: [{ url: server }] }),
    security: securityOf(route),
    parameters: parametersOf(route, writer),
    ...(body.kind === 'none' || route.method === 'GET'
      ? {}
      : { requestBody: { required, content: bodyContentOf(body, writer) } }),
    responses: responsesOf(route, writer),
  };
}

/** Titles are those of the guide, and the order is that in which viewers list them. */
const TAGS: Readonly<
  Record<Noun | 'webhook', readonly [title: string, description: string, guide?: string]>
> = {
  key: ['Keys', 'Keys, each protected by a passphrase that only you know.', 'keys'],
  vault: ['Items', 'Store, read, update and delete objects.', 'items'],
  capture: ['Capture endpoints', 'Endpoints that let third parties store objects under your key.', 'capture'],
  retrieve: ['Retrieval endpoints', 'Endpoints that let third parties read objects of your key.', 'retrieve'],
  inbound: ['Inbounds', 'Requests to your server whose cards become tokens on their way.', 'inbound'],
  form: ['Hosted forms', 'Hosted forms that capture or display data.', 'forms'],
  rule: ['Rules', 'Named lists of operations that transform data.', 'rules'],
  proxy: ['Requests to third parties', 'Requests to third parties that contain stored data.', 'proxy'],
  job: ['Jobs', 'Asynchronous requests and webhooks: see, repeat and cancel them.', 'jobs'],
  connection: ['Connections', 'Addresses and credentials of third parties, which are never shown.', 'relay'],
  webhook: ['Webhooks', 'Calls that the vault makes to you.', 'webhooks'],
  event: ['Events', 'Be told what happens to items, keys and credentials.', 'events'],
  credential: ['Credentials', 'Credentials with a part of the rights of your account.', 'least-privilege'],
  person: ['People', 'People of your account, each with a sign-in and a role.', 'people'],
  account: ['Accounts', 'Accounts of the vault, for platforms; with an operator credential.', 'platforms'],
  admin: ['Account and bills', 'Your account.', 'billing-and-preferences'],
  audit: ['Security log', 'The security log of your account.', 'audit'],
  utility: ['Utilities', 'Check card numbers and generate passphrases.'],
};

function tagsOf(used: ReadonlySet<string>): readonly Json[] {
  return Object.entries(TAGS)
    .filter(([name]) => used.has(name))
    .map(([name, [title, description, guide]]) => ({
      name,
      'x-displayName': title,
      description,
      ...(guide === undefined ? {} : { externalDocs: { url: `/guide/${guide}`, description: 'Guide' } }),
    }));
}

interface Webhook {
  readonly summary: string;
  readonly body: TSchema;
}

/** The tag of the calls that the service makes, apart from those that a client makes. */
const WEBHOOK_TAG = 'webhook';

const WEBHOOK_HEADERS: readonly Json[] = [
  parameter('webhook-id', 'header', true, {
    description: 'The id from the reply that accepted the request; the same in every attempt.',
    type: 'string',
  }),
  parameter('webhook-timestamp', 'header', true, {
    description: 'The time of this attempt, in seconds since 1970.',
    type: 'string',
  }),
  parameter('webhook-signature', 'header', false, {
    description:
      'If the webhook has a secret: `v1,` and Base64 of HMAC-SHA-256 over `id.timestamp.body` (Standard Webhooks).',
    type: 'string',
  }),
  parameter('X-Vault-Webhook-Secret', 'header', false, {
    description: 'The secret of the webhook, if it has one.',
    type: 'string',
    'x-secret': true,
  }),
];

function webhookOperationOf(name: string, summary: string, schema: Json): Json {
  return {
    operationId: `${name}Webhook`,
    tags: [WEBHOOK_TAG],
    summary,
    description:
      'The metadata of the request is added to these members. An event may be delivered more than once: ignore duplicates by `webhook-id`.',
    security: [],
    parameters: WEBHOOK_HEADERS,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '200': { description: 'Received. The event is not delivered again.' },
      default: {
        description: 'Not received. Delivery is retried after a delay, up to max_attempts attempts.',
      },
    },
  };
}

/** The kinds of body in full: generators drop a named schema that no route refers to. */
function webhookBodyOf(schema: TSchema, writer: SchemaWriter): Json {
  const kinds: readonly TSchema[] = schema['anyOf'] ?? [schema];
  return {
    anyOf: kinds.map((kind) => {
      const written = writer.write(kind);
      return writer.components[kind.$id ?? ''] ?? written;
    }),
  };
}

function webhooksOf(webhooks: Readonly<Record<string, Webhook>>, writer: SchemaWriter): Json {
  return Object.fromEntries(
    Object.entries(webhooks).map(([name, { summary, body }]) => [
      name,
      { post: webhookOperationOf(name, summary, webhookBodyOf(body, writer)) },
    ]),
  );
}

/** The published interface. Generators that cannot read webhooks get a document without. */
export interface Api {
  readonly routes: readonly RouteShape[];
  readonly webhooks?: Readonly<Record<string, Webhook>> | undefined;
  /** Schemas that descriptions name and no route refers to. */
  readonly schemas?: readonly TSchema[];
}

/**
 * Makes the OpenAPI 3.1 document of an interface and the table of errors. Paths stand below the server's URL, which is the
 * public URL with `/v1`. With `isPublic` there are two listeners: only the routes that it accepts are below the public URL, the
 * others on the server that gives the document.
 */
export function buildOpenApi(
  { routes, webhooks, schemas = [] }: Api,
  publicUrl: string,
  isPublic?: (route: RouteShape) => boolean,
): OpenApiDocument {
  const publicServer = `${publicUrl}/v1`;
  const writer = new SchemaWriter();
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = route.path.slice('/v1'.length);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(
      route,
      writer,
      isPublic?.(route) === true ? publicServer : undefined,
    );
  }
  writer.write(ErrorBody);
  writer.write(RelayErrorBody);
  for (const schema of schemas) {
    writer.write(schema);
  }
  const written = webhooks === undefined ? {} : { webhooks: webhooksOf(webhooks, writer) };
  const code = {
    type: 'string',
    enum: Object.keys(ERRORS),
    description: ErrorBody.properties.code.description,
  };
  const withCodes = (name: 'Error' | 'RelayError'): Json => {
    const schema = writer.components[name];
    return { ...schema, properties: { ...(schema?.['properties'] as Json), code } };
  };
  const used = [...routes.map(({ noun }) => noun), ...(webhooks === undefined ? [] : [WEBHOOK_TAG])];
  return {
    openapi: '3.1.1',
    info: {
      title: 'Cardvault',
      version: packageJson.version,
      description:
        'A vault for card data: encrypts, tokenizes, stores and returns JSON objects. The [guide](/guide) has a quick ' +
        'start, recipes and everything that does not concern a single route.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { url: '/guide', description: 'Guide' },
    servers: [{ url: isPublic === undefined ? publicServer : '/v1' }],
    tags: tagsOf(new Set(used)),
    paths,
    ...written,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      headers: HEADERS,
      schemas: {
        ...writer.components,
        Error: withCodes('Error'),
        RelayError: withCodes('RelayError'),
      },
    },
  };
}
