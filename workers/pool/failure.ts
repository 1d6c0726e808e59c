/** How the failure of a job crosses between threads: its code, its place and its cause, and no message. */
import { type Cause, causeOf, ReportedError } from '../../server/core/error-cause.ts';
import { ERRORS } from '../../server/core/error-table.ts';
import { type ErrorCode, VaultError } from '../../server/core/errors.ts';

/** Why a job has no result. */
export interface Failure {
  /** `internal` for an unexpected error. */
  readonly code: ErrorCode;
  /** The place in the request that the code is about, never a value. */
  readonly field?: string | undefined;
  /** What was expected of that place. */
  readonly expected?: string | undefined;
  /** The class and the frames of the error that was thrown. */
  readonly cause?: Cause | undefined;
}

/** Why a job failed although no handler did. */
export type PoolReason =
  | 'QueueFull'
  | 'QueueTimeout'
  | 'PoolDraining'
  | 'MessageInvalid'
  | 'JobTimeout'
  | 'ThreadError'
  | 'ThreadExit'
  | 'ThreadMessageError'
  | 'ThreadHung';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The failure by an error under a code. The cause is named where somebody has to look into it: status 500. */
export function failureOf(error: unknown, code: ErrorCode = 'internal', field?: string): Failure {
  const expected = error instanceof VaultError ? error.expected : undefined;
  return { code, field, expected, cause: ERRORS[code].status === 500 ? causeOf(error) : undefined };
}

/** A failure as one byte field. */
export function encodeFailure(failure: Failure): Uint8Array {
  return encoder.encode(JSON.stringify(failure));
}

/** The error that a failure is on the host's side. Text that is no failure is a mistake of ours, and throws. */
export function decodeFailure(bytes: Uint8Array | undefined): VaultError {
  return errorOf(JSON.parse(decoder.decode(bytes)) as Failure);
}

/** The error that callers see, with the cause that was reported. */
export function errorOf({ code, field, expected, cause }: Failure): VaultError {
  return new VaultError(code, { field, expected, cause: cause && new ReportedError(cause) });
}

/** The error of a job that the pool itself gives up. `overloaded`: nothing was wrong with it, and a retry is safe. */
export function poolError(code: 'overloaded' | 'internal', reason: PoolReason): VaultError {
  return errorOf({ code, cause: { error: reason } });
}
