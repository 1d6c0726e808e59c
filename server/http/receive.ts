import { aidOf, type Caller } from '../account/sign-in.ts';
import { VaultError } from '../core/errors.ts';
import { networkOf } from '../domain/text/network.ts';
import { dropBody, hasLongBody, isLong, readBody, rejectLargeBody } from './body.ts';
import { growBody, releaseBody, waitForBody } from './body-budget.ts';
import type { HttpContext } from './context.ts';
import type { HttpDeps } from './deps.ts';
import type { RouteShape } from './route.ts';

/** Rejects a body that is too large or encoded. Returns its length, 0 without a body; undefined if none is declared. */
export function lengthOf({ body, method }: RouteShape, request: Request): number | undefined {
  const { headers } = request;
  if (body.kind === 'none') {
    if (method !== 'GET' && hasLongBody(headers)) {
      dropBody(request);
    }
    return 0;
  }
  const length = rejectLargeBody(headers, body.bytesMax);
  if (length !== 0 && headers.has('content-encoding')) {
    throw new VaultError('content_encoding_unsupported', { field: 'header.Content-Encoding' });
  }
  return length;
}

/**
 * Receives the body of a request. Budget is reserved for one of a caller without a known account, and a chunked one, whose
 * `length` is undefined, reserves more as it arrives. The account of an unknown caller is verified before a long body is read.
 */
export function receiveBody(
  bytesMax: number,
  ctx: HttpContext,
  length: number | undefined,
  caller: Caller | undefined,
  deps: HttpDeps,
): Promise<Uint8Array> {
  if (caller?.verified === undefined && length !== 0) {
    ctx.held = deps.bodies.hold(networkOf(ctx.ip), length ?? 0);
    if (caller !== undefined && length !== undefined && isLong(length)) {
      return receiveLongBody(bytesMax, ctx, length, caller, deps);
    }
  }
  return receive(bytesMax, ctx, length, caller && aidOf(caller), deps);
}

async function receiveLongBody(
  bytesMax: number,
  ctx: HttpContext,
  length: number,
  caller: Caller,
  deps: HttpDeps,
): Promise<Uint8Array> {
  const { account } = await deps.signIns.signIn(ctx, caller);
  releaseBody(ctx, deps);
  return receive(bytesMax, ctx, length, account.aid, deps);
}

function receive(
  bytesMax: number,
  ctx: HttpContext,
  length: number | undefined,
  owner: string | undefined,
  deps: HttpDeps,
): Promise<Uint8Array> {
  ctx.body = 'reading';
  return readBody(
    ctx.request,
    length,
    bytesMax,
    deps.http.bodyTimeoutMs,
    (cut) => waitForBody(ctx, deps, owner, length, cut),
    length === undefined ? (arrived) => growBody(ctx, deps, arrived) : undefined,
  );
}
