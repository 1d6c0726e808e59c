/**
 * The tree of errors: `VaultError` above `VaultApiError`, `VaultConnectionError`, `VaultTimeoutError` and,
 * for receivers of webhooks, `VaultWebhookError`. No error contains data, the URL of a request or a secret, in its
 * message or in any property, so that it can be logged as it is.
 */
import type { ErrorCode, Scope } from './types.ts';

/** The base of every error that this SDK throws, and the error of a call that could not be built at all. */
export class VaultError extends Error {
  /** The name of the class. */
  override readonly name: string = 'VaultError';
}

/** The parts of an error reply that are safe to keep. */
export interface ApiErrorParts {
  readonly status: number;
  readonly code: ErrorCode | 'unknown';
  /** The sentence of the service. */
  readonly text?: string | undefined;
  /** The URL of the vault's page about errors. */
  readonly page?: string | undefined;
  readonly requestId: string | undefined;
  readonly field: string | undefined;
  readonly scope?: VaultApiError['scope'];
  readonly retryAfterSeconds: number | undefined;
}

/**
 * The service has rejected the request. Distinguish cases by `code`, never by the message: it has the sentence of the service, and
 * the URL of the part of the vault's guide that explains the code.
 * A server newer than this SDK may send a code that the type does not list yet.
 *
 * Any call can be answered with `invalid_request`, `duplicate_parameter`, `rate_limited`, `overloaded`,
 * `store_unavailable` or `internal`; one that names a vault key also with `conflicting_parameters`; one with the credentials of an account also with `unauthenticated`,
 * `too_many_failures`, `not_allowed`, `account_suspended` or `unknown_parameter`; one with a body also with `invalid_json`, `json_too_deep`,
 * `body_too_large` or `content_encoding_unsupported`; and one that reads stored records also with `record_rolled_back` or
 * `integrity_failed`. The reference of a call lists the other codes.
 * @see /guide/errors
 * @example
 * try {
 *   await client.keys.create({ key: 'customers' });
 * } catch (error) {
 *   if (!(error instanceof VaultApiError && error.code === 'key_exists')) {
 *     throw error;
 *   }
 * }
 */
export class VaultApiError extends VaultError {
  /** The name of the class. */
  override readonly name = 'VaultApiError';
  /** The HTTP status. */
  readonly status: number;
  /** The service's stable code; `unknown` where the reply was not the service's own (a proxy in between). */
  readonly code: ErrorCode | 'unknown';
  /** The id under which the service logged the request; give it to the operator. */
  readonly requestId: string | undefined;
  /** The place of the invalid part of the request, such as `query.key`; never its value. */
  readonly field: string | undefined;
  /** The scope that the credential lacks, where that is why it is `not_allowed`. */
  readonly scope: Scope | 'account:write' | undefined;
  /** Seconds that the service asked to wait before another attempt. */
  readonly retryAfterSeconds: number | undefined;

  constructor(parts: ApiErrorParts) {
    super(messageOf(parts));
    this.status = parts.status;
    this.code = parts.code;
    this.requestId = parts.requestId;
    this.field = parts.field;
    this.scope = parts.scope;
    this.retryAfterSeconds = parts.retryAfterSeconds;
  }
}

function messageOf({ status, code, text, page = '/guide/errors', ...parts }: ApiErrorParts): string {
  const { field, scope, requestId } = parts;
  const id = requestId === undefined ? '' : ` (request ${requestId})`;
  if (code === 'unknown') {
    return `The answer was ${status}, and not from the vault${id}: check its address, and what stands before it.`;
  }
  const place = field === undefined ? '' : ` at ${field}${scope === undefined ? '' : ` ${scope}`}`;
  const said = text === undefined ? '.' : `: ${text}`;
  return `The vault answered ${status} ${code}${place}${said} See ${page}#${code}${id}`;
}

/**
 * The service could not be reached, or its reply broke off. The outcome of a call that writes is unknown.
 */
export class VaultConnectionError extends VaultError {
  /** The name of the class. */
  override readonly name = 'VaultConnectionError';
  /** The runtime's short code for the failure, such as `ECONNREFUSED`, where it gives one. */
  readonly reason: string | undefined;

  constructor(message: string, reason?: string) {
    super(reason === undefined ? message : `${message} (${reason})`);
    this.reason = reason;
  }
}

/** The call, its retries included, or a stream's next piece took longer than `timeoutMs`. */
export class VaultTimeoutError extends VaultError {
  /** The name of the class. */
  override readonly name = 'VaultTimeoutError';
  /** The limit that was exceeded, in milliseconds. */
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`The vault did not answer within ${timeoutMs} ms.`);
    this.timeoutMs = timeoutMs;
  }
}

const CODE = /^[a-z][a-z0-9_]{0,63}$/;
const FIELD = /^(?:scope|(?:query|body|header|path)(?:[.[][\w.[\]-]{0,127})?)$/;
const INSUFFICIENT = /^Bearer error="insufficient_scope", scope="([a-z]+:[a-z]+)"$/;
const REQUEST_ID = /^[\w.:-]{1,128}$/;
/** A sentence of the service; a proxy could repeat the request there. */
const SENTENCE = /^[A-Z`](?!.*\d{9})[^\p{Cc}]{1,400}\.$/u;
const REASON = /^[A-Za-z][A-Za-z_]{0,63}$/;

// Secrets of endpoints have the same characters as ids; a proxy could repeat one in place of an id.
const SECRET = /v(?:[cr]s|ak)1_/;

/** A text that matches the pattern and cannot be a secret. */
function matching(value: unknown, pattern: RegExp): string | undefined {
  return typeof value === 'string' && pattern.test(value) && !SECRET.test(value) ? value : undefined;
}

/** The request id in the headers of a reply, if it is valid. */
export function requestIdOf(headers: Headers): string | undefined {
  return matching(headers.get('x-request-id'), REQUEST_ID);
}

/** Reads an error reply of the service at a URL that ends in `/v1`. Only values of the expected format are kept. */
export function apiErrorOf(status: number, headers: Headers, text: string, base: string): VaultApiError {
  const body = membersOf(text);
  const code = matching(body['code'], CODE);
  return new VaultApiError({
    status,
    // The pattern admits codes that a newer server may have; the union lists those of this version.
    code: code === undefined ? 'unknown' : (code as ErrorCode),
    text: matching(body['error'], SENTENCE),
    page: base.replace(/\/v1$/, '/guide/errors'),
    requestId: requestIdOf(headers) ?? matching(body['request_id'], REQUEST_ID),
    field: matching(body['field'], FIELD),
    scope: INSUFFICIENT.exec(headers.get('www-authenticate') ?? '')?.[1] as VaultApiError['scope'],
    retryAfterSeconds: retryAfterSeconds(headers.get('retry-after')),
  });
}

/** The members of a JSON object; none for any other text. */
function membersOf(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? { ...body } : {};
  } catch {
    return {};
  }
}

/** `Retry-After` is seconds or an HTTP date (RFC 9110, section 10.2.3). */
function retryAfterSeconds(value: string | null): number | undefined {
  if (value === null) {
    return undefined;
  }
  if (/^\d{1,9}$/.test(value)) {
    return Number(value);
  }
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}

/**
 * The connection error for an error of `fetch`. The original is not kept, because its message, and in some runtimes a
 * property, contains the URL.
 */
export function connectionErrorOf(thrown: unknown): VaultConnectionError {
  const reason = matching(codeOf(thrown), REASON) ?? matching(codeOf(causeOf(thrown)), REASON);
  const hint = HINTS.find(([pattern]) => reason !== undefined && pattern.test(reason))?.[1] ?? '.';
  return new VaultConnectionError(`The connection to the vault failed${hint}`, reason);
}

/** Explanations of error codes of the runtimes; most have a wrong address as their cause. */
const HINTS = [
  [/REFUSED/i, ': nothing listens there. Does it run, on this host and port?'],
  [/ENOTFOUND|EAI_/, ': there is no such host.'],
  [/CERT|SIGNATURE/, ': its certificate is not trusted here.'],
  [/SSL|PROTO/, ': no TLS there. Is it http?'],
  [/RESET|SOCKET/i, ': it was closed with no answer. Is it https?'],
] as const;

function causeOf(thrown: unknown): unknown {
  return thrown instanceof Error ? thrown.cause : undefined;
}

function codeOf(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined;
}
