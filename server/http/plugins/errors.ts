import { ERRORS, type ErrorCode, type VaultError } from '../../core/errors.ts';
import { asVaultError, failureFields, isFault } from '../../core/failure.ts';
import type { LogLine } from '../../telemetry/log-sink.ts';
import type { ErrorBody } from '../schema/error.ts';
import type { Deps } from './app-parts.ts';
import { CHALLENGE } from './basic-auth.ts';
import { type HeaderList, jsonResponse } from './replies.ts';

/** At this place something better can be said than what the table does. */
const PASSPHRASE_MISSING =
  'The passphrase is missing or malformed. Send it in the header X-Vault-Passphrase.';

function textOf({ code, field }: VaultError): string {
  return code === 'invalid_request' && field === 'query.passphrase' ? PASSPHRASE_MISSING : ERRORS[code].text;
}

/** The body of a refusal: the table's text, never a message of the error itself. */
function errorBody(error: VaultError, requestId: string): ErrorBody {
  const body: ErrorBody = { error: textOf(error), code: error.code, request_id: requestId };
  if (error.field !== undefined) {
    body.field = error.field;
  }
  return body;
}

/** The reply to a refusal: its status, the one error body, and the headers that go with its code. */
export function errorResponse(error: VaultError, requestId: string, headers: HeaderList = []): Response {
  const response = jsonResponse(JSON.stringify(errorBody(error, requestId)), requestId, error.status);
  if (error.status === 401) {
    response.headers.set('WWW-Authenticate', CHALLENGE);
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

/** Where a log line says that it happened. */
export interface LogPlace {
  readonly requestId: string;
  readonly route: string;
}

/** Writes the one log line of a fault: its code, its class and the place in our code. A damaged record is no bug. */
export function logFault(
  error: unknown,
  { requestId, route }: LogPlace,
  deps: Pick<Deps, 'log' | 'now'>,
): void {
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

/** What a caller learns of an error. Where it comes from is logged once, if it is a fault of ours. */
export function reportError(error: unknown, place: LogPlace, deps: Pick<Deps, 'log' | 'now'>): VaultError {
  const failure = asVaultError(error);
  if (isFault(failure)) {
    logFault(error, place, deps);
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
