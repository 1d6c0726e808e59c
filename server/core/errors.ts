import { ERRORS } from './error-table.ts';

export type ErrorCode = keyof typeof ERRORS;

/** True if a text is one of the codes, for codes that cross a thread or come from a store. */
export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(ERRORS, value);
}

/** The message about a field, as a sentence: `The body`, `X-Vault-Passphrase` or `webhook.url`, then the expectation. */
function sentenceOf(field: string, expected: string): string {
  const name = field.replace(/^(?:query|body|header)(?:\.|$)/, '');
  return `${name === '' ? `The ${field}` : `\`${name}\``} ${expected}${expected.endsWith('?') ? '' : '.'}`;
}

/** An error that the caller receives as its code. The message contains no data of the caller: it may be logged. */
export class VaultError extends Error {
  readonly code: ErrorCode;
  /** The path of the invalid part of the request (`query.user`, `body[2].name`), never its value. */
  readonly field: string | undefined;
  /**
   * The expectation of the field, as the rest of a sentence about it: `must have 8 to 4096 characters`. Made of schemas and
   * constants, never of data of the caller.
   */
  readonly expected: string | undefined;
  /** The scope that a credential lacks (RFC 6750, section 3.1). */
  readonly scope: string | undefined;
  /** The value of `Retry-After`; by default that of the code. */
  readonly retryAfterSeconds: number | undefined;
  /** The request id that a third party received, if the request was sent; for support cases with it. */
  readonly sentAs: string | undefined;

  constructor(
    // Details are optional; `cause` is only logged, never sent to a caller.
    code: ErrorCode,
    details: Partial<
      Pick<VaultError, 'field' | 'expected' | 'scope' | 'retryAfterSeconds' | 'sentAs' | 'cause'>
    > = {},
  ) {
    const { field, expected, cause } = details;
    const message =
      field === undefined || expected === undefined ? ERRORS[code].text : sentenceOf(field, expected);
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'VaultError';
    this.code = code;
    this.field = field;
    this.expected = expected;
    this.scope = details.scope;
    this.sentAs = details.sentAs;
    this.retryAfterSeconds = details.retryAfterSeconds ?? ERRORS[code].retryAfterSeconds;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** The server or a command cannot start. The message gives the reason, and contains no secret. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
