import { VaultError } from '../../server/core/errors.ts';
import { CertificateError } from '../crypto/certificate/certificate.ts';
import { EndpointSecretError } from '../crypto/endpoint/record.ts';
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

/** Errors in the request itself, with any item: names, and methods and paths of a connection. */
const NOT_OF_ITEM: readonly string[] = [
  'template_missing',
  'placeholder_unknown',
  'reference_required',
  'not_allowed',
];

/** The failure to fill a request. Without its place for a caller who sees the item masked, to whom it could reveal data. */
export function fillFailure(error: unknown, isMasked: boolean): Failure {
  const failure = toFailure(error);
  return isMasked && !NOT_OF_ITEM.includes(failure.code)
    ? { ...failure, field: undefined, expected: undefined }
    : failure;
}
