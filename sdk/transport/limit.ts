/** The time limit and the cancellation of one call, which fetch sees as one signal. */
import { connectionErrorOf, VaultError, VaultTimeoutError } from './errors.ts';

/** Time and chance, passed in so that tests need not wait. */
export interface RetryClock {
  readonly nowMs: () => number;
  /** Runs a function once after some milliseconds; the returned function takes the appointment back. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
}

export const systemClock: RetryClock = {
  nowMs: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** One call's limit: begins when made, must be ended. */
export interface TimeLimit {
  /** Aborts when the time is over or when the caller's own signal aborts. */
  readonly signal: AbortSignal;
  readonly remainingMs: () => number;
  /** Gives the whole time anew; a stream does so for each piece it waits for. */
  readonly restart: () => void;
  /** Stops the clock while nothing is being waited for. */
  readonly hold: () => void;
  /** Waits, unless the signal aborts first. */
  readonly pause: (ms: number) => Promise<void>;
  /** The error to give to the caller for whatever was thrown under this limit. */
  readonly errorOf: (thrown: unknown) => unknown;
  readonly end: () => void;
}

/**
 * Begins a limit of `timeoutMs`. An abort by the caller surfaces as the signal's own reason, an elapsed limit
 * as `VaultTimeoutError`, anything else that is not already a `VaultError` as a connection failure.
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
