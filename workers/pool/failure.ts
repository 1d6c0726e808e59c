import { type Cause, causeOf, ReportedError } from '../../server/core/error-cause.ts';
import { ERRORS } from '../../server/core/error-table.ts';
import { type ErrorCode, VaultError } from '../../server/core/errors.ts';
import type { Codec } from './frame.ts';

/** The failure of a job, as it crosses between threads: without a message. */
export interface Failure {
  /** `internal` for an unexpected error. */
  readonly code: ErrorCode;
  /** The place in the request that the code is about, never a value. */
  readonly field?: string | undefined;
  /** The expectation of that place. */
  readonly expected?: string | undefined;
  /** The class and the frames of the error that was thrown. */
  readonly cause?: Cause | undefined;
}

/** Reasons for a failure outside of any handler. */
export type PoolReason =
  | 'QueueFull'
  | 'QueueTimeout'
  | 'PoolDraining'
  | 'JobTimeout'
  | 'ThreadError'
  | 'ThreadExit'
  | 'ThreadMessageError'
  | 'ThreadHung';

/** The failure for an error under a code. The cause is included where it has to be investigated: status 500. */
export function failureOf(error: unknown, code: ErrorCode = 'internal', field?: string): Failure {
  const expected = error instanceof VaultError ? error.expected : undefined;
  return { code, field, expected, cause: ERRORS[code].status === 500 ? causeOf(error) : undefined };
}

/** A failure in a message: the error for callers on the reading side. */
export const FAILURE: Codec<Failure, VaultError> = {
  write: (failure, out) => out.text(JSON.stringify(failure)),
  read: (reader) => errorOf(JSON.parse(reader.text()) as Failure), // Written by this very codec.
};

/** The error for callers, with the reported cause. */
export function errorOf({ code, field, expected, cause }: Failure): VaultError {
  return new VaultError(code, { field, expected, cause: cause && new ReportedError(cause) });
}

/** The error of a job that the pool itself gives up. `overloaded`: nothing was wrong with it, and a retry is safe. */
export function poolError(code: 'overloaded' | 'internal', reason: PoolReason): VaultError {
  return errorOf({ code, cause: { error: reason } });
}
