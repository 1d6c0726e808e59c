/** Which code each error of the threads has for callers. */
import { VaultError } from '../../server/core/errors.ts';
import { CertificateError } from '../crypto/certificate/certificate.ts';
import { EndpointSecretError } from '../crypto/endpoint/secret.ts';
import { IntegrityError, PassphraseError } from '../crypto/primitives/bytes.ts';
import { type Failure, failureOf } from '../pool/failure.ts';

/** An error as it crosses to the server. An unexpected error has the code `internal`. */
export function toFailure(error: unknown): Failure {
  if (error instanceof VaultError) {
    return failureOf(error, error.code, error.field);
  }
  if (error instanceof IntegrityError) {
    return failureOf(error, 'integrity_failed');
  }
  if (error instanceof PassphraseError) {
    return failureOf(error, 'passphrase_wrong');
  }
  if (error instanceof CertificateError) {
    return failureOf(error, error.code, 'body');
  }
  return failureOf(error, error instanceof EndpointSecretError ? 'endpoint_refused' : 'internal');
}

/** What a caller's own request is wrong in, whatever an item holds: names, and methods and paths of a connection. */
const NOT_OF_ITEM: readonly string[] = ['template_missing', 'placeholder_unknown', 'not_allowed'];

/** An error of filling a request. Its place reveals nothing of the item to a caller who sees it masked. */
export function fillFailure(error: unknown, isMasked: boolean): Failure {
  const failure = toFailure(error);
  return isMasked && !NOT_OF_ITEM.includes(failure.code)
    ? { ...failure, field: undefined, expected: undefined }
    : failure;
}

/** What `open` gives; undefined when that fails with an `IntegrityError`. */
export function openedOrNot<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof IntegrityError) {
      return undefined;
    }
    throw error;
  }
}
