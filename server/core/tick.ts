import { AsyncLocalStorage } from 'node:async_hooks';

const due: (() => void)[] = [];

/**
 * Runs something at the end of this tick, which is one round of the event loop with the requests and replies that came in
 * together. It runs in the asynchronous context of its caller, as a promise does. Nothing else runs between those that are
 * due, and what they add is due behind them. `run` must not throw.
 */
export function atTickEnd(run: () => void): void {
  if (due.push(AsyncLocalStorage.bind(run)) > 1) {
    return;
  }
  setImmediate(() => {
    try {
      for (const next of due) {
        next();
      }
    } finally {
      due.length = 0;
    }
  });
}
