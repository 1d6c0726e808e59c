import type { VaultError } from '../../server/core/errors.ts';
import { errorOf, failureOf, type PoolReason, poolError } from './failure.ts';
import { type DownCause, Thread, type ThreadListener } from './worker-thread.ts';

const FIRST_PAUSE_MS = 100;
const PAUSE_MAX_MS = 2_000;

const DOWN_REASON: Readonly<Record<DownCause, PoolReason>> = {
  error: 'ThreadError',
  exit: 'ThreadExit',
  messageerror: 'ThreadMessageError',
  hung: 'ThreadHung',
};

/** The module that the threads run, their number, and the time in ms that one may take to load. */
interface CrewOptions {
  readonly entry: URL | string;
  readonly workerData: unknown;
  readonly threads: number;
  readonly loadMsMax: number;
}

/**
 * Keeps the wanted number of threads alive. One thread is started at a time, the next after its ready handshake: starting
 * many at once and ending one that is still loading have both crashed the host process, so only one that hangs there is
 * ended. A thread lost after it had answered jobs is replaced at once; threads that keep dying before they answer anything
 * are replaced ever more slowly.
 */
export class Crew {
  /** The threads that take jobs now. */
  readonly threads: Thread[] = [];
  /** Resolves when all threads have been ready; rejects when one is lost before that. */
  readonly complete = Promise.withResolvers<void>();
  /** Number of threads that were lost and replaced, or are about to be. */
  restarts = 0;
  private loading: Thread | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;
  /** Losses in a row, without a reply in between. */
  private streak = 0;

  constructor(
    private readonly options: CrewOptions,
    private readonly listener: ThreadListener,
  ) {
    this.complete.promise.catch(() => undefined);
    this.startNext();
  }

  /** Ends all threads and starts no more. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await this.loading?.close();
    for (const thread of this.threads.splice(0)) {
      await thread.close();
    }
  }

  private startNext(): void {
    const { entry, workerData, threads, loadMsMax } = this.options;
    this.timer = undefined;
    if (this.isClosed || this.loading !== undefined || this.threads.length >= threads) {
      return;
    }
    this.loading = new Thread(entry, workerData, loadMsMax, {
      ...this.listener,
      onReady: (thread) => this.onReady(thread),
      onDown: (thread, cause, error) => this.onDown(thread, cause, error),
    });
  }

  private onReady(thread: Thread): void {
    this.loading = undefined;
    this.threads.push(thread);
    if (this.threads.length === this.options.threads) {
      this.complete.resolve();
    }
    this.listener.onReady(thread);
    this.startNext();
  }

  private onDown(thread: Thread, cause: DownCause, error: unknown): void {
    if (this.loading === thread) {
      this.loading = undefined;
    }
    const index = this.threads.indexOf(thread);
    if (index >= 0) {
      this.threads.splice(index, 1);
    }
    this.streak = thread.hasAnswered ? 1 : this.streak + 1;
    this.restarts += 1;
    this.complete.reject(lossError(cause, error));
    this.listener.onDown(thread, cause, error);
    if (!this.isClosed) {
      this.timer ??= setTimeout(() => this.startNext(), pauseMs(this.streak));
    }
  }
}

/** The error of the jobs that a lost thread has taken with it. Its cause is the error that the thread threw, if known. */
export function lossError(cause: DownCause, error: unknown): VaultError {
  return error instanceof Error ? errorOf(failureOf(error)) : poolError('internal', DOWN_REASON[cause]);
}

/** The pause before a replacement after `streak` losses in a row: none, then 100 ms doubling up to 2 s. */
export function pauseMs(streak: number): number {
  return streak <= 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (streak - 2), PAUSE_MAX_MS);
}
