import { asVaultError, failureFields, isFault } from '../core/error-cause.ts';
import { ERRORS } from '../core/error-table.ts';
import type { ErrorCode, VaultError } from '../core/errors.ts';
import { passesLuhn } from '../domain/card/luhn.ts';
import { createContext, type RequestContext, type RequestSource } from '../request/context.ts';
import type { LogLine } from '../telemetry/log-sink.ts';
import type { StartedSpan } from '../telemetry/otlp.ts';
import { hasLongBody } from './body.ts';
import type { HeldBytes } from './body-budget.ts';
import type { HttpParts } from './deps.ts';

import { errorResponse, type HeaderList } from './reply.ts';

const REQUEST_ID = /^(?=.*[A-Za-z])[A-Za-z0-9._:-]{8,128}$/;
/**
 * How card numbers are written where spaces cannot be: in one, in fours, or as American Express has them. Looked for
 * from every place, as a group of digits before a number can pass for its first.
 */
const CARD_NUMBERS = /(?=((?<!\d)\d{13,19}|\d{4}([._:-])\d{4}\2\d{4}\2\d{1,7}|\d{4}([._:-])\d{6}\3\d{5}))/g;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/** A request over HTTP: the context of the services, and the fields of its log line and its metrics. */
export interface HttpContext extends RequestContext {
  readonly request: Request;
  /** The route template; requests outside every route share `(none)`. */
  readonly route: string;
  readonly startedMs: number;
  /** Whether it carries Basic Auth credentials, right or wrong. */
  hasCredentials: boolean;
  code: ErrorCode | undefined;
  /** Its span, if it is traced. */
  span: StartedSpan | undefined;
  /** How far the body was taken in, which decides whether the connection can serve the next request. */
  body: 'untouched' | 'reading' | 'read';
  /** What its body holds of the budget of callers that are not authenticated. */
  held: HeldBytes | undefined;
}

/** Ids are logged and sent on, so one with a card number in it is none. */
function isRequestId(text: string): boolean {
  return (
    REQUEST_ID.test(text) &&
    ![...text.matchAll(CARD_NUMBERS)].some(([, number = '']) => passesLuhn(number.replaceAll(/\D/g, '')))
  );
}

const USER_AGENT_CHARACTERS_MAX = 512;

function userAgentOf(headers: Headers): string {
  const text = headers.get('user-agent') ?? '';
  return text.length > USER_AGENT_CHARACTERS_MAX ? text.slice(0, USER_AGENT_CHARACTERS_MAX) : text;
}

/** Where a request came from, and the route that it reached. */
export interface Arrival {
  /** The route template. */
  readonly route: string;
  /** The address of its client; omitted where no service runs. */
  readonly ip?: string;
  readonly source?: RequestSource;
}

/** Makes the context of a request that has arrived. A sane X-Request-Id of the caller is kept, any other is replaced. */
export function beginRequest(
  request: Request,
  { route, ip = '', source = 'vault' }: Arrival,
  parts: Pick<HttpParts, 'newRequestId' | 'metrics'>,
): HttpContext {
  parts.metrics.startRequest();
  const { headers } = request;
  const given = headers.get('x-request-id');
  const requestId = given !== null && isRequestId(given) ? given : parts.newRequestId();
  return Object.assign(createContext({ requestId, ip, userAgent: userAgentOf(headers), source }), {
    request,
    route,
    startedMs: performance.now(),
    hasCredentials: false,
    code: undefined,
    span: undefined,
    body: 'untouched' as const,
    held: undefined,
  });
}

/** The reply to a request that failed, in the one error shape; its log line and its metrics will name the code. */
export function errorReply(ctx: HttpContext, failure: VaultError, headers?: HeaderList): Response {
  ctx.code = failure.code;
  return errorResponse(failure, ctx.requestId, headers);
}

/** Logs a reply that failed after its start. The caller sees only a broken connection. */
export function reportBrokenReply(
  ctx: HttpContext,
  error: unknown,
  parts: Pick<HttpParts, 'log' | 'now'>,
): void {
  const { code } = reportError(error, ctx, parts);
  const { requestId, route } = ctx;
  const time = new Date(parts.now()).toISOString();
  parts.log({ time, level: 'warn', event: 'reply_broken_off', request_id: requestId, route, code });
}

/**
 * Ends a request: one log line and one measurement, both with the route template. Neither URL, query, body
 * nor headers are ever part of them. A body left half-read, or a long one left unread, ends the connection too.
 */
export function endRequest(
  ctx: HttpContext,
  response: Response,
  parts: Pick<HttpParts, 'log' | 'now' | 'metrics' | 'tracer'>,
): Response {
  const { request, requestId, route, account, credentialId, hasCredentials, code, span } = ctx;
  const { status } = response;
  if (ctx.body === 'reading' || (ctx.body === 'untouched' && hasLongBody(request.headers))) {
    response.headers.set('Connection', 'close');
  }
  const elapsedMs = performance.now() - ctx.startedMs;
  const method = METHODS.has(request.method) ? request.method : 'OTHER';
  parts.metrics.observeRequest(route, method, status, elapsedMs / 1000, code);
  if (span !== undefined) {
    parts.tracer?.end(span, { route, method, status, code, requestId });
  }
  parts.log({
    time: new Date(parts.now()).toISOString(),
    level: levelOf(code),
    event: 'request',
    request_id: requestId,
    method,
    route,
    status,
    ms: Math.round(elapsedMs * 1000) / 1000,
    account: hasCredentials ? account?.name : undefined,
    credential: credentialId,
    code,
  });
  return response;
}

/** The request that a log line belongs to. */
export interface LogPlace {
  readonly requestId: string;
  readonly route: string;
}

/** Writes the log line of an internal error: code, class, file and line. A damaged record is not a bug, and has another event. */
export function logFault(
  error: unknown,
  { requestId, route }: LogPlace,
  parts: Pick<HttpParts, 'log' | 'now'>,
): void {
  const fields = failureFields(error);
  parts.log({
    time: new Date(parts.now()).toISOString(),
    level: 'error',
    event: fields.code === 'integrity_failed' ? 'record_damaged' : 'unexpected_error',
    request_id: requestId,
    route,
    ...fields,
  });
}

/** The error that a caller sees. An internal error is logged once, with its cause. */
export function reportError(
  error: unknown,
  place: LogPlace,
  parts: Pick<HttpParts, 'log' | 'now'>,
): VaultError {
  const failure = asVaultError(error);
  if (isFault(failure)) {
    logFault(error, place, parts);
  }
  return failure;
}

/** The codes whose status is 500 or more and that operators should look at. */
export function levelOf(code: ErrorCode | undefined): LogLine['level'] {
  if (code === undefined || ERRORS[code].status < 500) {
    return 'info';
  }
  return ERRORS[code].status === 503 ? 'warn' : 'error';
}
