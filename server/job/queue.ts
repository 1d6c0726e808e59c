import { randomInt } from 'node:crypto';
import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import { VaultError } from '../core/errors.ts';
import { refusalOf } from '../core/write-refusal.ts';
import { EVENTS_RUNNING, EVENTS_WAITING, JOBS_RUNNING, JOBS_WAITING } from '../limits/classes.ts';
import { openRawRedis, type RawRedis, type RedisTarget } from '../redis/connect.ts';
import { toVaultError } from '../redis/errors.ts';
import { redisKeys } from '../redis/records/keys.ts';
import type { RecordEvent } from '../telemetry/events.ts';

export interface AddOptions {
  readonly delayMs?: number;
  /** From 1. Of the ids that can run, those with a smaller place run first. */
  readonly place?: number;
}

/** Settings of a queue; tests change them. */
export interface JobQueueSettings {
  /** Maximum number of ids that this process runs at once. */
  readonly concurrency: number;
  /** The shortest and longest delay after a run has thrown. */
  readonly thrownMs: readonly [number, number];
}

/** Runs an id; returns the ms until it runs again, or undefined if it is done. */
export type RunJob = (id: string) => Promise<number | undefined>;

const NAME = 'run';
/** The largest priority of the library. */
const PLACE_MAX = 2_097_151;
/** The timeout of `add` and `size`. */
const TIMEOUT_MS = 2_000;
/** After a process stops, another runs its ids within the lock and two intervals. */
const LOCK_MS = 12_000;
const STALLED_MS = 4_000;
/** Beside the jobs that run or wait, others can be taken and delayed. */
const AT_ONCE = JOBS_RUNNING + 2 * JOBS_WAITING + EVENTS_RUNNING + 2 * EVENTS_WAITING;
const SETTINGS: JobQueueSettings = { concurrency: AT_ONCE, thrownMs: [1_000, 5_000] };
/** The longest wait for Redis when the queue is closed. */
const CLOSE_MS = 3_000;
/** The pause before ids are taken over another connection. */
const REOPEN_MS = 1_000;
/** The pause before another error of the library is reported: while one lasts, it throws ten a second. */
const ERROR_EVERY_MS = 60_000;

// Only the id is stored, never a result or a failure, and a finished id can be added again.
const STORED = { removeOnComplete: true, removeOnFail: true } as const;

/** A queue of ids in Redis. Each id is run by one process at a time; ids have no meaning for the queue. */
export class JobQueue {
  private readonly watch = watchConnections((event) => this.report(event));
  private readonly runs = new Set<Promise<unknown>>();
  private adding: { readonly redis: RawRedis; readonly queue: Queue } | undefined;
  private running: { readonly redis: RawRedis; readonly worker: Worker } | undefined;
  private draining: Promise<void> | undefined;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly target: RedisTarget,
    private readonly recordEvent: RecordEvent,
    private readonly settings: JobQueueSettings = SETTINGS,
  ) {}

  /** Adds an id; an id that is in the queue or runs is unchanged. */
  async add(id: string, { delayMs = 0, place = 1 }: AddOptions = {}): Promise<void> {
    const priority = Math.min(place, PLACE_MAX);
    await this.ask((queue) => queue.add(NAME, {}, { ...STORED, jobId: id, delay: delayMs, priority }));
  }

  /** Removes an id; one that runs ends by itself. */
  async remove(id: string): Promise<void> {
    await this.ask((queue) => queue.remove(id));
  }

  /** Tells whether the queue has connected: at its first use. */
  get isOpen(): boolean {
    return this.adding !== undefined || this.running !== undefined;
  }

  /** Returns the number of ids in the queue: waiting, delayed or running. */
  size(): Promise<number> {
    return this.ask((queue) => queue.getJobCountByTypes('waiting', 'delayed', 'active', 'prioritized'));
  }

  start(run: RunJob): void {
    if (this.running !== undefined || this.draining !== undefined) {
      return;
    }
    const redis = openRawRedis(this.target, true);
    this.watch.set('run', redis);
    const worker = new Worker(NAME, (job: Job, token?: string) => this.handle(run, job, token), {
      connection: redis.client,
      prefix: redisKeys.jobQueue(''),
      concurrency: this.settings.concurrency,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_MS,
      maxStalledCount: 1e9,
      runRetryDelay: 1_000,
    });
    worker.on('error', this.watch.onError);
    this.running = { redis, worker };
    worker.waitUntilReady().catch(() => {
      if (this.draining === undefined) {
        this.running = undefined;
        abandon(redis, worker);
        setTimeout(() => this.start(run), REOPEN_MS).unref();
      }
    });
  }

  /** Starts no more ids and waits for those that run. Ids can still be added, for other processes. */
  drain(): Promise<void> {
    this.draining ??= Promise.resolve().then(() => this.stopRunning());
    return this.draining;
  }

  close(): Promise<void> {
    this.closing ??= Promise.resolve().then(async () => {
      await this.drain();
      if (this.adding !== undefined) {
        await settled(this.adding.queue.close());
        this.adding.redis.close();
      }
    });
    return this.closing;
  }

  private report(event: string): void {
    if (this.closing === undefined) {
      this.recordEvent(event);
    }
  }

  /**
   * Connects at the first use, so that a command line that sends no requests opens no second connection. Where the connection is
   * lost while the library prepares it, the library never uses it: the next call opens another.
   */
  private connect() {
    if (this.adding === undefined) {
      const redis = openRawRedis(this.target, false);
      this.watch.set('add', redis);
      const queue = new Queue(NAME, {
        connection: redis.client,
        prefix: redisKeys.jobQueue(''),
        streams: { events: { maxLen: 1 } },
      });
      queue.on('error', this.watch.onError);
      const adding = { redis, queue };
      this.adding = adding;
      queue.waitUntilReady().catch(() => {
        if (this.adding === adding && this.closing === undefined) {
          this.adding = undefined;
          abandon(redis, queue);
        }
      });
    }
    return this.adding;
  }

  /** Calls the library; throws `store_unavailable` if Redis is disconnected or too slow. */
  private async ask<T>(call: (queue: Queue) => Promise<T>): Promise<T> {
    const { queue, redis } = this.connect();
    const end = Date.now() + TIMEOUT_MS;
    try {
      // Without a connection the library would keep commands and send them later.
      await within(queue.waitUntilReady(), TIMEOUT_MS);
      if (!isConnected(redis)) {
        throw new VaultError('store_unavailable');
      }
      return await within(call(queue), end - Date.now());
    } catch (error) {
      throw toVaultError(error);
    }
  }

  private async handle(run: RunJob, job: Job, token: string | undefined): Promise<void> {
    const running = this.runOnce(run, job.id ?? '');
    this.runs.add(running);
    const delayMs = await running.finally(() => this.runs.delete(running));
    if (delayMs === undefined) {
      return;
    }
    try {
      await job.moveToDelayed(Date.now() + Math.max(0, delayMs), token);
    } catch (error) {
      // Another process runs the id, or will when the lock has expired.
      this.watch.onError(error);
    }
    // Signals to the library that the job is delayed. It would store the text of any other error.
    throw new DelayedError();
  }

  private async runOnce(run: RunJob, id: string): Promise<number | undefined> {
    if (this.draining !== undefined) {
      return 0;
    }
    try {
      return await run(id);
    } catch {
      this.report('job_queue_run_failed');
      return randomInt(...this.settings.thrownMs);
    }
  }

  private async stopRunning(): Promise<void> {
    if (this.running === undefined) {
      return;
    }
    const { redis, worker } = this.running;
    this.watch.end('run');
    // While Redis is disconnected, a graceful close would wait for it: another process takes over the ids.
    const closed = isConnected(redis) ? worker.close() : undefined;
    await Promise.allSettled(this.runs);
    await settled(closed ?? worker.close(true));
    redis.close();
  }
}

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

/** Closes a connection that the library could not prepare, with what the library made for it. */
function abandon(redis: RawRedis, user: { close(): Promise<void> }): void {
  redis.close();
  user.close().catch(() => undefined);
}

/** What a connection is for. */
type Purpose = 'add' | 'run';

/** Reports once that Redis is disconnected, and once that it is reconnected, for all connections together. */
function watchConnections(report: (event: string) => void) {
  const current = new Map<Purpose, RawRedis>();
  const disconnected = new Set<Purpose>();
  let errorAt = Number.NEGATIVE_INFINITY;
  return {
    /** Watches a connection, in place of the one before. */
    set(purpose: Purpose, redis: RawRedis): void {
      current.set(purpose, redis);
      const lose = (): void => {
        if (current.get(purpose) !== redis) {
          return;
        }
        if (disconnected.size === 0) {
          report('job_queue_disconnected');
        }
        disconnected.add(purpose);
      };
      redis.client.on('error', lose);
      redis.client.on('close', lose);
      redis.client.on('ready', () => {
        if (current.get(purpose) === redis && disconnected.delete(purpose) && disconnected.size === 0) {
          report('job_queue_reconnected');
        }
      });
    },
    /** Ignores a connection from now on: the queue closes it itself, the library included. */
    end(purpose: Purpose): void {
      current.delete(purpose);
      disconnected.delete(purpose);
    },
    /**
     * Reports an error, once a minute, that is not a consequence of a lost connection, or of a Redis that refuses writes, which its
     * link reports.
     */
    onError(error: unknown): void {
      const isKnown = disconnected.size > 0 || refusalOf(error) !== undefined;
      if (!isKnown && performance.now() - errorAt >= ERROR_EVERY_MS) {
        errorAt = performance.now();
        report('job_queue_error');
      }
    },
  };
}
