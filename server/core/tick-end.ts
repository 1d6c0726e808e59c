import { AsyncLocalStorage } from 'node:async_hooks';

/** Callbacks of the current tick; module state, because there is one event loop per thread. */
const queue: (() => void)[] = [];

/**
 * Runs a callback at the end of this tick: after the I/O events of one round of the event loop, so that the work of many
 * requests can be combined. Callbacks run in order, without anything else between them, and so do callbacks that they add.
 * A callback keeps the asynchronous context of its caller. It must not throw.
 */
export function runAtTickEnd(callback: () => void): void {
  if (queue.push(AsyncLocalStorage.bind(callback)) > 1) {
    return;
  }
  setImmediate(() => {
    try {
      for (const next of queue) {
        next();
      }
    } finally {
      queue.length = 0;
    }
  });
}
