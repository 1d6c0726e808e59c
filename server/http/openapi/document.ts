import { Kind, type TSchema } from '@sinclair/typebox';
import packageJson from '../../../package.json' with { type: 'json' };
import { ERRORS } from '../../core/error-table.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { ErrorBody, User } from '../../schema/common.ts';
import { closed } from '../../schema/json-body.ts';
import { ALIASES, PAIR_PATTERN, PUBLISHED } from '../../schema/kinds.ts';
import { SECRET_HEADERS } from '../arrival.ts';
import { PASSPHRASE_HEADER, PassphraseParameter } from '../passphrase.ts';
import { type BodyRule, type RouteShape, routeErrors, scopesOf } from '../route.ts';
import { tagsOf } from './tags.ts';
import { WEBHOOK_TAG, type Webhook, webhooksOf } from './webhooks.ts';

type Json = Readonly<Record<string, unknown>>;

/** The published document; its `paths` hold every route of the table. */
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
      'The secret of an API credential, which has a part of the rights of its account. The names beside it are the scopes: a credential needs one of them. It can also be the password of basicAuth, with the id of the credential as name.',
  },
  captureSecret: {
    type: 'apiKey',
    in: 'header',
    name: SECRET_HEADERS.capture_secret,
    description: 'The secret of a capture endpoint. It allows storing data and nothing else.',
  },
  retrieveSecret: {
    type: 'apiKey',
    in: 'header',
    name: SECRET_HEADERS.retrieve_secret,
    description:
      'The secret of a retrieval endpoint. It allows reading items within the scope of the endpoint and nothing else.',
  },
} as const;

/** How a route is used: with a password or a credential, whose scopes stand beside it; with a secret; or by anybody. */
function securityOf({ auth, scope }: RouteShape): readonly Json[] {
  switch (auth) {
    case 'basic':
      return [{ basicAuth: [] }, ...(scope === 'password' ? [] : [{ credential: scopesOf(scope) }])];
    case 'capture_secret':
      return [{ captureSecret: [] }];
    case 'retrieve_secret':
      return [{ retrieveSecret: [] }];
    case 'public':
      return [];
  }
}

/** What a route does, and the scope that it needs: viewers of the document show no scopes beside a bearer. */
function descriptionOf({ auth, scope, description }: RouteShape): string {
  if (auth !== 'basic') {
    return description;
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

/** Writes schemas as plain JSON and gathers those with a name of their own as components. */
function createSchemaWriter() {
  const components: Record<string, Json> = {};

  const writeMembers = (schema: TSchema): Json => {
    const { $id, patternProperties, ...members } = schema;
    const plain = Object.entries(members).map(([name, value]) => [name, writeValue(value)]);
    // A record is written as additional members, which more tools understand.
    const record: readonly TSchema[] = Object.values(patternProperties ?? {});
    const additional = record[0] === undefined ? {} : { additionalProperties: write(record[0]) };
    return { ...Object.fromEntries(plain), ...additional, ...schema[PUBLISHED] };
  };

  const writeValue = (value: unknown): unknown => {
    if (Array.isArray(value)) {
      return value.map(writeValue);
    }
    if (typeof value !== 'object' || value === null) {
      return value;
    }
    return Kind in value
      ? write(value as TSchema)
      : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, writeValue(member)]));
  };

  const write = (schema: TSchema): Json => {
    if (schema[Kind] === 'Union') {
      const options: readonly TSchema[] = schema['anyOf'];
      if (options.every((option) => option[Kind] === 'Literal')) {
        const { anyOf, ...members } = writeMembers(schema);
        return { type: 'string', enum: options.map((option) => option['const']), ...members };
      }
    }
    if (schema.$id === undefined) {
      return writeMembers(schema);
    }
    components[schema.$id] ??= writeMembers(schema);
    return { $ref: `#/components/schemas/${schema.$id}` };
  };

  return { write, components };
}

type SchemaWriter = ReturnType<typeof createSchemaWriter>;

/** Whether items of a list are pairs, which have commas of their own. */
function isPairs(items: unknown): boolean {
  return (items as Json | undefined)?.['pattern'] === PAIR_PATTERN;
}

function parameter(name: string, place: 'path' | 'query' | 'header', required: boolean, schema: Json): Json {
  const { description, examples, ...rest } = schema;
  const example = Array.isArray(examples) ? { example: examples[0] } : {};
  const list = rest['type'] === 'array' ? { style: 'form', explode: isPairs(rest['items']) } : {};
  return { name, in: place, required, description, ...list, schema: rest, ...example };
}

/** The longest has 4096 characters of four bytes each, in three characters a byte. */
const ENCODED_PASSPHRASE = { maxLength: 49_152, pattern: '^(?:[ -$&-~]|%[0-9A-Fa-f]{2})+$' };

function pathParametersOf(route: RouteShape, writer: SchemaWriter): readonly Json[] {
  return Object.entries(route.params.properties).map(([name, property]) =>
    parameter(name, 'path', true, writer.write(property)),
  );
}

function queryParametersOf(route: RouteShape, writer: SchemaWriter): readonly Json[] {
  const required = new Set(route.query.required ?? []);
  return Object.entries(route.query.properties).flatMap(([name, property]) => {
    const schema = writer.write(property);
    const own = parameter(name, 'query', required.has(name) && schema['default'] === undefined, schema);
    const aliases: readonly string[] = property[ALIASES] ?? [];
    const description = `Alias of \`${name}\`.`;
    return [own, ...aliases.map((alias) => parameter(alias, 'query', false, { ...schema, description }))];
  });
}

function passphraseHeader(writer: SchemaWriter, isRequired: boolean, needed = ''): Json {
  return parameter(PASSPHRASE_HEADER, 'header', isRequired, {
    ...writer.write(PassphraseParameter),
    ...ENCODED_PASSPHRASE,
    description: `The passphrase of the key, as percent-encoded UTF-8; \`+\` is a literal plus.${needed}`,
  });
}

/** The header that names the vault key where the query is a third party's. */
function keyHeader(writer: SchemaWriter): Json {
  return parameter('X-Vault-User', 'header', true, writer.write(User));
}

function parametersOf(route: RouteShape, writer: SchemaWriter): readonly Json[] {
  const parameters = [...pathParametersOf(route, writer), ...queryParametersOf(route, writer)];
  if (route.passesQuery === true) {
    return [...parameters, keyHeader(writer), passphraseHeader(writer, true)];
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

function errorResponse(status: number, codes: readonly ErrorCode[]): Json {
  const names = ['X-Request-Id'];
  if (status === 401) {
    names.push('WWW-Authenticate');
  }
  // A conflict has it where the same request is still under way.
  if (codes.some((code) => ERRORS[code].retryAfterSeconds !== undefined || code === 'idempotency_conflict')) {
    names.push('Retry-After');
  }
  const examples = codes.map((code) => [
    code,
    { value: { error: ERRORS[code].text, code, request_id: '0190a5f2-6c1e-7b3a-9d84-2f5e8c7b1a60' } },
  ]);
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].text}`).join('\n\n'),
    headers: headerRefs(names),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
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
    .map(([status, codes]) => [String(status), errorResponse(status, codes)]);
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
      schema: writer.write(closed(body.schema)),
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
    ...(body.kind === 'none' ? {} : { requestBody: { required, content: bodyContentOf(body, writer) } }),
    responses: responsesOf(route, writer),
  };
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
  const writer = createSchemaWriter();
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
  for (const schema of schemas) {
    writer.write(schema);
  }
  const written = webhooks === undefined ? {} : { webhooks: webhooksOf(webhooks, writer) };
  const code = {
    type: 'string',
    enum: Object.keys(ERRORS),
    description: ErrorBody.properties.code.description,
  };
  const error = writer.components['Error'];
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
        Error: { ...error, properties: { ...(error?.['properties'] as Json), code } },
      },
    },
  };
}
