/** Keeps the wanted number of threads alive: started one after the other, replaced when they go. */
import { JobError } from './job.ts';
import { type DownCause, startThread, type Thread, type ThreadListener } from './worker-thread.ts';

const FIRST_PAUSE_MS = 100;
const PAUSE_MAX_MS = 2_000;

export interface CrewOptions extends Omit<ThreadListener, 'onReady'> {
  readonly entry: URL | string;
  readonly workerData: unknown;
  readonly size: number;
  onReady(): void;
}

export interface Crew {
  /** The threads that take jobs now. */
  readonly threads: readonly Thread[];
  /** How many threads were lost and replaced, or are about to be. */
  restarts(): number;
  /** Resolves when all threads have been ready; rejects when one is lost before that. */
  ready(): Promise<void>;
  /** Ends all threads and starts no more. */
  close(): Promise<void>;
}

/** The pause before a replacement after `streak` losses in a row: none, then 100 ms doubling up to 2 s. */
const pauseMs = (streak: number): number =>
  streak <= 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (streak - 2), PAUSE_MAX_MS);

/**
 * One thread is started at a time, the next after its ready handshake: starting many at once and ending one
 * that is still loading have both crashed the host process. A thread lost after it had answered jobs is
 * replaced at once; threads that keep dying before they answer anything are replaced ever more slowly.
 */
export const createCrew = (options: CrewOptions): Crew => {
  const threads: Thread[] = [];
  const complete = Promise.withResolvers<void>();
  complete.promise.catch(() => undefined);
  let loading: Thread | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  let streak = 0;
  let restarts = 0;

  const startNext = (): void => {
    timer = undefined;
    if (closed || loading !== undefined || threads.length >= options.size) {
      return;
    }
    loading = startThread(options.entry, options.workerData, { ...options, onReady, onDown });
  };

  const onReady = (thread: Thread): void => {
    loading = undefined;
    threads.push(thread);
    if (threads.length === options.size) {
      complete.resolve();
    }
    options.onReady();
    startNext();
  };

  const onDown = (thread: Thread, cause: DownCause): void => {
    if (loading === thread) {
      loading = undefined;
    }
    const index = threads.indexOf(thread);
    if (index >= 0) {
      threads.splice(index, 1);
    }
    streak = thread.hasAnswered() ? 1 : streak + 1;
    restarts += 1;
    complete.reject(new JobError('internal'));
    options.onDown(thread, cause);
    if (!closed) {
      timer ??= setTimeout(startNext, pauseMs(streak));
    }
  };

  startNext();
  return {
    threads,
    restarts: () => restarts,
    ready: () => complete.promise,
    async close() {
      closed = true;
      clearTimeout(timer);
      await loading?.close();
      for (const thread of threads.splice(0)) {
        await thread.close();
      }
    },
  };
};
