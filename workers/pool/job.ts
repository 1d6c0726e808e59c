import type { VaultError } from '../../server/core/errors.ts';
import type { Decoder, Encoder } from './frame.ts';

/**
 * Hot: short, a caller waits for it. Bulk: one page of long work. Cold: stretches a passphrase, off-thread. Guess: the same
 * for an unauthenticated caller.
 */
export type Lane = 'hot' | 'bulk' | 'cold' | 'guess';

/** Tests whether jobs of a lane stretch a secret: they take memory and a core, but do not hold their thread. */
export function isStretching(lane: Lane): lane is 'cold' | 'guess' {
  return lane === 'cold' || lane === 'guess';
}

/** A job as its caller gives it. The input must stay unchanged until the promise settles. */
export interface JobRequest<Given = never, Taken = unknown> {
  readonly job: {
    readonly kind: number;
    readonly input: Encoder<Given>;
    readonly output: Decoder<Taken>;
  };
  readonly input: Given;
  readonly lane: Lane;
  /** When its caller asked for it, on `performance.now()`, for metrics; omitted: now. */
  readonly queuedAt?: number;
  /** Milliseconds that it may wait for a thread, and again that it may spend in one. */
  readonly deadlineMs: number;
}

/** The same for any job: its codec alone knows the type of its input. */
export type AnyRequest = Omit<JobRequest, 'input'> & { readonly input: unknown };

/** An accepted job, until its promise settles. `id` is given by the thread that it is sent to; `dueAt` is on `performance.now()`. */
export interface PendingJob extends Required<AnyRequest> {
  id: number;
  dueAt: number;
  readonly queuedAt: number;
  /** Number of times that it was in a thread that died of another job, and was queued again. */
  requeues: number;
  /** Number of deadlines that have passed in its thread. From the first on its caller has been answered. */
  missed: number;
  readonly resolve: (output: never) => void;
  readonly reject: (error: VaultError) => void;
}
