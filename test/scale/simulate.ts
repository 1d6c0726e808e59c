/**
 * A deployment as a network of queues: server processes with one first thread and some workers each, and shards of a
 * Redis Cluster with one thread each. Requests come at random; each goes to one process, and to one shard by its token.
 */
import { percentile } from '../bench/stats.ts';
import { Events } from './events.ts';

/** One piece of the work of a request, in seconds of CPU. */
export interface Step {
  readonly at: 'main' | 'worker' | 'redis';
  readonly seconds: number;
  /** At Redis: whether the reply waits for the disk. */
  readonly isWrite?: boolean;
}

/** A kind of request: its share of all of them, and its steps in their order. */
export interface Kind {
  readonly share: number;
  readonly steps: readonly Step[];
}

export interface Deployment {
  readonly processes: number;
  readonly workersEach: number;
  readonly shards: number;
  /** Seconds that a sync of the disk takes. */
  readonly syncSeconds: number;
}

export interface Outcome {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How busy each kind of thread is on average, from 0 to 1. */
  readonly busy: Readonly<Record<Step['at'], number>>;
  /** Requests that were done by the end of the time, of those that had come. */
  readonly doneShare: number;
}

interface Waiting {
  readonly seconds: number;
  readonly isWrite: boolean;
  readonly done: () => void;
}

type After = (seconds: number, run: () => void) => void;

/** Equal threads that take work in the order in which it came. */
class Threads {
  busySeconds = 0;
  readonly #waiting: Waiting[] = [];
  readonly #after: After;
  #free: number;

  constructor(count: number, after: After) {
    this.#free = count;
    this.#after = after;
  }

  take(work: Waiting): void {
    this.#waiting.push(work);
    this.#begin();
  }

  #begin(): void {
    const work = this.#free > 0 ? this.#waiting.shift() : undefined;
    if (work === undefined) {
      return;
    }
    this.#free -= 1;
    this.busySeconds += work.seconds;
    this.#after(work.seconds, () => {
      this.#free += 1;
      work.done();
      this.#begin();
    });
  }
}

/** A Redis: takes all that waits, does it, syncs once for all writes of it, and then answers all of it. */
class Shard {
  busySeconds = 0;
  readonly #syncSeconds: number;
  readonly #after: After;
  #waiting: Waiting[] = [];
  #isBusy = false;

  constructor(syncSeconds: number, after: After) {
    this.#syncSeconds = syncSeconds;
    this.#after = after;
  }

  take(work: Waiting): void {
    this.#waiting.push(work);
    this.#begin();
  }

  #begin(): void {
    if (this.#isBusy || this.#waiting.length === 0) {
      return;
    }
    const turn = this.#waiting;
    this.#waiting = [];
    this.#isBusy = true;
    const worked = turn.reduce((sum, { seconds }) => sum + seconds, 0);
    const synced = turn.some(({ isWrite }) => isWrite) ? this.#syncSeconds : 0;
    this.busySeconds += worked + synced;
    this.#after(worked + synced, () => {
      this.#isBusy = false;
      for (const { done } of turn) {
        done();
      }
      this.#begin();
    });
  }
}

function times<T>(count: number, make: () => T): readonly T[] {
  return Array.from({ length: count }, make);
}
function busyOf(threads: readonly { readonly busySeconds: number }[], each: number, seconds: number): number {
  return threads.reduce((sum, { busySeconds }) => sum + busySeconds, 0) / (threads.length * each * seconds);
}

/** Lets requests come for some seconds; the first tenth warms up and is not counted. */
export function simulate(
  { processes, workersEach, shards, syncSeconds }: Deployment,
  kinds: readonly Kind[],
  perSecond: number,
  seconds: number,
  random: () => number,
): Outcome {
  const events = new Events();
  let now = 0;
  const after: After = (later, run) => events.add(now + later, run);
  const mains = times(processes, () => new Threads(1, after));
  const workers = times(processes, () => new Threads(workersEach, after));
  const redis = times(shards, () => new Shard(syncSeconds, after));
  const latenciesMs: number[] = [];
  let [come, done] = [0, 0];

  const draw = (): Kind | undefined => {
    let left = random();
    return kinds.find(({ share }) => {
      left -= share;
      return left < 0;
    });
  };
  const go = (steps: readonly Step[], at: number, process: number, shard: number, begun: number): void => {
    const step = steps[at];
    if (step === undefined) {
      done += 1;
      if (begun > seconds / 10) {
        latenciesMs.push((now - begun) * 1_000);
      }
      return;
    }
    const place = { main: mains[process], worker: workers[process], redis: redis[shard] }[step.at];
    place?.take({
      seconds: step.seconds,
      isWrite: step.isWrite ?? false,
      done: () => go(steps, at + 1, process, shard, begun),
    });
  };
  const arrive = (): void => {
    come += 1;
    const { steps } = draw() ?? kinds[0] ?? { steps: [] };
    go(steps, 0, Math.floor(random() * processes), Math.floor(random() * shards), now);
    after(-Math.log(1 - random()) / perSecond, arrive);
  };
  arrive();
  for (let event = events.next(); event !== undefined && event.time < seconds; event = events.next()) {
    now = event.time;
    event.run();
  }
  return {
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    busy: {
      main: busyOf(mains, 1, seconds),
      worker: busyOf(workers, workersEach, seconds),
      redis: busyOf(redis, 1, seconds),
    },
    doneShare: done / come,
  };
}
