import { ECDH } from 'node:crypto';
import type { Static } from '@sinclair/typebox';
import { VaultError } from '../core/errors.ts';
import { POINT_EXPECTED } from '../domain/endpoint.ts';
import type { FormPages } from '../form/pages/render.ts';
import { prefersHtml } from '../http/accept.ts';
import { objectOf } from '../http/audit.ts';
import type { HttpConfig } from '../http/deps.ts';
import { nextTokenHeader, replayHeader } from '../http/reply.ts';
import { defineRoute, type Reply, type Route } from '../http/route.ts';
import { CaptureOrder } from '../proxy/schema.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message } from '../schema/common.ts';
import { compileJsonBody } from '../schema/json-body.ts';
import { BinNetworks, ItemsReply, StoredObject } from '../vault/schema.ts';
import type { CaptureBody, Captures } from './captures.ts';
import type { Endpoints, EndpointWithSecret } from './endpoints.ts';
import type { Retrievals } from './retrievals.ts';
import {
  BinPath,
  Captured,
  CaptureEndpoint,
  CaptureQuery,
  CaptureState,
  CreateCaptureQuery,
  CreateRetrieveQuery,
  EndpointList,
  EndpointListQuery,
  EndpointPath,
  RetrieveEndpoint,
  RetrieveQuery,
  SEALED_TYPE,
  SealedCapture,
  SealingKey,
} from './schema.ts';
import type { SealingKeys } from './sealing-keys.ts';

interface Needs {
  readonly captures: Captures;
  readonly endpoints: Endpoints;
  readonly formPages: FormPages;
  readonly http: HttpConfig;
  readonly retrievals: Retrievals;
  readonly sealingKeys: SealingKeys;
}

/** The origin of the page that sent a request; undefined for a program, and for pages of the vault. */
function foreignOrigin({ headers }: Request, { publicUrl, formsUrl }: HttpConfig): string | undefined {
  const origin = headers.get('origin');
  const isOwn = origin === null || origin === formsUrl || origin === URL.parse(publicUrl)?.origin;
  return isOwn ? undefined : origin;
}

/** Shows a new endpoint with its secret: the only reply that ever contains it. */
function shownOnce({ url, unique_id, secret, expires_at }: EndpointWithSecret) {
  return { url, unique_id, secret: secret.expose(), expires_at };
}

/** Returns a card form that works with a new endpoint as it is; undefined if the caller wants the endpoint itself. */
function readyPage(
  request: Request,
  formPages: FormPages,
  { unique_id, secret }: EndpointWithSecret,
  lock: { readonly token?: string | undefined; readonly reference?: string | undefined } = {},
): Reply | undefined {
  if (!prefersHtml(request.headers.get('accept'))) {
    return undefined;
  }
  const { token, reference } = lock;
  const visit = { unique_id, secret: secret.expose(), token, reference };
  return formPages.render({ form_type: 'pcd', settings: {} }, { visit });
}

/** The words for each kind of endpoint in its operations and descriptions. */
const KINDS = {
  capture: { operations: 'CaptureEndpoint', adjective: 'capture', kept: ' Data that it stored is kept.' },
  retrieve: { operations: 'RetrieveEndpoint', adjective: 'retrieval', kept: '' },
} as const;

function listEndpoints(noun: keyof typeof KINDS): Route<Needs> {
  const { operations, adjective } = KINDS[noun];
  return defineRoute({
    auth: 'basic',
    method: 'GET',
    path: `/v1/${noun}`,
    operationId: `list${operations}s`,
    scope: `${noun}:write`,
    noun,
    summary: `List ${adjective} endpoints`,
    description: `Lists the ${adjective} endpoints of the account, or of one key. Expired endpoints are listed until the vault removes them, a day later.`,
    query: EndpointListQuery,
    response: EndpointList,
    errors: ['key_not_found'],
    meter: ['list'],
    handle: async ({ ctx, query: { user } }, services: Needs) => ({
      json: await services.endpoints.list(ctx, noun, user),
    }),
  });
}

function removeEndpoint(noun: keyof typeof KINDS): Route<Needs> {
  const { operations, adjective, kept } = KINDS[noun];
  return defineRoute({
    auth: 'basic',
    method: 'DELETE',
    path: `/v1/${noun}/{unique_id}`,
    operationId: `delete${operations}`,
    scope: `${noun}:write`,
    noun,
    summary: `Delete a ${adjective} endpoint`,
    description: `Deletes an endpoint of either kind immediately and releases its id.${kept}`,
    params: EndpointPath,
    response: Message,
    errors: ['endpoint_not_found'],
    meter: ['delete'],
    audit: { action: 'endpoint.delete', object: ({ params }) => objectOf('endpoint', params.unique_id) },
    handle: async ({ ctx, params }, services: Needs) => {
      await services.endpoints.remove(ctx, params.unique_id);
      return { json: { message: 'The endpoint was deleted.' } };
    },
  });
}

const createCapture = defineRoute({
  method: 'POST',
  path: '/v1/capture',
  operationId: 'createCaptureEndpoint',
  scope: 'capture:write',
  noun: 'capture',
  summary: 'Create a capture endpoint',
  description:
    'Creates an endpoint that stores posted data, or with `token` adds it to one item, and can do nothing else. A webhook in the body is told of each capture. Give its URL and secret to the party that sends data. The rules are applied to the data before it is stored. With `Accept: text/html` the reply is a card form for this endpoint, ready to use.',
  auth: 'basic',
  query: CreateCaptureQuery,
  passphrase: 'required',
  body: { kind: 'stored', schema: CaptureOrder, bytesMax: BODY_BYTES.short, optional: true },
  html: 'preferred',
  response: CaptureEndpoint,
  errors: [
    'endpoint_exists',
    'passphrase_wrong',
    'key_not_found',
    'key_changed',
    'token_not_found',
    'reference_required',
    'destination_refused',
  ],
  meter: ['capture_create'],
  audit: { action: 'endpoint.create', object: ({ query }) => objectOf('endpoint', query.unique_id) },
  handle: async ({ ctx, query, passphrase, body, request }, services: Needs) => {
    const made = await services.captures.create(ctx, { ...query, passphrase, body });
    const reply = readyPage(request, services.formPages, made) ?? { json: shownOnce(made) };
    return { ...reply, object: objectOf('endpoint', made.unique_id) };
  },
});

const checkSealed = compileJsonBody(SealedCapture);

function isSealed(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === SEALED_TYPE;
}

/** Reads the parts of a sealed body. Only a thread opens the ciphertext. */
function readSealed(bytes: Uint8Array): CaptureBody {
  // Checked against the schema of this type.
  const { kid, enc, ct } = checkSealed(bytes) as Static<typeof SealedCapture>;
  try {
    const [half, body] = [enc, ct].map((text) => Uint8Array.fromBase64(text, { alphabet: 'base64url' }));
    return { body: body ?? bytes, sealed: { kid, enc: half ?? bytes } };
  } catch {
    throw new VaultError('invalid_request', { field: 'body' });
  }
}

const capture = defineRoute({
  method: 'POST',
  path: '/v1/capture/{unique_id}',
  operationId: 'capture',
  scope: 'none',
  noun: 'capture',
  summary: 'Send data to a capture endpoint',
  description:
    'Stores the body as POST /vault does; the secret of the endpoint replaces account, key and passphrase. Where the endpoint is for one token, what is sent is merged into that item: it is sealed as it comes, and opens with the item. It works from any web page: the body is parsed as JSON for every content type. An unknown endpoint and a wrong secret give the same error.',
  auth: 'capture_secret',
  params: EndpointPath,
  query: CaptureQuery,
  body: {
    kind: 'stored',
    schema: StoredObject,
    bytesMax: BODY_BYTES.item,
    other: { type: SEALED_TYPE, schema: SealedCapture },
  },
  response: Captured,
  errors: [
    'not_allowed',
    'number_missing',
    'number_invalid',
    'too_many_failures',
    'charset_unsupported',
    'track_data_refused',
    'test_card',
    'metadata_sensitive',
    'reference_sensitive',
    'token_exists',
    'sealing_required',
    'sealing_key_expired',
    'token_not_found',
    'endpoint_out_of_scope',
    'patches_full',
    'jobs_full',
    'rule_not_found',
    'rule_limit',
  ],
  meter: ['capture'],
  idempotent: true,
  handle: async ({ ctx, params, secret, query, body, request }, services: Needs) => {
    const contentType = request.headers.get('content-type') ?? undefined;
    const sent = isSealed(contentType) ? readSealed(body) : { body, contentType };
    const origin = foreignOrigin(request, services.http);
    const given = { ...query, ...params, secret, origin, ...sent };
    const { reply, replayed } = await services.captures.use(ctx, given);
    return { json: reply, headers: replayHeader(replayed) };
  },
});

const checkCapture = defineRoute({
  method: 'GET',
  path: '/v1/capture/{unique_id}',
  operationId: 'checkCaptureEndpoint',
  scope: 'none',
  noun: 'capture',
  summary: 'Ask whether a capture endpoint takes data',
  description:
    'Says that the secret is right and until when the endpoint takes data, so that a page can say so before somebody types. Nothing is stored, logged or billed; errors are recorded as those of a capture are.',
  auth: 'capture_secret',
  params: EndpointPath,
  response: CaptureState,
  errors: [],
  meter: [],
  handle: async ({ ctx, params, secret, request }, services: Needs) => {
    const origin = foreignOrigin(request, services.http);
    return { json: await services.captures.check(ctx, { ...params, secret, origin }) };
  },
});

const readNetworks = defineRoute({
  method: 'GET',
  path: '/v1/capture/{unique_id}/bin/{digits}',
  operationId: 'readNetworks',
  scope: 'none',
  noun: 'capture',
  summary: 'Ask for the networks of a card',
  description:
    'Tells the networks of a card by its first six to eight digits, from the BIN table of the operator, so that a form can offer the choice between two. At most 10 requests a minute from each address.',
  auth: 'capture_secret',
  params: BinPath,
  response: BinNetworks,
  errors: ['integrity_failed'],
  meter: [],
  handle: async ({ ctx, params: { unique_id, digits }, secret }, services: Needs) => ({
    json: await services.captures.networks(ctx, { unique_id, secret }, digits),
  }),
});

// A key is accepted for at least a day after it was returned.
const KEY_AGE_SECONDS = 3_600;

const sealingKey = defineRoute({
  method: 'GET',
  path: '/v1/capture/{unique_id}/sealing-key',
  operationId: 'getSealingKey',
  scope: 'none',
  noun: 'capture',
  summary: 'Get the key to seal a capture to',
  description:
    'The key of the day, to which a browser can seal what it sends to a capture endpoint, so that nothing between it and the vault can read it. It is the same for every id, also for one that no endpoint has, so it says nothing about endpoints. May be cached for an hour.',
  auth: 'public',
  params: EndpointPath,
  response: SealingKey,
  errors: ['integrity_failed'],
  meter: [],
  handle: async (_, services: Needs) => ({
    json: await services.sealingKeys.current(),
    headers: { 'Cache-Control': `public, max-age=${KEY_AGE_SECONDS}` },
  }),
});

export const CAPTURE_ROUTES = [
  createCapture,
  listEndpoints('capture'),
  capture,
  checkCapture,
  sealingKey,
  readNetworks,
  removeEndpoint('capture'),
];

const createRetrieve = defineRoute({
  method: 'POST',
  path: '/v1/retrieve',
  operationId: 'createRetrieveEndpoint',
  scope: 'retrieve:write',
  noun: 'retrieve',
  summary: 'Create a retrieval endpoint',
  description:
    'Creates an endpoint that reads items of a key and can do nothing else. Its scope is all items, one token, or one reference. Masks and rules are applied to what it returns; masks of the account come first. With `Accept: text/html` the reply is a page that displays the item; this needs `token`, and `reference` if the item has one.',
  auth: 'basic',
  query: CreateRetrieveQuery,
  passphrase: 'required',
  html: 'preferred',
  response: RetrieveEndpoint,
  errors: ['endpoint_exists', 'passphrase_wrong', 'key_not_found', 'key_changed'],
  meter: ['retrieve_create'],
  audit: { action: 'endpoint.create', object: ({ query }) => objectOf('endpoint', query.unique_id) },
  handle: async ({ ctx, query, passphrase, request }, services: Needs) => {
    if (query.token === undefined && prefersHtml(request.headers.get('accept'))) {
      const expected = 'is missing: a page shows one item';
      throw new VaultError('invalid_request', { field: 'query.token', expected });
    }
    const made = await services.retrievals.create(ctx, { ...query, passphrase });
    const { user, token, reference } = query;
    const json = { ...shownOnce(made), user, token, reference };
    const reply = readyPage(request, services.formPages, made, query) ?? { json };
    return { ...reply, object: objectOf('endpoint', made.unique_id) };
  },
});

const SEAL_TO = 'X-Vault-Seal-To';
const POINT_BYTES = 65;
/** The first byte of an uncompressed point (SEC 1, section 2.3.3). */
const UNCOMPRESSED = 0x04;
const CURVE = 'prime256v1';

/** The point that a reply is sealed to, if the reader sends one. Throws for what is none, before anything is read. */
function sealTo(headers: Headers): Uint8Array | undefined {
  const text = headers.get(SEAL_TO);
  if (text === null) {
    return undefined;
  }
  try {
    const point = Uint8Array.fromBase64(text, { alphabet: 'base64url' });
    if (point.length === POINT_BYTES && point[0] === UNCOMPRESSED) {
      ECDH.convertKey(point, CURVE);
      return point;
    }
  } catch {
    // Neither base64url nor a point.
  }
  throw new VaultError('invalid_request', { field: `header.${SEAL_TO}`, expected: POINT_EXPECTED });
}

const retrieve = defineRoute({
  method: 'GET',
  path: '/v1/retrieve/{unique_id}',
  operationId: 'retrieve',
  scope: 'none',
  noun: 'retrieve',
  summary: 'Read through a retrieval endpoint',
  description:
    'With `token`, returns the object itself; otherwise the tree of the items in the scope of the endpoint, with their data if `decrypt_all` is true. Items outside the scope give an error. With the header `X-Vault-Seal-To`, a point of P-256 in base64url, the reply is sealed to it and a page at most 4 MB long. An unknown endpoint and a wrong secret give the same error.',
  auth: 'retrieve_secret',
  params: EndpointPath,
  query: RetrieveQuery,
  response: ItemsReply,
  errors: [
    'endpoint_out_of_scope',
    'sealing_required',
    'reference_required',
    'cursor_invalid',
    'token_not_found',
    'rule_not_found',
    'rule_limit',
  ],
  meter: ['retrieve'],
  handle: async ({ ctx, params, secret, query, request }, services: Needs) => {
    const origin = foreignOrigin(request, services.http);
    const given = { ...query, ...params, secret, origin };
    const to = sealTo(request.headers);
    if (to !== undefined) {
      const { enc, ct, nextToken } = await services.retrievals.useSealed(ctx, given, to);
      const [encText, ctText] = [enc, ct].map((bytes) => Buffer.from(bytes).toString('base64url'));
      const headers = { ...nextTokenHeader(nextToken), 'Content-Type': SEALED_TYPE };
      return { jsonBytes: Buffer.from(JSON.stringify({ enc: encText, ct: ctText })), headers };
    }
    const reply = await services.retrievals.use(ctx, given);
    return reply instanceof Uint8Array
      ? { jsonBytes: reply }
      : { stream: reply.stream, headers: nextTokenHeader(reply.nextToken) };
  },
});

export const RETRIEVE_ROUTES = [
  createRetrieve,
  listEndpoints('retrieve'),
  retrieve,
  removeEndpoint('retrieve'),
];
