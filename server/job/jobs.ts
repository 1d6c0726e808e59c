import { createHash } from 'node:crypto';
import { recordFault } from '../call/send.ts';
import type { Clock } from '../core/clock.ts';
import { pause } from '../core/concurrency.ts';
import { failureFields } from '../core/error-cause.ts';
import { VaultError } from '../core/errors.ts';
import { isEventId } from '../core/event-types.ts';
import type { KeyDependent } from '../key/opener.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { JobQueue } from './queue.ts';
import type { RetryWaits } from './retry-waits.ts';
import { ELSEWHERE_MS, type JobSteps } from './steps.ts';
import type { JobStore, NewEventJob, NewJob } from './store/jobs.ts';

const WAKE_PAUSE_MS = 1_000;
/** The longest time in which a step leaves the queue, with a margin. */
const LEAVING_MS = 1_000;
/** The clocks of servers differ, and the queue wakes a job a little early. */
const EARLY_MS = 500;

/** The id of the job of an idempotent request: a repeat of the request finds the job of an interrupted one. */
export function jobIdOf(kind: 'capture' | 'proxy', seed: string): string {
  return createHash('sha256').update(`${kind} ${seed}`).digest('base64url').slice(0, 22);
}

export class KeyJobs implements KeyDependent {
  constructor(
    private readonly store: JobStore,
    private readonly queue: JobQueue,
  ) {}

  async removeOfKey(aid: string, kid: string): Promise<void> {
    for await (const ids of this.store.removeOfKey(aid, kid)) {
      // An entry that stays in the queue is an id without a job: it ends when it is due.
      await Promise.all(ids.map((id) => this.queue.remove(`${aid}.${id}`).catch(() => undefined)));
    }
  }
}

/** Accepts stored jobs and runs them to the last call of the webhook; the queue assigns their steps to servers. */
export class ProxyJobs {
  private isClosed = false;

  constructor(
    private readonly store: JobStore,
    private readonly steps: JobSteps,
    private readonly queue: JobQueue,
    private readonly limiter: Limiter,
    private readonly waits: RetryWaits,
    private readonly recordEvent: RecordEvent,
    private readonly now: Clock,
  ) {}

  /** Stores a job, and puts it into the queue. Rejects with `jobs_full`. */
  async accept(aid: string, job: NewJob): Promise<void> {
    const made = await this.store.create(aid, job, this.now());
    if (made.kind === 'full') {
      throw new VaultError('jobs_full');
    }
    this.wake(aid, job.id, made.kind === 'ok' ? made.place : 1);
  }

  /**
   * Stores deliveries of events, as far as their subscriptions have room, and puts them into the queue. Returns the subscriptions of
   * those that were left out.
   */
  async acceptEvents(aid: string, jobs: readonly NewEventJob[]): Promise<readonly string[]> {
    const places = await this.store.createEvents(aid, jobs, this.now());
    const leftOut: string[] = [];
    for (const [i, { id, subscription }] of jobs.entries()) {
      const place = places[i];
      if (typeof place === 'number') {
        this.wake(aid, id, place);
      } else if (place !== undefined) {
        leftOut.push(subscription);
      }
      if (place === 'paused') {
        this.recordEvent('event_subscription_paused', { subscription, because: 'full' });
      }
    }
    return leftOut;
  }

  /** Puts a stored job into the queue, now or as soon as the queue can be reached. Never fails. */
  wake(aid: string, id: string, place: number): void {
    const retry = async (): Promise<void> => {
      do {
        try {
          return await this.queue.add(`${aid}.${id}`, { place });
        } catch {
          await pause(WAKE_PAUSE_MS);
        }
      } while (!this.isClosed);
    };
    void retry();
  }

  /**
   * Puts every job of an account into the queue; jobs that are in it stay as they are. Of deliveries that wait in store at least one
   * for each subscription, so that a receiver that is back is noticed.
   */
  async resume(aid: string): Promise<void> {
    let place = 0;
    for await (const ids of this.store.list(aid)) {
      for (const id of ids) {
        place += 1;
        await this.queue.add(`${aid}.${id}`, { place });
      }
    }
    for (const subscription of await this.store.subscriptions(aid)) {
      await this.refill(aid, subscription, 1);
    }
  }

  /** Puts deliveries of a subscription that wait in store into the queue, at least `least`, and as many as it has room for. */
  private async refill(aid: string, subscription: string, least = 0): Promise<void> {
    for (const [i, id] of (await this.store.nextEvents(aid, subscription, least)).entries()) {
      this.wake(aid, id, i + 1);
    }
  }

  /**
   * Puts the jobs of an account that is no longer suspended into the queue, and again a little later: a step that has seen the
   * suspension may be about to leave the queue, which keeps what is in it. The sweep completes what was interrupted.
   */
  async goOn(aid: string): Promise<void> {
    await this.resume(aid);
    await pause(LEAVING_MS);
    await this.resume(aid);
  }

  /** Returns the number of jobs in the queue; undefined before its first use. */
  async queued(): Promise<number | undefined> {
    return this.queue.isOpen ? this.queue.size() : undefined;
  }

  inFlight(): number {
    const { job, event } = this.limiter.stats();
    return job.used + event.used;
  }

  start(): void {
    this.queue.start((name) => this.run(name));
  }

  /** Finishes the steps in flight, and leaves queued jobs to other servers. */
  async release(): Promise<void> {
    this.isClosed = true;
    await this.queue.drain();
  }

  /** Finishes the steps in flight, and disconnects. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.queue.close();
  }

  /** Runs the steps of the job `aid.id` that are due. Returns the ms until the next one; throws if the queue should retry. */
  private async run(name: string): Promise<number | undefined> {
    const [aid = '', id = ''] = name.split('.');
    if (this.isClosed) {
      return ELSEWHERE_MS;
    }
    const work = isEventId(id) ? 'event' : 'job';
    try {
      await this.limiter.acquire(work, aid);
    } catch {
      return this.waits.next(aid, name);
    }
    this.waits.end(aid, name);
    try {
      while (!this.isClosed) {
        const stored = await this.store.read(aid, id);
        const earlyMs = (stored?.nextMs ?? 0) - this.now();
        if (earlyMs > EARLY_MS) {
          // The queue may have two names of a job.
          return earlyMs;
        }
        const nextMs = stored && (await this.steps[stored.phase]({ aid, id }, stored));
        if (stored?.subscription !== undefined) {
          await this.refill(aid, stored.subscription);
        }
        if (nextMs !== 0) {
          return nextMs;
        }
      }
      return 0;
    } catch (error) {
      if (error instanceof VaultError && error.code === 'integrity_failed') {
        // A retry cannot help. The job stays in its directory, where the sweep finds it again.
        this.recordEvent('job_integrity_failed', { job: id, ...failureFields(error) });
        return undefined;
      }
      recordFault(this.recordEvent, { job: id }, error);
      throw error;
    } finally {
      this.limiter.release(work, aid);
    }
  }
}
