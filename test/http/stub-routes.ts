import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { AppDeps } from '../../server/boot/app.ts';
import { VaultError } from '../../server/core/errors.ts';
import { answerUnrouted, mountRoutes } from '../../server/http/mount.ts';
import { nextTokenHeader } from '../../server/http/reply.ts';
import { defineRoute, type Reply, type Route } from '../../server/http/route.ts';
import type { RequestContext } from '../../server/request/context.ts';
import { ENDPOINT, textOf } from './stub-endpoints.ts';

/** What the handler of a stub route was given. */
export interface Seen {
  readonly operation: string;
  readonly params: Readonly<Record<string, string>>;
  readonly secret?: string;
  readonly body?: unknown;
  readonly ctx?: RequestContext;
}

const EndpointPath = Type.Object({
  unique_id: Type.String({ pattern: '^[a-z]{1,9}$', description: 'An id.' }),
});
const FormPath = Type.Object({ form_id: Type.String({ description: 'An id.' }) });
const Ok = Type.Object({ ok: Type.Boolean({ description: 'Always true.' }) });
const Query = Type.Object({
  next_token: Type.Optional(Type.String({ description: 'A position.' })),
  mode: Type.Optional(
    Type.Union([Type.Literal('a'), Type.Literal('b')], { description: 'One of two words.' }),
  ),
});

function streamOf(text: string) {
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}

/** What the endpoint's service would do, with the kinds of replies and errors to be had by asking for them. */
function use(id: string, secret: string, wanted: string | null): Reply {
  if (id !== ENDPOINT.id || secret !== ENDPOINT.secret) {
    throw new VaultError('endpoint_refused');
  }
  switch (wanted) {
    case 'bug':
      throw new Error('canary-of-a-bug');
    case 'gone':
      throw new VaultError('endpoint_gone');
    case 'busy':
      throw new VaultError('overloaded');
    case 'misfit':
      return { json: { ok: 'no' } };
    case 'stream':
      return { stream: streamOf('{"ok":true}'), headers: nextTokenHeader('more') };
    default:
      return { json: { ok: true } };
  }
}

const COMMON = {
  noun: 'capture',
  summary: 'Do something',
  description: 'Does it.',
  passphrase: 'none',
  response: Ok,
  errors: [],
  meter: [],
  idempotent: false,
  query: Query,
} as const;
const NO_BODY = { kind: 'none' } as const;

/** Routes that their caller opens with the secret of an endpoint, or with nothing. */
function openRoutes(seen: Seen[]): readonly Route<unknown>[] {
  return [
    defineRoute({
      ...COMMON,
      method: 'POST',
      path: '/v1/capture/{unique_id}',
      operationId: 'capture',
      auth: 'capture_secret',
      scope: 'none',
      params: EndpointPath,
      body: { kind: 'stored', schema: Type.Object({}), bytesMax: 262_144 },
      idempotent: true,
      handle: async ({ ctx, params, secret, body, request }) => {
        const text = textOf(secret);
        seen.push({
          operation: 'capture',
          params,
          secret: text,
          body: new TextDecoder().decode(body),
          ctx,
        });
        return use(params.unique_id, text, new URL(request.url).searchParams.get('want'));
      },
    }),
    defineRoute({
      ...COMMON,
      method: 'GET',
      path: '/v1/retrieve/{unique_id}',
      operationId: 'retrieve',
      auth: 'retrieve_secret',
      scope: 'none',
      params: EndpointPath,
      body: NO_BODY,
      handle: async ({ params, secret, request }) => {
        const text = textOf(secret);
        seen.push({ operation: 'retrieve', params, secret: text });
        return use(params.unique_id, text, new URL(request.url).searchParams.get('want'));
      },
    }),
    defineRoute({
      ...COMMON,
      method: 'PUT',
      path: '/v1/open',
      operationId: 'sendJson',
      auth: 'public',
      scope: 'none',
      body: { kind: 'json', schema: Type.Array(Ok), bytesMax: 1_048_576 },
      handle: async ({ body }) => {
        seen.push({ operation: 'sendJson', params: {}, body });
        return { json: { ok: true } };
      },
    }),
  ];
}

/** Routes of accounts on the same paths, and plain words beside parameters. */
function closedRoutes(seen: Seen[]): readonly Route<unknown>[] {
  const closed =
    (operation: string) => async (call: { readonly params: object; readonly secret: undefined }) => {
      seen.push({ operation, params: { ...call.params } });
      return { json: { ok: true } };
    };
  return [
    defineRoute({
      ...COMMON,
      method: 'DELETE',
      path: '/v1/capture/{unique_id}',
      operationId: 'deleteCapture',
      auth: 'basic',
      scope: 'any',
      params: EndpointPath,
      body: NO_BODY,
      handle: closed('deleteCapture'),
    }),
    defineRoute({
      ...COMMON,
      method: 'GET',
      path: '/v1/retrieve/iframe',
      operationId: 'listForms',
      auth: 'basic',
      scope: 'any',
      body: NO_BODY,
      handle: closed('listForms'),
    }),
    defineRoute({
      ...COMMON,
      method: 'GET',
      path: '/v1/retrieve/iframe/{form_id}',
      operationId: 'showForm',
      auth: 'public',
      scope: 'none',
      params: FormPath,
      body: NO_BODY,
      handle: closed('showForm'),
    }),
  ];
}

/** Routes as they are with endpoints: open and closed ones on one path, plain words beside parameters. */
export function stubRoutes(seen: Seen[]): readonly Route<unknown>[] {
  return [...openRoutes(seen), ...closedRoutes(seen)];
}

/** The stub routes as an application, with what the whole one does about unknown paths. */
export function createStubApp(seen: Seen[]) {
  return (parts: AppDeps): Elysia => {
    const app = new Elysia({ normalize: false, handler: { standardHostname: false } });
    app.onError(({ code, error, request }) =>
      answerUnrouted(request, { route: '(none)', error: code === 'NOT_FOUND' ? undefined : error }, parts),
    );
    mountRoutes(app, stubRoutes(seen), parts, undefined);
    app.compile();
    return app;
  };
}
