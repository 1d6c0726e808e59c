import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { Elysia } from 'elysia';
import { VaultError } from '../../core/errors.ts';
import { hasAccount } from '../../services/common/request-context.ts';
import type { Deps, HttpConfig } from './app-parts.ts';
import { recordRejection, recordSuccess } from './audit.ts';
import { arrivalOf, type CallReader, compileCallReader, type Found, readCall } from './call.ts';
import { allowAnyOrigin, isOpen, preflightOf } from './cors.ts';
import {
  beginRequest,
  endRequest,
  errorReply,
  type HttpContext,
  reportBrokenReply,
  reportError,
} from './http-context.ts';
import { emptyResponse, type HeaderList, replyResponse } from './replies.ts';
import type { Call, Reply, Route } from './route.ts';

/** A route with everything compiled that can be. */
interface MountedRoute {
  readonly route: Route;
  readonly reader: CallReader;
  readonly checkReply: ((reply: Reply) => void) | undefined;
  readonly isOpen: boolean;
  /** Whether the security log has an entry for each success. */
  readonly isRecorded: boolean;
}

function compileReplyCheck(route: Route): (reply: Reply) => void {
  const schema = TypeCompiler.Compile(route.response);
  const decoder = new TextDecoder();
  return (reply) => {
    if (reply.stream !== undefined || reply.html !== undefined || reply.file !== undefined) {
      return;
    }
    const value = reply.json ?? JSON.parse(decoder.decode(reply.jsonBytes));
    if (!schema.Check(value)) {
      throw new TypeError(`the reply of ${route.operationId} does not fit its schema`);
    }
  };
}

function compileRoute(route: Route, deps: Deps): MountedRoute {
  return {
    route,
    reader: compileCallReader(route, deps),
    checkReply: deps.http.checkReplies ? compileReplyCheck(route) : undefined,
    isOpen: isOpen(route),
    isRecorded: route.audit?.of === 'all',
  };
}

/**
 * Records and counts what was done, before its reply is sent. What has changed something is recorded first. A reading is
 * counted first: a Redis that is full takes records all the same, but no counts, and must not be filled further by
 * somebody who reads again and again.
 */
async function recordAndCount(
  { route, isRecorded }: MountedRoute,
  ctx: HttpContext,
  call: Call,
  reply: Reply,
  deps: Deps,
): Promise<void> {
  if (isRecorded && route.method !== 'GET') {
    await recordSuccess(route, ctx, call, reply, deps);
  }
  if (hasAccount(ctx)) {
    await deps.metering.request(ctx);
  }
  if (isRecorded && route.method === 'GET') {
    await recordSuccess(route, ctx, call, reply, deps);
  }
}

/** How far a request came. */
interface Progress {
  call: Call | undefined;
  /** Set when the route has done its work. */
  reply: Reply | undefined;
}

async function handle(mounted: MountedRoute, ctx: HttpContext, found: Found, deps: Deps, progress: Progress) {
  const call = await readCall(mounted.reader, ctx, found.params);
  progress.call = call;
  const reply = await mounted.route.handle(call);
  mounted.checkReply?.(reply);
  progress.reply = reply;
  await recordAndCount(mounted, ctx, call, reply, deps);
  // A stream that fails half-way is logged.
  return replyResponse(reply, ctx.requestId, (error) => reportBrokenReply(ctx, error, deps));
}

/**
 * The reply to a request that has failed. What was counted ahead of its outcome is taken back, here alone; a stream that
 * will not be sent is given up; a rejection is recorded first. When it cannot be, that is what its caller is told.
 */
async function fail(
  { route }: MountedRoute,
  ctx: HttpContext,
  error: unknown,
  { call, reply }: Progress,
  deps: Deps,
): Promise<Response> {
  deps.metering.takeBack(ctx);
  const failure = reportError(error, ctx, deps);
  if (reply !== undefined) {
    await reply.stream?.cancel().catch(() => undefined);
    return errorReply(ctx, failure);
  }
  try {
    await recordRejection(route, ctx, call, failure.code, deps);
    return errorReply(ctx, failure);
  } catch (unrecorded) {
    return errorReply(ctx, reportError(unrecorded, ctx, deps));
  }
}

async function respond(mounted: MountedRoute, ctx: HttpContext, found: Found, deps: Deps): Promise<Response> {
  const progress: Progress = { call: undefined, reply: undefined };
  let response: Response;
  try {
    response = await handle(mounted, ctx, found, deps, progress);
  } catch (error) {
    response = await fail(mounted, ctx, error, progress, deps);
  } finally {
    deps.admission.leave(ctx);
  }
  if (mounted.isOpen) {
    allowAnyOrigin(response.headers);
  }
  return endRequest(ctx, response, deps);
}

function answer(mounted: MountedRoute, request: Request, found: Found, deps: Deps): Promise<Response> {
  const ctx = beginRequest(request, arrivalOf(mounted.reader, request, found), deps);
  const { tracing } = deps;
  ctx.span = tracing?.begin(request.headers.get('traceparent'));
  return tracing === undefined || ctx.span === undefined
    ? respond(mounted, ctx, found, deps)
    : tracing.within(ctx.span, () => respond(mounted, ctx, found, deps));
}

function answerPreflight(request: Request, route: string, headers: HeaderList, deps: Deps): Response {
  const ctx = beginRequest(request, { route }, deps);
  return endRequest(ctx, emptyResponse(ctx.requestId, headers), deps);
}

/** Where a request ended up that no route takes: a path without this method, or no path at all. */
interface Unrouted {
  readonly route: string;
  /** The methods of the path, for 405; without them the reply is 404. */
  readonly allow?: string;
  /** What the framework threw, if it did. */
  readonly error?: unknown;
}

/** Answers a request that no route takes, in the one error shape. */
export function answerUnrouted(request: Request, { route, allow, error }: Unrouted, deps: Deps): Response {
  const ctx = beginRequest(request, { route }, deps);
  const code = allow === undefined ? 'not_found' : 'method_not_allowed';
  const failure = error === undefined ? new VaultError(code) : reportError(error, ctx, deps);
  return endRequest(ctx, errorReply(ctx, failure, allow === undefined ? [] : [['Allow', allow]]), deps);
}

function mountPath(app: Elysia, path: string, ofPath: readonly Route[], deps: Deps): void {
  const methods = new Map(ofPath.map((route) => [route.method as string, compileRoute(route, deps)]));
  const page = ofPath.find(({ html }) => html === 'always');
  const mountedPage = page && methods.get(page.method);
  if (mountedPage !== undefined) {
    // The runtime leaves out the body, and tells its length.
    methods.set('HEAD', mountedPage);
  }
  const preflight = preflightOf(ofPath);
  const allow = [...methods.keys(), ...(preflight === undefined ? [] : ['OPTIONS'])].join(', ');
  app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), ({ request, server, params }) => {
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
  });
}

/**
 * Mounts a table of routes. Each path is mounted once for all methods, with and without its trailing slash, so
 * that no framework default answers for a method of ours: HEAD would run the GET handler, others would be 404.
 * A path in plain words goes before one with a parameter in their place. On the host that is for forms alone there
 * are only the open routes: nothing there ever takes the credentials of an account.
 */
export function mountRoutes(app: Elysia, routes: readonly Route[], deps: Deps): void {
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    mountPath(app, path, ofPath, deps);
  }
}

/** The name and port of a URL's host, without the ports that go without saying and a last dot; '' where there is none. */
function hostOf(url: string): string {
  return (URL.parse(url)?.host ?? '').replace(/:(?:443|80)$/, '').replace(/\.(?=:|$)/, '');
}

/** Whether a request came in on the host that is for forms alone; never where there is none. */
export function isOnFormsHost({ formsUrl }: HttpConfig, request: Pick<Request, 'url'>): boolean {
  return formsUrl !== undefined && hostOf(request.url) === hostOf(formsUrl);
}
