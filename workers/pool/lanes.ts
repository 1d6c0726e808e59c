import { isStretching, type Lane, type PendingJob } from './job.ts';
import type { Thread } from './worker-thread.ts';

/** Time for which bulk jobs give way to hot ones; after that the two alternate while both wait. */
const BULK_GIVES_WAY_MS = 100;

/** Most hot jobs in one frame: few enough that a job waits for little, enough to spread a message's cost. */
const FRAME_JOBS_MAX = 16;

/** The load of a thread, as far as scheduling needs it. */
export type ThreadLoad = Pick<Thread, 'jobs' | 'held'>;

/** The settings of the lanes, and how a frame gets into a thread. */
interface LaneOptions<T extends ThreadLoad> {
  readonly threads: number;
  /** Jobs of each lane that may wait. */
  readonly queueMax: number;
  /** Cold jobs in threads at once, over all threads: each takes the memory of an Argon2id run and a core. */
  readonly coldConcurrency: number;
  /** Guesses in threads at once. Their places are taken from those of cold jobs, of which at least one is left. */
  readonly guessConcurrency: number;
  readonly send: (thread: T, jobs: readonly PendingJob[]) => void;
}

/**
 * Decides which waiting job goes to which thread, and when; the limiter decides how many jobs of an owner wait here. Each lane is
 * a plain queue. Cold jobs go first (they hold a thread for microseconds, and have separate limits), then hot, then bulk; but a
 * bulk job that has given way for long goes before hot ones, one for each frame of theirs. A thread gets its next frame when it
 * has answered the last one: jobs that arrive meanwhile gather, so batches form under load and a single caller never waits. Idle
 * threads share what has gathered. Bulk jobs travel alone, and one thread is kept free of them, so that a hot job seldom waits
 * for a page to end.
 */
export class Lanes<T extends ThreadLoad = Thread> {
  /** Jobs in threads by lane; of hot ones they are not counted. */
  readonly running = { bulk: 0, cold: 0, guess: 0 };
  /** The end of the pause of guesses, on `performance.now()`. */
  guessesRestUntil = 0;
  private readonly queues: Readonly<Record<Lane, PendingJob[]>> = { hot: [], bulk: [], cold: [], guess: [] };
  /**
   * Hot jobs that came back from a dead thread and did not cause its end. They go first, and never share a frame with new
   * ones, so that further jobs that crash a thread cannot affect them again.
   */
  private readonly cleared: PendingJob[] = [];
  private hotHasTurn = false;

  constructor(private readonly options: LaneOptions<T>) {}

  /** Queues a job; false if its lane is full. */
  accept(job: PendingJob): boolean {
    const isFull = this.waitingOf(job.lane) >= this.options.queueMax;
    if (!isFull) {
      this.queues[job.lane].push(job);
    }
    return !isFull;
  }

  /** Puts a job that came back untouched before all others of its lane. */
  restore(job: PendingJob): void {
    (job.lane === 'hot' ? this.cleared : this.queues[job.lane]).unshift(job);
  }

  /** Releases the place of a job that has left its thread. */
  release({ lane, dueAt, deadlineMs }: PendingJob): void {
    if (lane !== 'hot') {
      this.running[lane] -= 1;
    }
    // On few cores a guess and an unlock would take all there are: guesses pause for as long as the last one has run.
    if (lane === 'guess' && this.options.coldConcurrency === 1) {
      const now = performance.now();
      this.guessesRestUntil = now + (now - (dueAt - deadlineMs));
    }
  }

  /** Sends the jobs that can run now. */
  dispatch(threads: readonly T[]): void {
    const { bulk } = this.queues;
    this.sendStretching(threads);
    if (this.waitingOf('hot') + bulk.length > 0) {
      const idle = threads.filter((thread) => thread.held === 0);
      const [first] = bulk;
      if (!this.hotHasTurn && first && performance.now() - first.queuedAt > BULK_GIVES_WAY_MS) {
        this.sendBulk(idle);
      }
      this.sendHot(idle);
      this.sendBulk(idle);
    }
  }

  /** Time at which waiting guesses may be sent, if they only wait for the end of a pause; otherwise Infinity. */
  nextGuessAt(): number {
    const isResting = this.queues.guess.length > 0 && this.guessesRestUntil > performance.now();
    return isResting ? this.guessesRestUntil : Number.POSITIVE_INFINITY;
  }

  /** Removes and returns the waiting jobs that are due. */
  expire(now: number): PendingJob[] {
    const due: PendingJob[] = [];
    for (const queue of [this.cleared, ...Object.values(this.queues)]) {
      const left = queue.filter((job) => job.dueAt > now);
      if (left.length < queue.length) {
        due.push(...queue.filter((job) => job.dueAt <= now));
        queue.splice(0, queue.length, ...left);
      }
    }
    return due;
  }

  /** Time at which the first waiting job is due; Infinity when none waits. */
  nextDueAt(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const queue of [this.cleared, ...Object.values(this.queues)]) {
      for (const { dueAt } of queue) {
        first = Math.min(first, dueAt);
      }
    }
    return first;
  }

  waitingOf(lane: Lane): number {
    return this.queues[lane].length + (lane === 'hot' ? this.cleared.length : 0);
  }

  private sendStretching(threads: readonly T[]): void {
    const { running, queues } = this;
    const { coldConcurrency, guessConcurrency } = this.options;
    const isResting = this.guessesRestUntil > performance.now();
    this.sendCold('guess', isResting ? 0 : guessConcurrency, threads);
    // Guesses that run or wait have their places, but one is always left.
    const isGuessing = running.guess + queues.guess.length > 0;
    const places = isGuessing ? Math.max(1, coldConcurrency - guessConcurrency) : coldConcurrency;
    this.sendCold('cold', places, threads);
  }

  private sendCold(lane: 'cold' | 'guess', places: number, threads: readonly T[]): void {
    const queue = this.queues[lane];
    while (queue.length > 0 && this.running[lane] < places) {
      const [first, ...others] = threads.filter((thread) => !isStuck(thread));
      const job = first && queue.shift();
      if (first === undefined || job === undefined) {
        return;
      }
      this.running[lane] += 1;
      const leastLoaded = others.reduce(
        (best, thread) => (thread.jobs.size < best.jobs.size ? thread : best),
        first,
      );
      this.options.send(leastLoaded, [job]);
    }
  }

  private sendHot(idle: T[]): void {
    for (let count = this.waitingOf('hot'); count > 0; count = this.waitingOf('hot')) {
      const share = Math.min(Math.ceil(count / idle.length), FRAME_JOBS_MAX);
      const thread = idle.pop();
      if (thread === undefined) {
        return;
      }
      this.hotHasTurn = false;
      this.options.send(thread, (this.cleared.length > 0 ? this.cleared : this.queues.hot).splice(0, share));
    }
  }

  private sendBulk(idle: T[]): void {
    const runningMax = Math.max(1, this.options.threads - 1);
    while (this.running.bulk < runningMax && idle.length > 0) {
      const job = this.queues.bulk.shift();
      const thread = job && idle.pop();
      if (job === undefined || thread === undefined) {
        return;
      }
      this.running.bulk += 1;
      this.hotHasTurn = true;
      this.options.send(thread, [job]);
    }
  }
}

/** Tests whether a job that holds the thread has missed its deadline: until it ends, no other job begins. */
function isStuck({ jobs, held }: ThreadLoad): boolean {
  return held > 0 && jobs.values().some((job) => job.missed > 0 && !isStretching(job.lane));
}
