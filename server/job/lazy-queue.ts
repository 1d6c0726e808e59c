import { JOBS_AT_ONCE } from '../call/bounds.ts';
import type { RedisTarget } from '../redis/connect.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { createJobQueue, type JobQueue } from './queue.ts';

/**
 * The queue of asynchronous requests. It connects at the first use, so a command line that never sends requests opens
 * no second connection. `run` processes one job; it resolves with the delay in ms before the next attempt, or with
 * undefined when the job is finished.
 */
export function createLazyJobQueue(
  target: RedisTarget,
  run: (name: string) => Promise<number | undefined>,
  recordEvent: RecordEvent,
) {
  let opened: JobQueue | undefined;
  const queue = (): JobQueue => {
    opened ??= createJobQueue({
      target,
      run,
      concurrency: JOBS_AT_ONCE,
      onEvent: (event) => recordEvent(event),
    });
    return opened;
  };
  return {
    enqueue: (name: string, place: number) => queue().add(name, { place }),
    dequeue: (name: string) => queue().remove(name),
    start: () => queue().start(),
    rest: async () => opened?.drain(),
    close: async () => opened?.close(),
    waiting: async () => opened?.size(),
  };
}
