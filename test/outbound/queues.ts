/** Job queues for tests, and what they ran. */
import { JobQueue, type JobQueueSettings, type RunJob } from '../../server/job/queue.ts';
import { type RedisPlace, targetOf } from '../helpers/redis.ts';

/** By how much something may seem to come early: a clock of ms may show one less. */
export const EARLY_MS = 1;

/** What runs have begun, and when; `until` waits for some. */
export function createRuns() {
  const begun: { readonly id: string; readonly at: number }[] = [];
  let wake: () => void = () => undefined;
  return {
    begun,
    note: (id: string): void => {
      begun.push({ id, at: Date.now() });
      wake();
    },
    until: async (runs: number): Promise<void> => {
      while (begun.length < runs) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    },
    ids: () => begun.map(({ id }) => id),
  };
}

type Runs = ReturnType<typeof createRuns>;
type Settings = Partial<JobQueueSettings> & {
  readonly run?: RunJob;
  readonly onEvent?: (event: string) => void;
};

/** A queue with what it runs. */
export type TestQueue = Omit<JobQueue, 'start' | 'isOpen'> & { readonly start: () => void };

const opened: TestQueue[] = [];

/** A queue that runs everything once, unless it is told otherwise. */
export function openQueue(redis: RedisPlace, runs: Runs, settings: Settings = {}): TestQueue {
  const { run, onEvent = () => undefined, concurrency = 5, thrownMs = [1_000, 5_000] } = settings;
  const queue = new JobQueue(targetOf(redis), onEvent, { concurrency, thrownMs });
  const test: TestQueue = {
    add: (id, options) => queue.add(id, options),
    remove: (id) => queue.remove(id),
    size: () => queue.size(),
    start: () =>
      queue.start((id) => {
        runs.note(id);
        return run?.(id) ?? Promise.resolve(undefined);
      }),
    drain: () => queue.drain(),
    close: () => queue.close(),
  };
  opened.push(test);
  return test;
}

/** Closes all queues that a test has opened. */
export async function closeQueues(): Promise<void> {
  await Promise.all(opened.splice(0).map((queue) => queue.close()));
}

/** Waits until everything in the queue is done; one that cannot tell, since it is on its way back to Redis, is not empty. */
export async function untilEmpty(queue: TestQueue): Promise<void> {
  while ((await queue.size().catch(() => 1)) > 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
