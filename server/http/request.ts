import type { VaultError } from '../core/errors.ts';
import { sourceOf } from '../domain/text/network.ts';
import { hasAccount, rejectAbandoned } from '../request/context.ts';
import { recordRejection, recordSuccess } from './audit.ts';
import { authorizeRoute } from './authorize.ts';
import { dropBody, lengthOf, receiveBody } from './body.ts';
import { hasLongBody } from './body-hold.ts';
import { type PathParams, readCall } from './call.ts';
import { recallCaller, requireConsole } from './caller.ts';
import type { MountedRoute } from './compile.ts';
import {
  arrive,
  endRequest,
  errorReply,
  type HttpContext,
  reportBrokenReply,
  reportError,
} from './context.ts';
import { allowAnyOrigin } from './cors.ts';
import type { HttpDeps } from './deps.ts';
import { headResponse, replyResponse } from './reply.ts';
import type { Call, Reply } from './route.ts';

/** A request as the framework has routed it. */
export interface Routed {
  readonly request: Request;
  /** The server of Bun; null for a request within the process. */
  readonly server: { readonly requestIP: (request: Request) => { readonly address: string } | null } | null;
  readonly params: PathParams;
}

const LOOPBACK = '127.0.0.1';

/** The address at the other end of the connection of a request. */
export function peerOf({ request, server }: Pick<Routed, 'request' | 'server'>): string {
  return server?.requestIP(request)?.address ?? LOOPBACK;
}

/**
 * Answers a request, from its arrival to its log line. Each step is one file of this folder and is entered once:
 * arrival, rate, body, sign-in, authorization, room for its work, decoding, handler, records and counts, reply.
 */
export function answer(
  mounted: MountedRoute,
  { request, server, params }: Routed,
  deps: HttpDeps,
): Promise<Response> {
  const { route, source } = mounted;
  const ip = mounted.clientAddress(peerOf({ request, server }), request.headers);
  const ctx = arrive(request, route.path, deps, ip, source);
  const span = deps.tracer?.start(request.headers.get('traceparent'));
  ctx.span = span;
  return deps.tracer === undefined || span === undefined
    ? respond(mounted, ctx, params, deps)
    : deps.tracer.within(span, () => respond(mounted, ctx, params, deps));
}

async function respond(
  mounted: MountedRoute,
  ctx: HttpContext,
  params: PathParams,
  deps: HttpDeps,
): Promise<Response> {
  const { route, work, isRecorded } = mounted;
  const { body, method } = route;
  let call: Call | undefined;
  let reply: Reply | undefined;
  let response: Response;
  let owner = '';
  let isGranted = false;
  try {
    const sourceRate = deps.rates.source(ctx.ip);
    if (sourceRate !== undefined) {
      await sourceRate;
    }
    const length = lengthOf(route, ctx.request);
    const caller = route.auth === 'basic' ? recallCaller(ctx, route, deps) : undefined;
    if (route.auth === 'console') {
      requireConsole(ctx.request, deps.http);
    }
    let bytes: Uint8Array | undefined;
    if (body.kind !== 'none') {
      bytes = await receiveBody(body.bytesMax, ctx, length, caller, deps);
      ctx.body = 'read';
      ctx.held?.arrived();
    }

    if (caller !== undefined) {
      const { account } = await deps.signIns.signIn(ctx, caller);
      authorizeRoute(route, ctx);
      const accountRate = deps.rates.account(account);
      if (accountRate !== undefined) {
        await accountRate;
      }
    }
    // All addresses of an IPv6 network are one owner.
    owner = ctx.account?.aid ?? sourceOf(ctx.ip);
    deps.limiter.noteActive(owner);
    if (work !== undefined) {
      const granted = deps.limiter.acquire(work, owner);
      if (granted !== undefined) {
        await granted;
      }
      isGranted = true;
    }

    const read = readCall(mounted, ctx, params, bytes);
    call = read instanceof Promise ? await read : read;
    rejectAbandoned(ctx);
    reply = await mounted.handle(call);
    mounted.checkReply?.(reply);

    // A change is recorded first. A read is counted first: a full Redis still accepts records, but no counts, and repeated
    // reads must not fill it further.
    if (isRecorded && method !== 'GET') {
      await recordSuccess(route, ctx, call, reply, deps);
    }
    const counting = hasAccount(ctx) ? deps.metering.request(ctx) : undefined;
    if (counting !== undefined) {
      await counting;
    }
    if (isRecorded && method === 'GET') {
      await recordSuccess(route, ctx, call, reply, deps);
    }
    response =
      ctx.request.method === 'HEAD' && reply.relayed === undefined
        ? await headResponse(reply, ctx.requestId)
        : responseTo(ctx, reply, deps);
  } catch (error) {
    response = await fail(mounted, ctx, error, call, reply, deps);
  } finally {
    if (work !== undefined && isGranted) {
      deps.limiter.release(work, owner);
    }
    ctx.held?.release();
  }
  if (mounted.isOpen) {
    allowAnyOrigin(response.headers);
  }
  return endRequest(ctx, response, deps);
}

function responseTo(ctx: HttpContext, reply: Reply, deps: HttpDeps): Response {
  return reply.stream === undefined && reply.relayed === undefined
    ? replyResponse(reply, ctx.requestId)
    : replyResponse(reply, ctx.requestId, (error) => reportBrokenReply(ctx, error, deps));
}

/** Reports an error and returns it for the caller; where replies are checked, one that the route does not publish is a bug. */
function failureOf(
  { checkCode }: MountedRoute,
  error: unknown,
  ctx: HttpContext,
  deps: HttpDeps,
): VaultError {
  const failure = reportError(error, ctx, deps);
  try {
    checkCode?.(failure.code);
    return failure;
  } catch (undeclared) {
    return reportError(undeclared, ctx, deps);
  }
}

/** The reply to a failed request: cancels its stream, and records the rejection first. */
async function fail(
  mounted: MountedRoute,
  ctx: HttpContext,
  error: unknown,
  call: Call | undefined,
  reply: Reply | undefined,
  deps: HttpDeps,
): Promise<Response> {
  const { route } = mounted;
  const failure = failureOf(mounted, error, ctx, deps);
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
