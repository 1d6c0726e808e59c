import { type Cause, causeOf } from './error-cause.ts';
import { type ErrorCode, VaultError } from './errors.ts';

/** What a caller learns of an error: anything but a VaultError is `internal`, with that error as its cause. */
export function asVaultError(error: unknown): VaultError {
  return error instanceof VaultError ? error : new VaultError('internal', { cause: error });
}

/**
 * Whether the log must say where an error comes from: `internal`, and every other error with a cause but those that
 * only say that the vault cannot do it right now.
 */
export function isFault({ code, cause, status }: VaultError): boolean {
  return code === 'internal' || (cause !== undefined && status !== 503);
}

/** What a log line says of an error: its code, and of a fault also class and frames. Never a message. */
export function failureFields(error: unknown): { readonly code: ErrorCode } & Partial<Cause> {
  const failure = asVaultError(error);
  return isFault(failure) ? { code: failure.code, ...causeOf(error) } : { code: failure.code };
}
