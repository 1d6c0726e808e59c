import { randomInt } from 'node:crypto';
import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import { VaultError } from '../core/errors.ts';
import { openRawRedis, type RawRedis, type RedisTarget, toVaultError } from '../store/redis/client.ts';
import { redisKeys } from '../store/redis/keys.ts';

/** Ids that are to be run, each by one process at a time, kept in Redis. What an id means is not its business. */
export interface JobQueue {
  /** Lets an id run; one that is in the queue, or runs, stays as it is. */
  add(id: string, options?: AddOptions): Promise<void>;
  /** How many ids are in the queue: waiting, delayed or running. */
  waiting(): Promise<number>;
  /** Begins to run ids. */
  start(): void;
  /** Runs no new ids and waits for those that run. Ids may still be added: other processes run them. */
  rest(): Promise<void>;
  /** Rests, and leaves Redis. */
  close(): Promise<void>;
}

/** When an id is to run. */
export interface AddOptions {
  readonly delayMs?: number;
  /** From 1. Of ids that could run, those with a smaller place go first. */
  readonly place?: number;
}

/** What a queue is made of. */
export interface JobQueueOptions {
  readonly target: RedisTarget;
  /** Runs an id; gives the ms until the same id runs again, or undefined when it is done. */
  readonly run: (id: string) => Promise<number | undefined>;
  /** How many ids this process runs at once. */
  readonly concurrency: number;
  /** Hears that Redis is away or back, that a run threw, and of other trouble; names alone, no data. */
  readonly onEvent?: (event: string) => void;
}

const NAME = 'run';
/** The library has no larger priority. */
const PLACE_MAX = 2_097_151;
/** The longest that `add` and `waiting` take. */
const ANSWER_MS = 2_000;
/** What a process that has ended held is run by another within the lock and two rounds of looking. */
const LOCK_MS = 12_000;
const STALLED_MS = 4_000;
const THROWN_MS = [1_000, 5_000] as const;
/** How long closing waits for Redis once nothing runs any more. */
const CLOSE_MS = 3_000;

// Nothing but the id is ever stored, neither a result nor why something failed; and an id that is done can be
// added again.
const STORED = { removeOnComplete: true, removeOnFail: true } as const;

/** Gives what `work` gives, or fails after `ms`. */
async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new VaultError('store_unavailable')), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for work that may fail, but not for ever. */
const settled = (work: Promise<unknown>): Promise<unknown> => within(work, CLOSE_MS).catch(() => undefined);

const isThere = ({ client }: RawRedis): boolean => client.status === 'ready';

/** Tells once that Redis went away, and once that it is back, however many connections notice. */
function createWatch(tell: (event: string) => void) {
  const away = new Set<RawRedis>();
  return {
    add(redis: RawRedis): void {
      const lose = (): void => {
        if (away.size === 0) {
          tell('job_queue_disconnected');
        }
        away.add(redis);
      };
      redis.client.on('error', lose);
      redis.client.on('close', lose);
      redis.client.on('ready', () => {
        if (away.delete(redis) && away.size === 0) {
          tell('job_queue_reconnected');
        }
      });
    },
    /** Trouble that is not just another sign of an absence. */
    trouble(): void {
      if (away.size === 0) {
        tell('job_queue_error');
      }
    },
  };
}

/** Opens the queue. Without `start` it only takes ids. */
export function createJobQueue(options: JobQueueOptions): JobQueue {
  const adding = openRawRedis(options.target, false);
  const running = new Set<Promise<unknown>>();
  const prefix = redisKeys.jobQueue;
  let taking: { readonly redis: RawRedis; readonly worker: Worker } | undefined;
  let resting: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  const tell = (event: string): void => {
    if (closing === undefined) {
      options.onEvent?.(event);
    }
  };
  const watch = createWatch(tell);
  watch.add(adding);
  const queue = new Queue(NAME, { connection: adding.client, prefix, streams: { events: { maxLen: 1 } } });
  queue.on('error', watch.trouble);

  const runOnce = async (id: string): Promise<number | undefined> => {
    if (resting !== undefined) {
      return 0;
    }
    try {
      return await options.run(id);
    } catch {
      tell('job_queue_run_failed');
      return randomInt(...THROWN_MS);
    }
  };
  const work = async (job: Job, token?: string): Promise<void> => {
    const run = runOnce(job.id ?? '');
    running.add(run);
    const pause = await run.finally(() => running.delete(run));
    if (pause === undefined) {
      return;
    }
    try {
      await job.moveToDelayed(Date.now() + Math.max(0, pause), token);
    } catch {
      // Somebody else has taken the id over, or will when the lock has run out.
      watch.trouble();
    }
    // Tells the worker to leave the job alone. Any other error would be stored, with its text.
    throw new DelayedError();
  };
  const start = (): void => {
    if (taking !== undefined || resting !== undefined) {
      return;
    }
    const redis = openRawRedis(options.target, true);
    watch.add(redis);
    const worker = new Worker(NAME, work, {
      connection: redis.client,
      prefix,
      concurrency: options.concurrency,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_MS,
      maxStalledCount: 1e9,
      runRetryDelay: 1_000,
    });
    worker.on('error', watch.trouble);
    taking = { redis, worker };
  };
  const stopTaking = async (): Promise<void> => {
    if (taking === undefined) {
      return;
    }
    const { redis, worker } = taking;
    // While Redis is away the worker would wait for it: what it holds is left to the next one.
    const closed = isThere(redis) ? worker.close() : undefined;
    await Promise.allSettled(running);
    await settled(closed ?? worker.close(true));
    redis.close();
  };
  const rest = (): Promise<void> => {
    resting ??= Promise.resolve().then(stopTaking);
    return resting;
  };
  const shut = async (): Promise<void> => {
    await rest();
    await settled(queue.close());
    adding.close();
  };
  const answer = async <T>(ask: () => Promise<T>): Promise<T> => {
    const end = Date.now() + ANSWER_MS;
    try {
      // A queue that never reached Redis would keep what it is given, and give it all at once later.
      await within(queue.waitUntilReady(), ANSWER_MS);
      if (!isThere(adding)) {
        throw new VaultError('store_unavailable');
      }
      return await within(ask(), end - Date.now());
    } catch (error) {
      throw toVaultError(error);
    }
  };

  return {
    start,
    async add(id, { delayMs = 0, place = 1 } = {}) {
      const priority = Math.min(place, PLACE_MAX);
      await answer(() => queue.add(NAME, {}, { ...STORED, jobId: id, delay: delayMs, priority }));
    },
    rest,
    waiting: () => answer(() => queue.getJobCountByTypes('waiting', 'delayed', 'active', 'prioritized')),
    close() {
      closing ??= Promise.resolve().then(shut);
      return closing;
    },
  };
}
