import { type Cause, causeOf } from './error-cause.ts';
import { type ErrorCode, VaultError } from './errors.ts';

/**
 * The error that a caller receives: a VaultError unchanged, any other error as `internal` with that error as its
 * cause.
 */
export function asVaultError(error: unknown): VaultError {
  return error instanceof VaultError ? error : new VaultError('internal', { cause: error });
}

/**
 * Whether the log must contain the origin of an error: `internal`, and every other error with a cause, except those
 * with status 503, which only say that the server cannot do it now.
 */
export function isFault({ code, cause, status }: VaultError): boolean {
  return code === 'internal' || (cause !== undefined && status !== 503);
}

/**
 * The fields of a log line about an error: its code and, if its origin must be logged, class and stack frames. Never
 * a message.
 */
export function failureFields(error: unknown): { readonly code: ErrorCode } & Partial<Cause> {
  const failure = asVaultError(error);
  return isFault(failure) ? { code: failure.code, ...causeOf(error) } : { code: failure.code };
}
