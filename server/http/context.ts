import { asVaultError, failureFields, isFault } from '../core/error-cause.ts';
import { ERRORS } from '../core/error-table.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import { passesLuhn } from '../domain/card/luhn.ts';
import type { RequestContext, RequestSource } from '../request/context.ts';
import type { Noted } from '../schema/other-name.ts';
import type { LogLine } from '../telemetry/log-sink.ts';
import type { StartedSpan } from '../telemetry/otlp.ts';
import { type BodyHold, hasLongBody } from './body-hold.ts';
import type { HttpDeps } from './deps.ts';
import { errorResponse, type HeaderList } from './reply.ts';

const REQUEST_ID = /^(?=.*[A-Za-z])[A-Za-z0-9._:-]{8,128}$/;
/** Card numbers without spaces, from every position: undivided, in groups of four, or as those of American Express. */
const CARD_NUMBERS = /(?=((?<!\d)\d{13,19}|\d{4}([._:-])\d{4}\2\d{4}\2\d{1,7}|\d{4}([._:-])\d{6}\3\d{5}))/g;
/** The route of requests outside every route. */
export const UNROUTED = '(none)';
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/** A request over HTTP: the context of the services, and the fields of its log line and its metrics. */
export interface HttpContext extends RequestContext, Noted {
  readonly request: Request;
  /** The route template; requests outside every route share `UNROUTED`. */
  readonly route: string;
  readonly startedMs: number;
  /** True if it has credentials of an account, right or wrong. */
  hasCredentials: boolean;
  code: ErrorCode | undefined;
  /** The place of the error in the request. */
  field: string | undefined;
  span: StartedSpan | undefined;
  /** The state of the body, which decides whether the connection can serve the next request. */
  body: 'untouched' | 'reading' | 'read';
  held: BodyHold | undefined;
}

function hasCardNumber(text: string): boolean {
  return [...text.matchAll(CARD_NUMBERS)].some(([, number = '']) => passesLuhn(number.replaceAll(/\D/g, '')));
}

/** Ids are logged and passed on, so an id with a card number is invalid. */
function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text) && !hasCardNumber(text);
}

/** The length from which a name may be a secret in the place of a name; those of the API are shorter. */
const SECRET_CHARACTERS = 32;
const FIELD_CHARACTERS_MAX = 256;

/** The place of an error for the log, up to the first name that may be a secret, or a card number. */
function loggedField(field: string | undefined): string | undefined {
  if (field === undefined || hasCardNumber(field)) {
    return field?.split('.')[0];
  }
  const names = field.split('.');
  const end = names.findIndex((name) => name.length >= SECRET_CHARACTERS);
  return names
    .slice(0, end < 0 ? undefined : end)
    .join('.')
    .slice(0, FIELD_CHARACTERS_MAX);
}

const USER_AGENT_CHARACTERS_MAX = 512;

/**
 * Makes the context of a request, of which all later steps are members. A valid X-Request-Id of the caller is kept, any other
 * is replaced. `ip` is empty if no service is called.
 */
export function arrive(
  request: Request,
  route: string,
  deps: HttpDeps,
  ip = '',
  source: RequestSource = 'vault',
): HttpContext {
  deps.metrics.startRequest();
  const { headers } = request;
  const given = headers.get('x-request-id');
  return {
    requestId: given !== null && isRequestId(given) ? given : deps.newRequestId(),
    ip,
    userAgent: (headers.get('user-agent') ?? '').slice(0, USER_AGENT_CHARACTERS_MAX),
    source,
    endpointId: undefined,
    credentialId: undefined,
    credentialName: undefined,
    account: undefined,
    signInProof: undefined,
    usage: { operation: undefined, isCounted: false },
    change: undefined,
    version: undefined,
    idempotencyKey: undefined,
    request,
    route,
    startedMs: performance.now(),
    hasCredentials: false,
    code: undefined,
    field: undefined,
    renamed: undefined,
    span: undefined,
    body: 'untouched',
    held: undefined,
  };
}

/** Errors about a body as a whole, unless that is the reply of a third party. */
const OF_BODY: ReadonlySet<ErrorCode> = new Set([
  'invalid_json',
  'json_too_deep',
  'charset_unsupported',
  'track_data_refused',
  'body_too_large',
]);

/** The error with its place in the names of the request. */
function asSent(failure: VaultError, { renamed }: HttpContext): VaultError {
  const { field: place, code, expected, scope, retryAfterSeconds, sentAs, cause } = failure;
  const whole = OF_BODY.has(code) && sentAs === undefined ? 'body' : undefined;
  const field = place === undefined ? whole : renamed?.[place];
  return field === undefined
    ? failure
    : new VaultError(code, { field, expected, scope, retryAfterSeconds, sentAs, cause });
}

/** The challenge for the console: at one that browsers know they ask for a name and a password, over the page. */
const CONSOLE_CHALLENGE = 'Session realm="vault"';

/** The error reply to a request; its log line names code and field, its metrics the code. */
export function errorReply(ctx: HttpContext, thrown: VaultError, headers?: HeaderList): Response {
  const failure = asSent(thrown, ctx);
  ctx.code = failure.code;
  ctx.field = loggedField(failure.field);
  const reply = errorResponse(failure, ctx.requestId, pathOf(ctx), headers);
  if (reply.status === 401 && ctx.request.headers.get('sec-fetch-site') === 'same-origin') {
    reply.headers.set('WWW-Authenticate', CONSOLE_CHALLENGE);
  }
  return reply;
}

/** The template of the route; the path of a request outside every route, which a library may have sent to the relay. */
function pathOf({ route, request }: HttpContext): string {
  return route === UNROUTED ? (URL.parse(request.url)?.pathname ?? route) : route;
}

/** Logs a reply that failed after its start. The caller sees only a broken connection. */
export function reportBrokenReply(ctx: HttpContext, error: unknown, deps: HttpDeps): void {
  const { code } = reportError(error, ctx, deps);
  const { requestId, route } = ctx;
  const time = new Date(deps.now()).toISOString();
  deps.log({ time, level: 'warn', event: 'reply_broken_off', request_id: requestId, route, code });
}

/** Logs and measures a request by its route template, never by its data. An unread rest of its body ends the connection. */
export function endRequest(ctx: HttpContext, response: Response, deps: HttpDeps): Response {
  const { request, requestId, route, account, credentialId, hasCredentials, code, field, span } = ctx;
  const { status } = response;
  const person = account?.credential?.person?.id;
  if (ctx.body === 'reading' || (ctx.body === 'untouched' && hasLongBody(request.headers))) {
    response.headers.set('Connection', 'close');
  }
  const elapsedMs = performance.now() - ctx.startedMs;
  const method = METHODS.has(request.method) ? request.method : 'OTHER';
  deps.metrics.observeRequest(route, method, status, elapsedMs / 1000, code);
  if (span !== undefined) {
    deps.tracer?.end(span, { route, method, status, code, requestId });
  }
  deps.log({
    time: new Date(deps.now()).toISOString(),
    level: levelOf(code),
    event: 'request',
    request_id: requestId,
    method,
    route,
    status,
    ms: Math.round(elapsedMs * 1000) / 1000,
    // The operator has no name of an account.
    account: (hasCredentials && account?.name) || undefined,
    credential: person === undefined ? credentialId : undefined,
    person,
    code,
    field,
  });
  return response;
}

interface LogPlace {
  readonly requestId: string;
  readonly route: string;
}

/** Logs an internal error: code, class, file and line. A damaged record is not a bug, and has another event. */
export function logFault(error: unknown, { requestId, route }: LogPlace, deps: HttpDeps): void {
  const fields = failureFields(error);
  deps.log({
    time: new Date(deps.now()).toISOString(),
    level: 'error',
    event: fields.code === 'integrity_failed' ? 'record_damaged' : 'unexpected_error',
    request_id: requestId,
    route,
    ...fields,
  });
}

/** Returns the error that a caller sees. An internal error is logged with its cause. */
export function reportError(error: unknown, place: LogPlace, deps: HttpDeps): VaultError {
  const failure = asVaultError(error);
  if (isFault(failure)) {
    logFault(error, place, deps);
  }
  return failure;
}

function levelOf(code: ErrorCode | undefined): LogLine['level'] {
  if (code === undefined || ERRORS[code].status < 500) {
    return 'info';
  }
  return ERRORS[code].status === 503 ? 'warn' : 'error';
}
