/** A job on the host's side, from `run` until its promise settles. */
import type { VaultError } from '../../server/core/errors.ts';

/**
 * Hot: short, a caller waits for it. Bulk: one page of long work. Cold: as long as a passphrase takes, off-thread. Guess: the
 * same for a caller who may be anybody.
 */
export type Lane = 'hot' | 'bulk' | 'cold' | 'guess';

/** Whether jobs of a lane stretch a secret: they take memory and a core, but do not hold their thread. */
export function isStretching(lane: Lane): lane is 'cold' | 'guess' {
  return lane === 'cold' || lane === 'guess';
}

/** A job as its caller gives it. The fields must stay unchanged until the promise settles. */
export interface JobRequest {
  readonly kind: number;
  readonly fields: readonly Uint8Array[];
  readonly lane: Lane;
  /** Whose share of its lane it uses; jobs without an account share one. */
  readonly account?: string;
  /** Milliseconds that it may wait for a thread, and again that it may spend in one. */
  readonly deadlineMs: number;
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
  /** The deadlines that have passed in its thread. From the first on its caller has been answered, and no reply is wanted. */
  missed: number;
  readonly resolve: (fields: Uint8Array[]) => void;
  readonly reject: (error: VaultError) => void;
}
