import type { TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import type { Elysia } from 'elysia';
import { VaultError } from '../core/errors.ts';
import { hasAccount, rejectAbandoned } from '../request/context.ts';
import {
  admit,
  arrivalOf,
  type CallReader,
  compileCallReader,
  type Found,
  readCall,
  receive,
} from './arrival.ts';
import { recordRejection, recordSuccess } from './audit.ts';
import { dropBody, hasLongBody } from './body.ts';
import {
  beginRequest,
  endRequest,
  errorReply,
  type HttpContext,
  reportBrokenReply,
  reportError,
} from './context.ts';
import { allowAnyOrigin, isOpen, preflightOf } from './cors.ts';
import type { HttpConfig, HttpDeps } from './deps.ts';
import { emptyResponse, type HeaderList, headResponse, replyResponse } from './reply.ts';
import type { Call, Reply, Route, RouteShape } from './route.ts';

/** A route with its compiled schemas. */
interface MountedRoute {
  readonly route: RouteShape;
  readonly handle: (call: Call) => Promise<Reply>;
  readonly reader: CallReader;
  readonly checkReply: ((reply: Reply) => void) | undefined;
  readonly isOpen: boolean;
  /** True if each success is recorded in the security log. */
  readonly isRecorded: boolean;
}

/** Compiled schemas of replies, shared by all applications of the process. */
const REPLY_CHECKS = new WeakMap<TSchema, TypeCheck<TSchema>>();

function compileReplyCheck(route: RouteShape): (reply: Reply) => void {
  const schema = REPLY_CHECKS.get(route.response) ?? TypeCompiler.Compile(route.response);
  REPLY_CHECKS.set(route.response, schema);
  const decoder = new TextDecoder();
  return (reply) => {
    if (reply.json === undefined && reply.jsonBytes === undefined) {
      return;
    }
    const value = reply.json ?? JSON.parse(decoder.decode(reply.jsonBytes));
    if (!schema.Check(value)) {
      throw new TypeError(`the reply of ${route.operationId} does not fit its schema`);
    }
  };
}

function compileRoute<Needs>(route: Route<Needs>, deps: HttpDeps, services: Needs): MountedRoute {
  return {
    route,
    handle: (call) => route.handle(call, services),
    reader: compileCallReader(route, deps),
    checkReply: deps.http.checkReplies ? compileReplyCheck(route) : undefined,
    isOpen: isOpen(route),
    isRecorded: route.audit !== undefined && route.audit.of !== 'errors',
  };
}

interface Progress {
  call: Call | undefined;
  /** Set when the route has done its work. */
  reply: Reply | undefined;
}

async function handle(
  mounted: MountedRoute,
  ctx: HttpContext,
  found: Found,
  deps: HttpDeps,
  progress: Progress,
): Promise<Response> {
  const { reader, route, isRecorded } = mounted;
  const received = await receive(reader, ctx);
  await admit(reader, ctx, received);
  const read = readCall(reader, ctx, found.params, received);
  const call = read instanceof Promise ? await read : read;
  progress.call = call;
  rejectAbandoned(ctx);
  const reply = await mounted.handle(call);
  mounted.checkReply?.(reply);
  progress.reply = reply;
  // A change is recorded first. A read is counted first: a full Redis still accepts records, but no counts, and repeated
  // reads must not fill it further.
  if (isRecorded && route.method !== 'GET') {
    await recordSuccess(route, ctx, call, reply, deps);
  }
  if (hasAccount(ctx)) {
    await deps.metering.request(ctx);
  }
  if (isRecorded && route.method === 'GET') {
    await recordSuccess(route, ctx, call, reply, deps);
  }
  if (ctx.request.method === 'HEAD' && reply.relayed === undefined) {
    return headResponse(reply, ctx.requestId);
  }
  return replyResponse(reply, ctx.requestId, (error) => reportBrokenReply(ctx, error, deps));
}

/** The reply to a failed request: subtracts its counts, cancels its stream, and records the rejection first. */
async function fail(
  { route }: MountedRoute,
  ctx: HttpContext,
  error: unknown,
  progress: Progress,
  deps: HttpDeps,
): Promise<Response> {
  const { call, reply } = progress;
  deps.metering.takeBack(ctx);
  const failure = reportError(error, ctx, deps);
  if (ctx.body === 'untouched' && hasLongBody(ctx.request.headers)) {
    dropBody(ctx.request);
  }
  if (reply !== undefined) {
    const { relayed, stream = relayed?.body } = reply;
    await (stream instanceof ReadableStream ? stream.cancel().catch(() => undefined) : undefined);
    return errorReply(ctx, failure);
  }
  try {
    await recordRejection(route, ctx, call, failure.code, deps);
    return errorReply(ctx, failure);
  } catch (unrecorded) {
    return errorReply(ctx, reportError(unrecorded, ctx, deps));
  }
}

async function respond(
  mounted: MountedRoute,
  ctx: HttpContext,
  found: Found,
  deps: HttpDeps,
): Promise<Response> {
  const progress: Progress = { call: undefined, reply: undefined };
  let response: Response;
  try {
    response = await handle(mounted, ctx, found, deps, progress);
  } catch (error) {
    response = await fail(mounted, ctx, error, progress, deps);
  } finally {
    if (ctx.work !== undefined) {
      deps.limiter.release(ctx.work, ctx.owner);
      ctx.work = undefined;
    }
    ctx.held?.release();
  }
  if (mounted.isOpen) {
    allowAnyOrigin(response.headers);
  }
  return endRequest(ctx, response, deps);
}

function answer(mounted: MountedRoute, request: Request, found: Found, deps: HttpDeps): Promise<Response> {
  const ctx = beginRequest(request, arrivalOf(mounted.reader, request, found), deps);
  const { tracer } = deps;
  ctx.span = tracer?.start(request.headers.get('traceparent'));
  return tracer === undefined || ctx.span === undefined
    ? respond(mounted, ctx, found, deps)
    : tracer.within(ctx.span, () => respond(mounted, ctx, found, deps));
}

function answerPreflight(request: Request, route: string, headers: HeaderList, deps: HttpDeps): Response {
  const ctx = beginRequest(request, { route }, deps);
  return endRequest(ctx, emptyResponse(ctx.requestId, headers), deps);
}

/** A request without a route: its path does not exist, or not with this method. */
interface Unrouted {
  readonly route: string;
  /** The methods of the path for 405; the reply is 404 without them. */
  readonly allow?: string;
  readonly error?: unknown;
}

/** Replies with an error to a request without a route. */
export function answerUnrouted(
  request: Request,
  { route, allow, error }: Unrouted,
  deps: HttpDeps,
): Response {
  const ctx = beginRequest(request, { route }, deps);
  const code = allow === undefined ? 'not_found' : 'method_not_allowed';
  const failure = error === undefined ? new VaultError(code) : reportError(error, ctx, deps);
  return endRequest(ctx, errorReply(ctx, failure, allow === undefined ? [] : [['Allow', allow]]), deps);
}

function mountPath(app: Elysia, path: string, methods: Map<string, MountedRoute>, deps: HttpDeps): void {
  const routes = [...methods.values()].map(({ route }) => route);
  const read = methods.get('GET');
  if (read !== undefined) {
    methods.set('HEAD', read);
  }
  const preflight = preflightOf(routes);
  const allow = [...methods.keys(), ...(preflight === undefined ? [] : ['OPTIONS'])].join(', ');
  const respondTo = ({ request, server, params }: Mounted): Response | Promise<Response> => {
    const mounted = methods.get(request.method);
    const isOpenMethod = mounted?.isOpen ?? (request.method === 'OPTIONS' && preflight !== undefined);
    if (!isOpenMethod && isOnFormsHost(deps.http, request)) {
      return answerUnrouted(request, { route: '(none)' }, deps);
    }
    if (mounted !== undefined) {
      return answer(mounted, request, { server, params }, deps);
    }
    return request.method === 'OPTIONS' && preflight !== undefined
      ? answerPreflight(request, path, preflight, deps)
      : answerUnrouted(request, { route: path, allow }, deps);
  };
  for (const pattern of patternsOf(path)) {
    mountAll(app, pattern, respondTo);
  }
}

/** The patterns of a path for the framework. A final `{path}` of third parties may be empty or have many segments. */
function patternsOf(path: string): readonly string[] {
  const [, base] = /^(.*)\/\{path\}$/.exec(path) ?? [];
  const pattern = (base ?? path).replaceAll(/\{(\w+)\}/g, ':$1');
  return base === undefined ? [pattern] : [pattern, `${pattern}/*`];
}

interface Mounted extends Found {
  readonly request: Request;
}

/** Mounts a path for all methods. Without an explicit HEAD the framework would read the whole body to count it. */
export function mountAll(
  app: Elysia,
  path: string,
  respond: (mounted: Mounted) => Response | Promise<Response>,
): void {
  app.all(path, respond);
  app.head(path, respond);
}

/**
 * Mounts a table of routes. Each path is mounted once for all methods, with and without its trailing slash, so that no
 * default of the framework applies: HEAD would run the GET handler, others would be 404. A literal path takes precedence over
 * a parameter. The separate host for forms has only the open routes, and so never receives credentials of an account.
 */
export function mountRoutes<Needs>(
  app: Elysia,
  routes: readonly Route<Needs>[],
  deps: HttpDeps,
  services: Needs,
): void {
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    const compiled = ofPath.map((route) => [route.method, compileRoute(route, deps, services)] as const);
    mountPath(app, path, new Map<string, MountedRoute>(compiled), deps);
  }
}

/** The host of a URL with its port, without default ports and a trailing dot; '' for an invalid URL. */
function hostOf(url: string): string {
  return (URL.parse(url)?.host ?? '').replace(/:(?:443|80)$/, '').replace(/\.(?=:|$)/, '');
}

/** True for a request to the separate host for forms. */
export function isOnFormsHost({ formsUrl }: HttpConfig, request: Request): boolean {
  return formsUrl !== undefined && hostOf(request.url) === hostOf(formsUrl);
}
