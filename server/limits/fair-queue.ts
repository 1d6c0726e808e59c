/** Runs a bounded number of tasks at once; waiting tasks are started round robin over the queues. */
export interface FairSemaphore {
  readonly max: number;
  /** Resolvers of waiting tasks by queue. No queue is empty; the map is in round-robin order. */
  readonly waiting: Map<string, (() => void)[]>;
  readonly runningOf: Map<string, number>;
  running: number;
  /** The limit of tasks of one queue, set by the owner. */
  queueMax: number;
}

/** A queue runs less than this multiple of the free slots: alone 7/8 of all, so that another queue need not wait. */
const SHARE = 7;

/** Creates a semaphore for `max` tasks at once, of which each queue has less than seven eighths. */
export function createFairSemaphore(max: number): FairSemaphore {
  return { max, waiting: new Map(), runningOf: new Map(), running: 0, queueMax: Number.POSITIVE_INFINITY };
}

/** Acquires a slot: at once with `undefined`, or when the promise resolves. Then `leave` must be called once. */
export function enter(fair: FairSemaphore, name: string): Promise<void> | undefined {
  if (mayRun(fair, name)) {
    start(fair, name);
    return undefined;
  }
  return new Promise((resolve) => {
    const queue = fair.waiting.get(name);
    if (queue === undefined) {
      fair.waiting.set(name, [resolve]);
    } else {
      queue.push(resolve);
    }
  });
}

/** Releases a slot, and starts all tasks that may run now. */
export function leave(fair: FairSemaphore, name: string): void {
  fair.running -= 1;
  const left = (fair.runningOf.get(name) ?? 1) - 1;
  if (left === 0) {
    fair.runningOf.delete(name);
  } else {
    fair.runningOf.set(name, left);
  }
  while (fair.waiting.size > 0 && startNext(fair)) {
    // Until none may run.
  }
}

function mayRun({ max, running, runningOf, queueMax }: FairSemaphore, name: string): boolean {
  return (runningOf.get(name) ?? 0) < Math.min(queueMax, SHARE * (max - running));
}

function start(fair: FairSemaphore, name: string): void {
  fair.running += 1;
  fair.runningOf.set(name, (fair.runningOf.get(name) ?? 0) + 1);
}

/** Starts the next task; false if none may run. */
function startNext(fair: FairSemaphore): boolean {
  for (const [name, queue] of fair.waiting) {
    if (!mayRun(fair, name)) {
      continue;
    }
    const resolve = queue.shift();
    fair.waiting.delete(name);
    if (queue.length > 0) {
      fair.waiting.set(name, queue);
    }
    start(fair, name);
    resolve?.();
    return true;
  }
  return false;
}
