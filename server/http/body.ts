import { peek } from 'bun';
import type { Caller } from '../account/sign-in.ts';
import { VaultError } from '../core/errors.ts';
import { networkOf } from '../domain/text/network.ts';
import { BodyHold, declaredLength, hasLongBody, isLong } from './body-hold.ts';
import type { HttpContext } from './context.ts';
import type { HttpDeps } from './deps.ts';
import type { RouteShape } from './route.ts';

/** Discards a body as it arrives; otherwise it stays in memory until the reply. */
export function dropBody({ body }: Request): void {
  body?.cancel().catch(() => undefined);
}

function tooLarge(): VaultError {
  return new VaultError('body_too_large', { field: 'body' });
}

function broken(): VaultError {
  return new VaultError('invalid_request', { field: 'body', expected: 'has not arrived completely' });
}

/** Rejects a body that is too large, and one of GET. Returns its length, 0 without a body; undefined if none is declared. */
export function lengthOf({ body, method }: RouteShape, request: Request): number | undefined {
  const { headers } = request;
  if (body.kind === 'none') {
    if (method !== 'GET' && hasLongBody(headers)) {
      dropBody(request);
    }
    return 0;
  }
  const length = declaredLength(headers);
  if (length !== undefined && !(length <= body.bytesMax)) {
    throw tooLarge();
  }
  if (method === 'GET' && length !== undefined && length > 0) {
    // The runtime drops it: what is passed on would lack it.
    throw new VaultError('invalid_request', { field: 'body', expected: 'must not be sent with GET or HEAD' });
  }
  return length;
}

/**
 * Receives the body of a request; empty if there is none. Budget is reserved for one of a caller without a known account, and
 * one without a declared `length` reserves more as it arrives. The account of an unknown caller is verified before a long body
 * is read. Rejects an encoded body, one with more than `bytesMax`, and as `invalid_request` one that is late or incomplete.
 */
export function receiveBody(
  bytesMax: number,
  ctx: HttpContext,
  length: number | undefined,
  caller: Caller | undefined,
  deps: HttpDeps,
): Promise<Uint8Array> {
  if (length !== 0 && ctx.request.headers.has('content-encoding')) {
    throw new VaultError('content_encoding_unsupported', { field: 'header.Content-Encoding' });
  }
  const owner = caller && deps.signIns.aidOf(caller);
  if (owner === undefined && length !== 0) {
    ctx.held = new BodyHold(deps.limiter, networkOf(ctx.ip), length ?? 0);
    if (caller !== undefined && length !== undefined && isLong(length)) {
      return receiveLongBody(bytesMax, ctx, length, caller, deps);
    }
  }
  return readBody(bytesMax, ctx, length, owner, deps);
}

async function receiveLongBody(
  bytesMax: number,
  ctx: HttpContext,
  length: number,
  caller: Caller,
  deps: HttpDeps,
): Promise<Uint8Array> {
  const { account } = await deps.signIns.signIn(ctx, caller);
  ctx.held?.release();
  ctx.held = undefined;
  return readBody(bytesMax, ctx, length, account.aid, deps);
}

function readBody(
  bytesMax: number,
  ctx: HttpContext,
  length: number | undefined,
  owner: string | undefined,
  deps: HttpDeps,
): Promise<Uint8Array> {
  const { request } = ctx;
  ctx.body = 'reading';
  // Without a declared length an endless body must cost no memory.
  const stream = length === undefined ? request.body : null;
  if (stream === null && !length) {
    return Promise.resolve(new Uint8Array(0));
  }
  const reader = stream?.getReader();
  const reading = reader === undefined ? request.bytes() : readChunks(reader, bytesMax, ctx);
  // Data that arrived together with the head of the request.
  if (peek.status(reading) === 'fulfilled') {
    return reading;
  }
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      clearTimeout(timer);
      reader?.cancel().catch(() => undefined);
      reject(error instanceof VaultError ? error : broken());
    };
    const timer = setTimeout(() => fail(broken()), deps.http.bodyTimeoutMs);
    timer.unref();
    reading.then((bytes) => {
      clearTimeout(timer);
      resolve(bytes);
    }, fail);
    try {
      // Only now one of an account holds bytes: most bodies arrive together with their heads.
      ctx.held ??= new BodyHold(deps.limiter, owner ?? networkOf(ctx.ip), length ?? 0, 'account');
      ctx.held.wait(fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** Reads a body without a declared length to a new buffer, which can be transferred to another thread. */
async function readChunks(
  reader: { readonly read: () => Promise<{ readonly value?: Uint8Array | undefined }> },
  bytesMax: number,
  ctx: HttpContext,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { value } = await reader.read();
    if (value === undefined) {
      return new Uint8Array(Bun.concatArrayBuffers(chunks, length));
    }
    length += value.byteLength;
    if (length > bytesMax) {
      throw tooLarge();
    }
    ctx.held?.grow(length);
    chunks.push(value);
  }
}
