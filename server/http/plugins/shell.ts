import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { Elysia } from 'elysia';
import { VaultError } from '../../core/errors.ts';
import { hasAccount } from '../../services/common/request-context.ts';
import type { Deps } from './app-parts.ts';
import { recordRefusal, recordSuccess } from './audit.ts';
import { arrivalOf, type CallReader, compileCallReader, type Found, readCall } from './call.ts';
import { allowAnyOrigin, isOpen, preflightOf } from './cors.ts';
import { isOnFormsHost } from './forms-host.ts';
import {
  beginRequest,
  endRequest,
  type HttpContext,
  rejectRequest,
  reportBrokenReply,
} from './http-context.ts';
import { emptyResponse, type HeaderList, replyResponse } from './replies.ts';
import type { Call, Reply, Route } from './route.ts';

/** A route with everything compiled that can be. */
interface MountedRoute {
  readonly route: Route;
  readonly reader: CallReader;
  readonly checkReply: ((reply: Reply) => void) | undefined;
  readonly isOpen: boolean;
}

const compileReplyCheck = (route: Route): ((reply: Reply) => void) => {
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
};

const compileRoute = (route: Route, deps: Deps): MountedRoute => ({
  route,
  reader: compileCallReader(route, deps),
  checkReply: deps.http.checkReplies ? compileReplyCheck(route) : undefined,
  isOpen: isOpen(route),
});

/**
 * Notes and counts what was done before its reply is sent; a stream that will not be sent is given up. What has changed
 * something is noted first. A reading is counted first: a Redis that is full takes notes all the same, but no counts, and
 * must not be filled further by somebody who reads again and again.
 */
const account = async (
  { route }: MountedRoute,
  ctx: HttpContext,
  call: Call,
  reply: Reply,
  deps: Deps,
): Promise<void> => {
  const note = (): Promise<void> => recordSuccess(route, ctx, call, reply, deps);
  const count = async (): Promise<void> => {
    if (hasAccount(ctx)) {
      await deps.metering.request(ctx);
    }
  };
  try {
    if (route.method === 'GET') {
      await count();
      await note();
    } else {
      await note();
      await count();
    }
  } catch (error) {
    deps.metering.takeBack(ctx);
    await reply.stream?.cancel();
    throw error;
  }
};

/** The reply of a route, or a refusal once that is noted; a note that cannot be made is a refusal of its own. */
const reply = async (mounted: MountedRoute, ctx: HttpContext, found: Found, deps: Deps): Promise<Reply> => {
  let call: Call | undefined;
  let made: Reply;
  try {
    call = await readCall(mounted.reader, ctx, found.params);
    made = await mounted.route.handle(call);
    mounted.checkReply?.(made);
  } catch (error) {
    deps.metering.takeBack(ctx);
    await recordRefusal(mounted.route, ctx, call, error, deps);
    throw error;
  }
  await account(mounted, ctx, call, made, deps);
  return made;
};

const answerHere = async (
  mounted: MountedRoute,
  request: Request,
  found: Found,
  deps: Deps,
): Promise<Response> => {
  const ctx = beginRequest(request, arrivalOf(mounted.reader, request, found), deps);
  let response: Response;
  try {
    const made = await reply(mounted, ctx, found, deps);
    response = replyResponse(made, ctx.requestId, (error) => {
      reportBrokenReply(ctx, error, deps);
    });
  } catch (error) {
    response = rejectRequest(ctx, error, deps);
  } finally {
    ctx.leave?.();
  }
  if (mounted.isOpen) {
    allowAnyOrigin(response.headers);
  }
  return endRequest(ctx, response, deps);
};

const answer = (mounted: MountedRoute, request: Request, found: Found, deps: Deps): Promise<Response> => {
  const work = (): Promise<Response> => answerHere(mounted, request, found, deps);
  return deps.tracing === undefined ? work() : deps.tracing.begin(request.headers.get('traceparent'), work);
};

const answerPreflight = (request: Request, route: string, headers: HeaderList, deps: Deps): Response => {
  const ctx = beginRequest(request, { route }, deps);
  return endRequest(ctx, emptyResponse(ctx.requestId, headers), deps);
};

/** Where a request ended up that no route takes: a path without this method, or no path at all. */
interface Unrouted {
  readonly route: string;
  /** The methods of the path, for 405; without them the reply is 404. */
  readonly allow?: string;
  /** What the framework threw, if it did. */
  readonly error?: unknown;
}

/** Answers a request that no route takes, in the one error shape. */
export const answerUnrouted = (request: Request, unrouted: Unrouted, deps: Deps): Response => {
  const ctx = beginRequest(request, { route: unrouted.route }, deps);
  const { allow, error = new VaultError(allow === undefined ? 'not_found' : 'method_not_allowed') } =
    unrouted;
  const response = rejectRequest(ctx, error, deps, allow === undefined ? [] : [['Allow', allow]]);
  return endRequest(ctx, response, deps);
};

const mountPath = (app: Elysia, path: string, ofPath: readonly Route[], deps: Deps): void => {
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
};

/**
 * Mounts a table of routes. Each path is mounted once for all methods, with and without its trailing slash, so
 * that no framework default answers for a method of ours: HEAD would run the GET handler, others would be 404.
 * A path in plain words goes before one with a parameter in their place. On the host that is for forms alone there
 * are only the open routes: nothing there ever takes the credentials of an account.
 */
export const mountRoutes = (app: Elysia, routes: readonly Route[], deps: Deps): void => {
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    mountPath(app, path, ofPath, deps);
  }
};
