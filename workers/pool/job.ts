/** What a job is on the host's side, from `run` until its promise settles. */

/** Hot: short, someone waits. Bulk: one chunk of a long listing. Cold: an Argon2id run, off-thread. */
export type Lane = 'hot' | 'bulk' | 'cold';

/** A job as its caller states it. The fields must stay unchanged until the promise settles. */
export interface JobRequest {
  readonly kind: number;
  readonly fields: readonly Uint8Array[];
  readonly lane: Lane;
  /** Whose share of its lane it uses; jobs without an account share one. */
  readonly account?: string;
  /** Milliseconds that it may wait for a thread, and again that it may spend in one. */
  readonly deadlineMs: number;
}

/**
 * Why a job has no result: a code of the thread's handler, `overloaded` when it was refused or gave up its
 * place before any thread had touched it (safe to try again), or `internal` when a thread died or went silent
 * with it. It holds nothing of the job.
 */
export class JobError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`The job failed with ${code}.`);
    this.name = 'JobError';
    this.code = code;
  }
}

/** An accepted job. `id` is given by the thread that it is sent to; `dueAt` is on `performance.now()`. */
export interface PendingJob {
  id: number;
  readonly kind: number;
  readonly fields: readonly Uint8Array[];
  readonly lane: Lane;
  readonly account: string;
  readonly deadlineMs: number;
  dueAt: number;
  /** When it was accepted, on `performance.now()`. */
  readonly queuedAt: number;
  /** How often it was in a thread that died of another job, and was queued again. */
  requeues: number;
  /** Its caller has been told `internal`, while the thread may still be at work on it. */
  abandoned: boolean;
  readonly resolve: (fields: Uint8Array[]) => void;
  readonly reject: (error: JobError) => void;
}
