import { randomInt } from 'node:crypto';
import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import { VaultError } from '../core/errors.ts';
import { toVaultError } from '../redis/client.ts';
import { openRawRedis, type RawRedis, type RedisTarget } from '../redis/connect.ts';
import { redisKeys } from '../redis/records/keys.ts';

/** A queue of ids in Redis. Each id is run by one process at a time; the queue does not know what an id means. */
export interface JobQueue {
  /** Adds an id; an id that is in the queue or runs is unchanged. */
  add(id: string, options?: AddOptions): Promise<void>;
  /** Removes an id; one that runs ends by itself. */
  remove(id: string): Promise<void>;
  /** The number of ids in the queue: waiting, delayed or running. */
  size(): Promise<number>;
  /** Starts to run ids. */
  start(): void;
  /** Starts no more ids and waits for those that run. Ids can still be added, for other processes. */
  drain(): Promise<void>;
  /** Drains, and closes the connections. */
  close(): Promise<void>;
}

/** When an id is run. */
export interface AddOptions {
  readonly delayMs?: number;
  /** From 1. Of the ids that can run, those with a smaller place run first. */
  readonly place?: number;
}

/** Options of a queue. */
export interface JobQueueOptions {
  readonly target: RedisTarget;
  /** Runs an id; returns the ms until it runs again, or undefined if it is done. */
  readonly run: (id: string) => Promise<number | undefined>;
  /** How many ids this process runs at the same time. */
  readonly concurrency: number;
  /** The delay after `run` has thrown, from and to; one to five seconds by default. */
  readonly thrownMs?: readonly [number, number];
  /** Called when Redis is disconnected or reconnected, when `run` throws, and for other errors; names only, no data. */
  readonly onEvent?: (event: string) => void;
}

/** The connections that run ids. */
interface Running {
  readonly redis: RawRedis;
  readonly worker: Worker;
}

interface QueueState {
  readonly options: JobQueueOptions;
  /** The connection that adds ids. */
  readonly adding: RawRedis;
  readonly queue: Queue;
  readonly watch: ConnectionWatch;
  /** Runs in flight. */
  readonly runs: Set<Promise<unknown>>;
  running: Running | undefined;
  draining: Promise<void> | undefined;
}

type ConnectionWatch = ReturnType<typeof watchConnections>;

const NAME = 'run';
/** The largest priority that the library accepts. */
const PLACE_MAX = 2_097_151;
/** The timeout of `add` and `size`. */
const TIMEOUT_MS = 2_000;
/** After a process stops, another runs its ids within the lock and two intervals. */
const LOCK_MS = 12_000;
const STALLED_MS = 4_000;
const THROWN_MS = [1_000, 5_000] as const;
/** The longest wait for Redis when the queue is closed. */
const CLOSE_MS = 3_000;

// Only the id is stored, never a result or a failure, and a finished id can be added again.
const STORED = { removeOnComplete: true, removeOnFail: true } as const;

/** The result of `work`; throws `store_unavailable` after `ms`. */
async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new VaultError('store_unavailable')), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until `work` has ended or failed, at most CLOSE_MS. */
function settled(work: Promise<unknown>): Promise<unknown> {
  return within(work, CLOSE_MS).catch(() => undefined);
}

function isConnected({ client }: RawRedis): boolean {
  return client.status === 'ready';
}

/** Reports once that Redis is disconnected, and once that it is reconnected, for all connections together. */
function watchConnections(report: (event: string) => void) {
  const disconnected = new Set<RawRedis>();
  const released = new WeakSet<RawRedis>();
  return {
    add(redis: RawRedis): void {
      const lose = (): void => {
        if (released.has(redis)) {
          return;
        }
        if (disconnected.size === 0) {
          report('job_queue_disconnected');
        }
        disconnected.add(redis);
      };
      redis.client.on('error', lose);
      redis.client.on('close', lose);
      redis.client.on('ready', () => {
        if (disconnected.delete(redis) && disconnected.size === 0) {
          report('job_queue_reconnected');
        }
      });
    },
    /** Ignores a connection from now on: the queue closes it itself, the library included. */
    release(redis: RawRedis): void {
      released.add(redis);
      disconnected.delete(redis);
    },
    /** Reports an error that is not a consequence of a lost connection. */
    onError(): void {
      if (disconnected.size === 0) {
        report('job_queue_error');
      }
    },
  };
}

async function runOnce({ draining, options }: QueueState, id: string): Promise<number | undefined> {
  if (draining !== undefined) {
    return 0;
  }
  try {
    return await options.run(id);
  } catch {
    options.onEvent?.('job_queue_run_failed');
    return randomInt(...(options.thrownMs ?? THROWN_MS));
  }
}

/** The library's handler of a job. */
async function handle(state: QueueState, job: Job, token: string | undefined): Promise<void> {
  const run = runOnce(state, job.id ?? '');
  state.runs.add(run);
  const delayMs = await run.finally(() => state.runs.delete(run));
  if (delayMs === undefined) {
    return;
  }
  try {
    await job.moveToDelayed(Date.now() + Math.max(0, delayMs), token);
  } catch {
    // Another process runs the id, or will when the lock has expired.
    state.watch.onError();
  }
  // Signals to the library that the job is delayed. It would store the text of any other error.
  throw new DelayedError();
}

function start(state: QueueState): void {
  if (state.running !== undefined || state.draining !== undefined) {
    return;
  }
  const redis = openRawRedis(state.options.target, true);
  state.watch.add(redis);
  const worker = new Worker(NAME, (job: Job, token?: string) => handle(state, job, token), {
    connection: redis.client,
    prefix: redisKeys.jobQueue(''),
    concurrency: state.options.concurrency,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_MS,
    maxStalledCount: 1e9,
    runRetryDelay: 1_000,
  });
  worker.on('error', state.watch.onError);
  state.running = { redis, worker };
}

async function stopRunning({ running, runs, watch }: QueueState): Promise<void> {
  if (running === undefined) {
    return;
  }
  const { redis, worker } = running;
  watch.release(redis);
  // While Redis is disconnected, a graceful close would wait for it: another process takes over the ids.
  const closed = isConnected(redis) ? worker.close() : undefined;
  await Promise.allSettled(runs);
  await settled(closed ?? worker.close(true));
  redis.close();
}

function drain(state: QueueState): Promise<void> {
  state.draining ??= Promise.resolve().then(() => stopRunning(state));
  return state.draining;
}

/** Calls the library; throws `store_unavailable` if Redis is disconnected or too slow. */
async function ask<T>({ queue, adding }: QueueState, call: () => Promise<T>): Promise<T> {
  const end = Date.now() + TIMEOUT_MS;
  try {
    // Without a connection the library would keep commands and send them later.
    await within(queue.waitUntilReady(), TIMEOUT_MS);
    if (!isConnected(adding)) {
      throw new VaultError('store_unavailable');
    }
    return await within(call(), end - Date.now());
  } catch (error) {
    throw toVaultError(error);
  }
}

/** Opens the queue. Without `start` it only adds ids. */
export function createJobQueue(options: JobQueueOptions): JobQueue {
  let closing: Promise<void> | undefined;
  const onEvent = (event: string): void => {
    if (closing === undefined) {
      options.onEvent?.(event);
    }
  };
  const watch = watchConnections(onEvent);
  const adding = openRawRedis(options.target, false);
  watch.add(adding);
  const queue = new Queue(NAME, {
    connection: adding.client,
    prefix: redisKeys.jobQueue(''),
    streams: { events: { maxLen: 1 } },
  });
  queue.on('error', watch.onError);
  const state: QueueState = {
    ...{ options: { ...options, onEvent }, adding, queue, watch },
    ...{ runs: new Set(), running: undefined, draining: undefined },
  };
  const close = async (): Promise<void> => {
    await drain(state);
    await settled(queue.close());
    adding.close();
  };
  return {
    start: () => start(state),
    async add(id, { delayMs = 0, place = 1 } = {}) {
      const priority = Math.min(place, PLACE_MAX);
      await ask(state, () => queue.add(NAME, {}, { ...STORED, jobId: id, delay: delayMs, priority }));
    },
    async remove(id) {
      await ask(state, () => queue.remove(id));
    },
    drain: () => drain(state),
    size: () => ask(state, () => queue.getJobCountByTypes('waiting', 'delayed', 'active', 'prioritized')),
    close() {
      closing ??= Promise.resolve().then(close);
      return closing;
    },
  };
}
