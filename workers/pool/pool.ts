/** A pool of worker threads: lanes, batches, deadlines, and no job lost to another job's crash. */
import { createAlarm } from './alarm.ts';
import { createCrew } from './crew.ts';
import { type DecodedMessage, FIELDS_MAX, KIND_MAX, REPLY_OK } from './frame.ts';
import { JobError, type JobRequest, type Lane, type PendingJob } from './job.ts';
import { createLanes } from './lanes.ts';
import type { DownCause, Thread } from './worker-thread.ts';

export { JobError, type JobRequest, type Lane } from './job.ts';

/** Something an operator may want counted or logged; never holds anything of a job. */
export type PoolEvent =
  | { readonly type: 'thread_ready'; readonly threads: number }
  | {
      readonly type: 'thread_down';
      readonly cause: DownCause;
      readonly lost: number;
      readonly requeued: number;
    };

export interface PoolOptions {
  /** The module that a thread runs; it must call `serveThread`. */
  readonly entry: URL | string;
  readonly threads: number;
  /** Given to every thread, replacements included. */
  readonly workerData: unknown;
  /** Hot jobs that may wait, and as many bulk jobs. */
  readonly queueMax: number;
  /** Cold jobs that run at once over all threads, that wait beyond these, and that run for one account. */
  readonly coldConcurrency: number;
  readonly coldQueueMax?: number;
  readonly coldPerAccountMax?: number;
  readonly onEvent?: (event: PoolEvent) => void;
  /** Hears of each job that ends, in milliseconds; `code` is undefined for one that has a result. */
  readonly onJob?: (lane: Lane, waitedMs: number, ranMs: number, code: string | undefined) => void;
}

export interface PoolStats {
  readonly queued: { readonly hot: number; readonly bulk: number; readonly cold: number };
  /** Jobs inside threads, cold ones included. */
  readonly running: number;
  readonly coldRunning: number;
  readonly threadsAlive: number;
  /** Threads with a job inside that holds them: hot or bulk. */
  readonly threadsBusy: number;
  readonly restarts: number;
}

export interface Pool {
  /**
   * Resolves with the reply's fields, views into one buffer that this job shares with its neighbours in
   * time, or rejects with a `JobError`. Never throws, never stays open for longer than its deadlines.
   */
  run(job: JobRequest): Promise<Uint8Array[]>;
  /** Resolves when all threads serve; rejects when one was lost before. */
  ready(): Promise<void>;
  /** Refuses new jobs from now on, waits for those accepted, then ends the threads. */
  drain(): Promise<void>;
  stats(): PoolStats;
}

const COLD_QUEUE_MAX = 32;
const COLD_PER_ACCOUNT_MAX = 2;

/** How many other jobs' crashes a job may live through; only so that it ends at some time. */
const REQUEUES_MAX = 3;

const decoder = new TextDecoder();

/** A job outside the frame format would spoil its neighbours' frame. */
const fitsFrame = ({ kind, fields }: JobRequest): boolean =>
  Number.isInteger(kind) && kind >= 0 && kind <= KIND_MAX && fields.length <= FIELDS_MAX;

/** Tells the caller; returns the code of a failure, and nothing that could be thrown. */
const answer = (job: PendingJob, reply: DecodedMessage): string | undefined => {
  if (reply.kind === REPLY_OK) {
    job.resolve(reply.fields);
    return undefined;
  }
  const code = decoder.decode(reply.fields[0]);
  job.reject(new JobError(code));
  return code;
};

/**
 * Starts the threads and takes jobs at once; they wait until the first thread is ready.
 *
 * A job that waits longer than its deadline is refused with `overloaded`. A hot or bulk job that is in a
 * thread for longer than that shows that the thread hangs: the thread is ended and replaced. A cold job is
 * given up with `internal`, and only one that stays silent for a second deadline costs the thread.
 * When a thread is lost, the job that it died of fails with `internal` and is never run again; so does every
 * job that may have been the one. Its other jobs go back to the front of their queues, so handlers must be
 * free of effects outside their thread.
 */
export const createPool = (options: PoolOptions): Pool => {
  const emit = options.onEvent ?? (() => undefined);
  const { onJob = () => undefined } = options;
  const idle = Promise.withResolvers<void>();
  let draining: Promise<void> | undefined;
  let accepted = 0;
  let dispatchQueued = false;

  const finish = (count: number): void => {
    accepted -= count;
    if (accepted === 0 && draining !== undefined) {
      idle.resolve();
    }
  };

  const refuse = (jobs: readonly PendingJob[], code: string): void => {
    for (const job of jobs) {
      job.reject(new JobError(code));
      onJob(job.lane, 0, 0, code);
    }
    finish(jobs.length);
  };

  const send = (thread: Thread, jobs: readonly PendingJob[]): void => {
    const now = performance.now();
    for (const job of jobs) {
      job.dueAt = now + job.deadlineMs;
    }
    try {
      thread.send(jobs);
    } catch {
      // A field that cannot be copied (its buffer was transferred away) costs its own job only.
      if (jobs.length > 1) {
        for (const job of jobs) {
          send(thread, [job]);
        }
        return;
      }
      for (const job of jobs) {
        lanes.release(job);
      }
      refuse(jobs, 'internal');
      dispatchSoon();
    }
  };

  const lanes = createLanes({
    threads: options.threads,
    queueMax: options.queueMax,
    cold: {
      concurrency: options.coldConcurrency,
      queueMax: options.coldQueueMax ?? COLD_QUEUE_MAX,
      perAccountMax: options.coldPerAccountMax ?? COLD_PER_ACCOUNT_MAX,
    },
    send,
  });

  const dispatch = (): void => {
    dispatchQueued = false;
    refuse(lanes.dispatch(crew.threads), 'overloaded');
  };

  const dispatchSoon = (): void => {
    if (dispatchQueued) {
      return;
    }
    dispatchQueued = true;
    queueMicrotask(dispatch);
  };

  const onReply = (_thread: Thread, job: PendingJob, reply: DecodedMessage): void => {
    lanes.release(job);
    const code = answer(job, reply);
    const sentAt = job.dueAt - job.deadlineMs;
    onJob(job.lane, sentAt - job.queuedAt, performance.now() - sentAt, code);
    finish(1);
  };

  const onDown = (thread: Thread, cause: DownCause): void => {
    const lost: PendingJob[] = [];
    const kept: PendingJob[] = [];
    for (const job of thread.jobs.values()) {
      (job.abandoned || job.requeues >= REQUEUES_MAX || thread.isSuspect(job) ? lost : kept).push(job);
    }
    for (const job of thread.jobs.values()) {
      lanes.release(job);
    }
    const dueAt = performance.now();
    for (const job of kept.reverse()) {
      job.requeues += 1;
      job.dueAt = dueAt + job.deadlineMs;
      lanes.restore(job);
    }
    refuse(lost, 'internal');
    emit({ type: 'thread_down', cause, lost: lost.length, requeued: kept.length });
    dispatchSoon();
  };

  const crew = createCrew({
    entry: options.entry,
    workerData: options.workerData,
    size: options.threads,
    onReply,
    onFrameDone: dispatchSoon,
    onDown,
    onReady() {
      emit({ type: 'thread_ready', threads: crew.threads.length });
      dispatchSoon();
    },
  });

  const hangs = (thread: Thread, now: number): boolean => {
    for (const job of thread.jobs.values()) {
      if (job.dueAt > now) {
        continue;
      }
      if (job.lane !== 'cold' || job.abandoned) {
        return true;
      }
      job.abandoned = true;
      job.dueAt = now + job.deadlineMs;
      job.reject(new JobError('internal'));
    }
    return false;
  };

  const alarm = createAlarm((now) => {
    refuse(lanes.expire(now), 'overloaded');
    for (const thread of crew.threads.filter((thread) => hangs(thread, now))) {
      thread.fail('hung');
    }
    let next = lanes.nextDue();
    for (const thread of crew.threads) {
      for (const job of thread.jobs.values()) {
        next = Math.min(next, job.dueAt);
      }
    }
    return next;
  });

  const run = (request: JobRequest): Promise<Uint8Array[]> =>
    new Promise((resolve, reject) => {
      if (draining !== undefined) {
        return reject(new JobError('overloaded'));
      }
      if (!fitsFrame(request)) {
        return reject(new JobError('internal'));
      }
      const { kind, fields, lane, account = '', deadlineMs } = request;
      const queuedAt = performance.now();
      const dueAt = queuedAt + deadlineMs;
      const job: PendingJob = {
        id: 0,
        kind,
        fields,
        lane,
        account,
        deadlineMs,
        dueAt,
        queuedAt,
        requeues: 0,
        abandoned: false,
        resolve,
        reject,
      };
      accepted += 1;
      const dropped = lanes.accept(job);
      if (dropped !== undefined) {
        refuse([dropped], 'overloaded');
      }
      alarm.arm(dueAt);
      dispatchSoon();
    });

  const end = async (): Promise<void> => {
    if (accepted === 0) {
      idle.resolve();
    }
    await idle.promise;
    alarm.stop();
    await crew.close();
  };

  return {
    run,
    ready: crew.ready,
    drain: () => (draining ??= end()),
    stats: () => ({
      queued: lanes.waiting(),
      running: crew.threads.reduce((sum, thread) => sum + thread.jobs.size, 0),
      coldRunning: lanes.coldRunning(),
      threadsAlive: crew.threads.length,
      threadsBusy: crew.threads.filter((thread) => thread.busy() > 0).length,
      restarts: crew.restarts(),
    }),
  };
};
