import type { ErrorCode } from '../../core/errors.ts';
import { passesLuhn } from '../../domain/card/luhn.ts';
import type { Account, Visitor } from '../../services/common/caller.ts';
import type { Deps } from './app-parts.ts';
import { hasLongBody } from './body.ts';
import { errorResponse, levelOf, reportError } from './errors.ts';
import type { HeaderList } from './replies.ts';

const REQUEST_ID = /^(?=.*[A-Za-z])[A-Za-z0-9._:-]{8,128}$/;
/**
 * How card numbers are written where spaces cannot be: in one, in fours, or as American Express has them. Looked for
 * from every place, as a group of digits before a number can pass for its first.
 */
const CARD_NUMBERS = /(?=((?<!\d)\d{13,19}|\d{4}([._:-])\d{4}\2\d{4}\2\d{1,7}|\d{4}([._:-])\d{6}\3\d{5}))/g;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/** One request on its way: what its log line and metrics will say. */
export interface Exchange {
  readonly request: Request;
  readonly requestId: string;
  /** The route template; requests outside every route share `(none)`. */
  readonly route: string;
  readonly startedMs: number;
  account: Account | undefined;
  /** Who sends it, once that was looked at. */
  visitor: Visitor | undefined;
  /** How far the credentials of an account came, where the route needs them. */
  signIn: 'refused unchecked' | 'checked';
  code: ErrorCode | undefined;
  /** Gives back the place that the request has among those in hand, if it has one. */
  leave: (() => void) | undefined;
  /** How far the body was taken in, which decides whether the connection can serve the next request. */
  body: 'untouched' | 'reading' | 'read';
}

/** Ids are logged and sent on, so one with a card number in it is none. */
const isRequestId = (text: string): boolean =>
  REQUEST_ID.test(text) &&
  ![...text.matchAll(CARD_NUMBERS)].some(([, number = '']) => passesLuhn(number.replaceAll(/\D/g, '')));

/** Begins an exchange. A sane X-Request-Id of the caller is kept, any other is replaced. */
export const beginExchange = (
  request: Request,
  route: string,
  deps: Pick<Deps, 'newRequestId' | 'metrics'>,
): Exchange => {
  deps.metrics.beginRequest();
  const given = request.headers.get('x-request-id');
  return {
    request,
    requestId: given !== null && isRequestId(given) ? given : deps.newRequestId(),
    route,
    startedMs: performance.now(),
    account: undefined,
    visitor: undefined,
    signIn: 'refused unchecked',
    code: undefined,
    leave: undefined,
    body: 'untouched',
  };
};

/** The reply to whatever was thrown; what is not a `VaultError` becomes `internal`. */
export const refuse = (
  exchange: Exchange,
  error: unknown,
  deps: Pick<Deps, 'log' | 'now'>,
  headers?: HeaderList,
): Response => {
  const failure = reportError(error, exchange, deps);
  exchange.code = failure.code;
  return errorResponse(failure, exchange.requestId, headers);
};

/** Logs that a reply failed after it began, when the caller can no longer be told but by a broken connection. */
export const reportBrokenReply = (
  exchange: Exchange,
  error: unknown,
  deps: Pick<Deps, 'log' | 'now'>,
): void => {
  const { code } = reportError(error, exchange, deps);
  const { requestId, route } = exchange;
  const time = new Date(deps.now()).toISOString();
  deps.log({ time, level: 'warn', event: 'reply_broken_off', request_id: requestId, route, code });
};

/**
 * Ends an exchange: one log line and one measurement, both with the route template. Neither URL, query, body
 * nor headers are ever part of them. A body left half-read, or a long one left unread, ends the connection too.
 */
export const endExchange = (
  exchange: Exchange,
  response: Response,
  deps: Pick<Deps, 'log' | 'now' | 'metrics' | 'tracing'>,
): Response => {
  const { request, requestId, route, account, code } = exchange;
  const { status } = response;
  if (exchange.body === 'reading' || (exchange.body === 'untouched' && hasLongBody(request.headers))) {
    response.headers.set('Connection', 'close');
  }
  const elapsedMs = performance.now() - exchange.startedMs;
  const method = METHODS.has(request.method) ? request.method : 'OTHER';
  deps.metrics.observeRequest(route, method, status, elapsedMs / 1000, code);
  deps.tracing?.end({ route, method, status, code, requestId });
  deps.log({
    time: new Date(deps.now()).toISOString(),
    level: levelOf(code),
    event: 'request',
    request_id: requestId,
    method,
    route,
    status,
    ms: Math.round(elapsedMs * 1000) / 1000,
    ...(account === undefined ? {} : { account: account.name }),
    ...(code === undefined ? {} : { code }),
  });
  return response;
};
