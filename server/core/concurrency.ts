import { type ErrorCode, VaultError } from './errors.ts';
import { runAtTickEnd } from './tick-end.ts';

/** Works of `eachOf` in progress at once, by default. */
const AT_ONCE = 4;

/**
 * Joins callers of the same work: at most one run is in flight, and every caller's run starts after its call, so a result is
 * never older than the call. A caller that waits for a run that fails gets its failure.
 */
export function coalesce<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let waiting: Promise<T> | undefined;

  const start = (): Promise<T> => {
    waiting = undefined;
    running = work().finally(() => {
      running = undefined;
    });
    return running;
  };

  return () => {
    waiting ??= (running ?? Promise.resolve()).then(start, (error: unknown) => {
      waiting = undefined;
      throw error;
    });
    return waiting;
  };
}

/**
 * Joins callers of one tick and name. Results are as fresh as those of `coalesce`, and sooner, if the work begins with a
 * command to Redis, since commands are written at the end of the tick.
 */
export function createTickJoin<T>(): (name: string, work: () => Promise<T>) => Promise<T> {
  const joined = new Map<string, Promise<T>>();
  return (name, work) => {
    const found = joined.get(name);
    if (found) {
      return found;
    }
    const started = work();
    joined.set(name, started);
    runAtTickEnd(() => joined.delete(name));
    return started;
  };
}

/** Shares one run between callers with the same name while it is in flight. */
export function createSharedRuns<T>(): (name: string, work: () => Promise<T>) => Promise<T> {
  const running = new Map<string, Promise<T>>();
  return (name, work) => {
    const found = running.get(name);
    if (found) {
      return found;
    }
    const started = work().finally(() => running.delete(name));
    running.set(name, started);
    return started;
  };
}

/** Runs the works of one name one after another; different names do not wait for each other. */
export function createKeyedMutex(): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (name, work) => {
    const before = last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    const done = mine.then(
      () => undefined,
      () => undefined,
    );
    last.set(name, done);
    void done.then(() => {
      if (last.get(name) === done) {
        last.delete(name);
      }
    });
    return mine;
  };
}

/** Lets at most `max` works run at once; the others wait in order. */
export function createSemaphore(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= max) {
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) {
        next();
      } else {
        running -= 1;
      }
    }
  };
}

/** Runs work on each item, at most `atOnce` at once. After a failure it starts nothing more, and waits for running work. */
export async function eachOf<T>(
  source: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<void>,
  atOnce = AT_ONCE,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const item of source) {
    const started: Promise<void> = work(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(started));
    running.add(started);
    if (running.size >= atOnce) {
      await Promise.race(running);
    }
    if (failures.length > 0) {
      break;
    }
  }
  await Promise.all(running);
  if (failures.length > 0) {
    throw failures[0];
  }
}

/** Maps a sequence in its order, with up to `depth` items in flight at once, from their reading to their result. */
export async function* mapAhead<A, B>(
  source: AsyncGenerator<A> | Iterable<A>,
  depth: number,
  map: (item: A) => Promise<B>,
): AsyncGenerator<B> {
  const items = Symbol.asyncIterator in source ? source : toAsync(source);
  const under: Promise<IteratorResult<B, unknown>>[] = [];
  const startNext = async (): Promise<IteratorResult<B, unknown>> => {
    // A generator answers the calls of `next` one after the other.
    const { done, value } = await items.next();
    return done ? { done, value } : { value: await map(value) };
  };
  try {
    for (;;) {
      while (under.length < depth) {
        const started = startNext();
        // A failure is thrown when its item is due; until then it must not count as unhandled.
        started.catch(() => undefined);
        under.push(started);
      }
      const result = await under.shift();
      if (!result || result.done) {
        return;
      }
      yield result.value;
    }
  } finally {
    // Requested items that were not read yet are skipped.
    const ended = items.return(undefined);
    await Promise.allSettled([ended, ...under]);
  }
}

export async function* toAsync<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const RETRY_TRIES_MAX = 20;
const RETRY_PAUSE_MS = 500;

/** True for an error of a temporary failure. */
export function isTransient(error: unknown): boolean {
  return error instanceof VaultError && error.status === 503;
}

/** The result of `work`; `instead` when it is rejected with this code. */
export function recover<T, const Instead>(
  work: Promise<T>,
  code: ErrorCode,
  instead: Instead,
): Promise<T | Instead> {
  return work.catch((error: unknown) => {
    if (error instanceof VaultError && error.code === code) {
      return instead;
    }
    throw error;
  });
}

/** Retries `work` while its failure may be temporary, for about ten seconds; the last failure is thrown. */
export async function withRetries<T>(
  work: () => Promise<T>,
  mayPass: (error: unknown) => boolean = () => true,
  triesMax = RETRY_TRIES_MAX,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === triesMax || !mayPass(error)) {
        throw error;
      }
      await pause(RETRY_PAUSE_MS);
    }
  }
}

/** Replaces a stored value; false if it was another one. After a failure of Redis the value is read back to decide. */
export async function replaceOrConfirm(
  value: Uint8Array,
  replace: () => Promise<boolean>,
  read: () => Promise<Buffer | undefined>,
): Promise<boolean> {
  try {
    return await replace();
  } catch (error) {
    if ((await withRetries(read))?.equals(value)) {
      return true;
    }
    throw error;
  }
}
