/** Runs a bounded number of tasks at once; waiting tasks are started round robin over the queues. */
export interface FairSemaphore {
  readonly max: number;
  /** What starts the tasks that wait, by queue. None is empty; the order of the map is the order of turns. */
  readonly waiting: Map<string, (() => void)[]>;
  readonly runningOf: Map<string, number>;
  running: number;
  /** Tasks that a queue may run at once, whatever is free; to be set by the owner, and obeyed from then on. */
  queueMax: number;
}

/** A queue may run less than this many times the free places: alone 7/8 of all, so that another one need not wait. */
const SHARE = 7;

/** Makes a fair queue for at most `max` tasks at once, of which each queue has less than seven eighths. */
export function createFairSemaphore(max: number): FairSemaphore {
  return { max, waiting: new Map(), runningOf: new Map(), running: 0, queueMax: Number.POSITIVE_INFINITY };
}

/** Starts a task: at once with `undefined`, or when the promise resolves. From then on `leave` must be called once. */
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

/** Ends a task, and starts those that may run now: what one end makes room for may be more than one. */
export function leave(fair: FairSemaphore, name: string): void {
  fair.running -= 1;
  const left = (fair.runningOf.get(name) ?? 1) - 1;
  if (left === 0) {
    fair.runningOf.delete(name);
  } else {
    fair.runningOf.set(name, left);
  }
  while (fair.waiting.size > 0 && startNext(fair)) {
    // The next one.
  }
}

function mayRun({ max, running, runningOf, queueMax }: FairSemaphore, name: string): boolean {
  return (runningOf.get(name) ?? 0) < Math.min(queueMax, SHARE * (max - running));
}

function start(fair: FairSemaphore, name: string): void {
  fair.running += 1;
  fair.runningOf.set(name, (fair.runningOf.get(name) ?? 0) + 1);
}

/** Starts the next task; false when none may run. */
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
