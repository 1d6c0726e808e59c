import { AsyncLocalStorage } from 'node:async_hooks';

/** Module state, because there is one event loop per thread: callbacks of the current tick, and whether contexts are used. */
const queue: (() => void)[] = [];
let keepsContext = false;

/** From now on callbacks run in the asynchronous context of their caller, for traces; it costs 1 us per callback. */
export function keepContextAtTickEnd(): void {
  keepsContext = true;
}

/** Returns a callback that, where contexts are used, runs in that of this call. */
export function inThisContext<Callback extends (...args: never[]) => unknown>(callback: Callback): Callback {
  return keepsContext ? AsyncLocalStorage.bind(callback) : callback;
}

/**
 * Runs a callback at the end of this tick: after the I/O events of one round of the event loop, so that the work of many
 * requests can be combined. Callbacks run in order, without anything else between them, and so do callbacks that they add.
 * A callback must not throw.
 */
export function runAtTickEnd(callback: () => void): void {
  if (queue.push(inThisContext(callback)) === 1) {
    setImmediate(runQueue);
  }
}

function runQueue(): void {
  try {
    for (const next of queue) {
      next();
    }
  } finally {
    queue.length = 0;
  }
}
