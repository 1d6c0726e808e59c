/** Keeps the wanted number of threads alive: started one after the other, replaced when they go. */
import { errorOf, failureOf, poolError } from './failure.ts';
import {
  close as closeThread,
  DOWN_REASON,
  type DownCause,
  startThread,
  type Thread,
  type ThreadListener,
} from './worker-thread.ts';

const FIRST_PAUSE_MS = 100;
const PAUSE_MAX_MS = 2_000;
/** How long a thread may load; it takes less than a second where the machine is not busy. */
const LOAD_MS_MAX = 30_000;

/** What the threads run, how many there are, and who is called for their replies and their end. */
export interface CrewOptions extends Omit<ThreadListener, 'onReady'> {
  readonly entry: URL | string;
  readonly workerData: unknown;
  readonly size: number;
  readonly loadMsMax?: number | undefined;
  readonly onReady: () => void;
}

/**
 * One thread is started at a time, the next after its ready handshake: starting many at once and ending one
 * that is still loading have both crashed the host process, so only one that hangs there is ended. A thread lost
 * after it had answered jobs is replaced at once; threads that keep dying before they answer anything are replaced
 * ever more slowly.
 */
export interface Crew {
  readonly options: CrewOptions;
  /** The threads that take jobs now. */
  readonly threads: Thread[];
  /** Resolves when all threads have been ready; rejects when one is lost before that. */
  readonly complete: PromiseWithResolvers<void>;
  loading: Thread | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  isClosed: boolean;
  /** Losses in a row, without a reply in between. */
  streak: number;
  /** How many threads were lost and replaced, or are about to be. */
  restarts: number;
}

/** Starts the first thread, and the others one by one behind it. */
export function startCrew(options: CrewOptions): Crew {
  const crew: Crew = {
    options,
    threads: [],
    complete: Promise.withResolvers<void>(),
    loading: undefined,
    timer: undefined,
    isClosed: false,
    streak: 0,
    restarts: 0,
  };
  crew.complete.promise.catch(() => undefined);
  startNext(crew);
  return crew;
}

/** Ends all threads and starts no more. */
export async function closeCrew(crew: Crew): Promise<void> {
  crew.isClosed = true;
  clearTimeout(crew.timer);
  if (crew.loading) {
    await closeThread(crew.loading);
  }
  for (const thread of crew.threads.splice(0)) {
    await closeThread(thread);
  }
}

/** The error of what a lost thread has taken with it. The cause is what the thread threw, where that is known. */
export function lossError(cause: DownCause, error: unknown) {
  return error instanceof Error ? errorOf(failureOf(error)) : poolError('internal', DOWN_REASON[cause]);
}

/** The pause before a replacement after `streak` losses in a row: none, then 100 ms doubling up to 2 s. */
export function pauseMs(streak: number): number {
  return streak <= 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (streak - 2), PAUSE_MAX_MS);
}

function startNext(crew: Crew): void {
  const { options } = crew;
  crew.timer = undefined;
  if (crew.isClosed || crew.loading !== undefined || crew.threads.length >= options.size) {
    return;
  }
  crew.loading = startThread(options.entry, options.workerData, options.loadMsMax ?? LOAD_MS_MAX, {
    onReply: options.onReply,
    onFrameDone: options.onFrameDone,
    onReady: (thread) => onReady(crew, thread),
    onDown: (thread, cause, error) => onDown(crew, thread, cause, error),
  });
}

function onReady(crew: Crew, thread: Thread): void {
  crew.loading = undefined;
  crew.threads.push(thread);
  if (crew.threads.length === crew.options.size) {
    crew.complete.resolve();
  }
  crew.options.onReady();
  startNext(crew);
}

function onDown(crew: Crew, thread: Thread, cause: DownCause, error: unknown): void {
  if (crew.loading === thread) {
    crew.loading = undefined;
  }
  const index = crew.threads.indexOf(thread);
  if (index >= 0) {
    crew.threads.splice(index, 1);
  }
  crew.streak = thread.hasAnswered ? 1 : crew.streak + 1;
  crew.restarts += 1;
  crew.complete.reject(lossError(cause, error));
  crew.options.onDown(thread, cause, error);
  if (!crew.isClosed) {
    crew.timer ??= setTimeout(startNext, pauseMs(crew.streak), crew);
  }
}
