/** The time limit and the cancellation of one call, combined in one signal for fetch. */
import { connectionErrorOf, VaultError, VaultTimeoutError } from './errors.ts';

/** Time and randomness, passed as a parameter so that tests need not wait. */
export interface RetryClock {
  readonly nowMs: () => number;
  /** Runs a function once after some milliseconds; the returned function cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
}

/** The clock of the runtime. */
export const systemClock: RetryClock = {
  nowMs: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** The limit of one call. It starts when it is created, and must be ended. */
export interface TimeLimit {
  /** Aborts when the time is over or when the caller's own signal aborts. */
  readonly signal: AbortSignal;
  readonly remainingMs: () => number;
  /** Restarts the whole time; a stream does so for each piece. */
  readonly restart: () => void;
  /** Stops the clock while no piece is awaited. */
  readonly hold: () => void;
  /** Waits, unless the signal aborts first. */
  readonly pause: (ms: number) => Promise<void>;
  /** The error that the caller receives for an error within this limit. */
  readonly errorOf: (thrown: unknown) => unknown;
  /** Releases the timer and the signal of the caller. */
  readonly end: () => void;
}

/**
 * Starts a limit of `timeoutMs`. An abort by the caller results in the reason of its signal, an elapsed limit in a
 * `VaultTimeoutError`, and any other error that is not a `VaultError` in a connection error.
 */
export function createLimit(timeoutMs: number, outer: AbortSignal | undefined, clock: RetryClock): TimeLimit {
  const controller = new AbortController();
  const { signal } = controller;
  let endsAtMs = 0;
  let cancelTimer = (): void => {};

  const hold = (): void => cancelTimer();
  const restart = (): void => {
    cancelTimer();
    endsAtMs = clock.nowMs() + timeoutMs;
    cancelTimer = clock.after(timeoutMs, () => controller.abort(new VaultTimeoutError(timeoutMs)));
  };
  const follow = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) {
    follow();
  }
  outer?.addEventListener('abort', follow, { once: true });
  restart();

  return {
    signal,
    restart,
    hold,
    remainingMs: () => endsAtMs - clock.nowMs(),
    pause: (ms) => pause(ms, signal, clock),
    errorOf: (thrown) => {
      if (signal.aborted) {
        return signal.reason;
      }
      return thrown instanceof VaultError ? thrown : connectionErrorOf(thrown);
    },
    end: () => {
      cancelTimer();
      outer?.removeEventListener('abort', follow);
    },
  };
}

function pause(ms: number, signal: AbortSignal, clock: RetryClock): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}
