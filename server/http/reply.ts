import type { VaultError } from '../core/errors.ts';
import type { ErrorBody, RelayErrorBody } from '../schema/common.ts';
import type { Reply } from './route.ts';

export type HeaderList = Iterable<readonly [string, string]>;

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

const PIECE_BYTES = 65_536;

const API_HEADERS = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

// One shared object, copied by each Response, costs half of what a literal per reply does.
const JSON_HEADERS = new Headers({ ...API_HEADERS, 'Content-Type': 'application/json' });

function jsonResponse(body: Body | null, requestId: string, status = 200): Response {
  const response = new Response(body, { status, headers: JSON_HEADERS });
  response.headers.set('X-Request-Id', requestId);
  return response;
}

/** A reply without a body: 204, with the common headers of `/v1` and the given ones. */
export function emptyResponse(requestId: string, headers: HeaderList): Response {
  const response = new Response(null, { status: 204, headers: API_HEADERS });
  response.headers.set('X-Request-Id', requestId);
  for (const [name, value] of headers) {
    response.headers.set(name, value);
  }
  return response;
}

type StreamErrorHook = (error: unknown) => void;

/** A stream that copies another one and reports its error, which ends the connection. */
function watch(stream: ReadableStream<Uint8Array>, onError: StreamErrorHook): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const step = await reader.read();
          if (step.done) {
            controller.close();
          } else {
            controller.enqueue(step.value);
          }
        } catch (error) {
          onError(error);
          // The runtime prints any other value to standard error, with its message and code.
          controller.error(undefined);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Streams bytes to one of many callers. Of a whole body the runtime would keep a copy for every slow caller. */
function inPieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.enqueue(bytes.slice(at, at + PIECE_BYTES));
        at += PIECE_BYTES;
        if (at >= bytes.length) {
          controller.close();
        }
      },
    },
    { highWaterMark: 0 },
  );
}

function bodyOf(reply: Reply, onStreamError: StreamErrorHook): Body {
  if (reply.json !== undefined) {
    return JSON.stringify(reply.json);
  }
  if (reply.html !== undefined) {
    return reply.html;
  }
  if (reply.stream !== undefined) {
    return watch(reply.stream, onStreamError);
  }
  if (reply.file !== undefined) {
    return inPieces(reply.file.bytes);
  }
  // Services make these bytes themselves, never over shared memory.
  return reply.jsonBytes as Uint8Array<ArrayBuffer>;
}

function okResponse(body: Body | null, reply: Reply, requestId: string): Response {
  const response = jsonResponse(body, requestId);
  if (reply.file !== undefined) {
    const { type, name } = reply.file;
    response.headers.set('Content-Type', type);
    response.headers.set('Content-Disposition', `attachment; filename="${name}"`);
  }
  if (reply.headers !== undefined) {
    for (const name in reply.headers) {
      response.headers.set(name, reply.headers[name] ?? '');
    }
  }
  return response;
}

const BODILESS = [204, 205, 304];

/**
 * A third party's reply. A browser must not treat it as a page of the vault's origin. `X-Vault-Request-Id` has the id of the
 * request even if the third party has set `X-Request-Id`.
 */
function relayedResponse(
  { status, headers, body }: NonNullable<Reply['relayed']>,
  requestId: string,
  onStreamError: StreamErrorHook,
): Response {
  const isStream = body instanceof ReadableStream;
  const isBodiless = BODILESS.includes(status);
  if (isStream && isBodiless) {
    body.cancel().catch(() => undefined);
  }
  const bytes = isStream && !isBodiless ? watch(body, onStreamError) : (body as Uint8Array<ArrayBuffer>);
  const response = new Response(isBodiless ? null : bytes, { status });
  for (const [name, value] of headers) {
    response.headers.append(name, value);
  }
  response.headers.append('Content-Security-Policy', "sandbox; default-src 'none'");
  response.headers.set('X-Content-Type-Options', 'nosniff');
  response.headers.set('X-Vault-Request-Id', requestId);
  for (const [name, value] of Object.entries({ 'X-Request-Id': requestId, 'Cache-Control': 'no-store' })) {
    if (!response.headers.has(name)) {
      response.headers.set(name, value);
    }
  }
  return response;
}

/** The HTTP reply of a handler's reply; `onStreamError` is called when a stream fails after its start. */
export function replyResponse(
  reply: Reply,
  requestId: string,
  onStreamError: StreamErrorHook = () => undefined,
): Response {
  return reply.relayed === undefined
    ? okResponse(bodyOf(reply, onStreamError), reply, requestId)
    : relayedResponse(reply.relayed, requestId, onStreamError);
}

/** Returns the length of a stream of at most one piece; undefined for a longer one, which is cancelled. */
async function shortLength(stream: ReadableStream<Uint8Array>): Promise<number | undefined> {
  const reader = stream.getReader();
  let length = 0;
  for (;;) {
    const step = await reader.read();
    if (step.done) {
      return length;
    }
    length += step.value.byteLength;
    if (length > PIECE_BYTES) {
      await reader.cancel();
      return undefined;
    }
  }
}

/** The reply to HEAD (RFC 9110, 9.3.2). The length of a stream is sent only if it is short. Rejects with its error. */
export async function headResponse(reply: Reply, requestId: string): Promise<Response> {
  const bytes = reply.file?.bytes ?? reply.jsonBytes;
  const length =
    reply.stream !== undefined
      ? await shortLength(reply.stream)
      : (bytes?.byteLength ?? Buffer.byteLength(reply.html ?? JSON.stringify(reply.json)));
  const response = okResponse(null, reply, requestId);
  // Without either, the runtime would send a length of 0.
  if (length === undefined) {
    response.headers.set('Transfer-Encoding', 'chunked');
  } else {
    response.headers.set('Content-Length', String(length));
  }
  return response;
}

/** The header with the cursor of the next page, if there is one. */
export function nextTokenHeader(nextToken: string | undefined): Readonly<Record<string, string>> {
  return nextToken === undefined ? {} : { 'X-Vault-Next-Token': nextToken };
}

/** The header of a reply that was stored for an earlier request with the same idempotency key. */
export function replayHeader(replayed: boolean): Readonly<Record<string, string>> {
  return replayed ? { 'Idempotency-Replayed': 'true' } : {};
}

/** The challenge of every 401 (RFC 7617). */
const CHALLENGE = 'Basic realm="vault"';

const RELAY_PATH = '/v1/relay';

/** Tells whether a path, or the template of a route, is one of the relay, also where it lacks the connection. */
export function isRelayPath(path: string): boolean {
  return path === RELAY_PATH || path.startsWith(`${RELAY_PATH}/`);
}

function messageOf(error: VaultError, headers: HeaderList): string {
  const [, allow] =
    error.code === 'method_not_allowed' ? ([...headers].find(([name]) => name === 'Allow') ?? []) : [];
  return allow === undefined
    ? error.message
    : `This path does not support this method; it supports ${allow}.`;
}

/** The body of an error reply: libraries of payment services read the members of `error` on a relayed path. */
export function errorBody(
  path: string,
  {
    code,
    message,
    field,
  }: { readonly code: string; readonly message: string; readonly field?: string | undefined },
  requestId: string,
): ErrorBody | RelayErrorBody {
  const common = { code, request_id: requestId, ...(field === undefined ? {} : { field }) };
  return isRelayPath(path)
    ? { error: { type: 'vault_error', code, message }, ...common }
    : { error: message, ...common };
}

export function errorResponse(
  error: VaultError,
  requestId: string,
  path: string,
  headers: HeaderList = [],
): Response {
  const { code, field } = error;
  const body = errorBody(path, { code, field, message: messageOf(error, headers) }, requestId);
  const response = jsonResponse(JSON.stringify(body), requestId, error.status);
  if (error.status === 401) {
    response.headers.set('WWW-Authenticate', CHALLENGE);
  }
  if (error.scope !== undefined) {
    const challenge = `Bearer error="insufficient_scope", scope="${error.scope}"`;
    response.headers.set('WWW-Authenticate', challenge);
  }
  if (error.retryAfterSeconds !== undefined) {
    response.headers.set('Retry-After', String(Math.max(1, Math.ceil(error.retryAfterSeconds))));
  }
  if (error.sentAs !== undefined) {
    response.headers.set('X-Vault-Request-Id', error.sentAs);
  }
  for (const [name, value] of headers) {
    response.headers.set(name, value);
  }
  return response;
}
