/** How the failure of a job crosses between threads: its code, its place and its cause, and no message. */
import { type Cause, causeOf } from '../../server/core/error-cause.ts';

/** Why a job has no result. */
export interface Failure {
  /** A code of the error table, or of the jobs themselves; `internal` for what nobody expected. */
  readonly code: string;
  /** The place in the request that the code is about, never a value. */
  readonly field?: string | undefined;
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

/** The error of a job that has no result. It holds nothing of the job. */
export class JobError extends Error {
  override readonly name = 'JobError';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`The job failed with ${failure.code}.`);
    this.failure = failure;
  }

  get code(): string {
    return this.failure.code;
  }
}

/** The failure of a job by an error that nobody expected. */
export function unexpected(error: unknown): Failure {
  return { code: 'internal', cause: causeOf(error) };
}

/** A failure as the only field of its reply. */
export function encodeFailure(failure: Failure): Uint8Array {
  return encoder.encode(JSON.stringify(failure));
}

/** The error that a failure is on the host's side. Text that is no failure is a mistake of ours, and throws. */
export function decodeFailure(bytes: Uint8Array | undefined): JobError {
  return new JobError(JSON.parse(decoder.decode(bytes)) as Failure);
}

/** The error of a job that the pool itself gives up. `overloaded`: no thread has touched it, a retry is safe. */
export function poolError(code: 'overloaded' | 'internal', reason: PoolReason): JobError {
  return new JobError({ code, cause: { error: reason } });
}
