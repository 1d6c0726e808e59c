/**
 * Thrown by synchronous work that needs a result which the runtime returns as a promise only: a promise for each item would
 * cost more than most of the work. `ready` resolves when the result is kept. The runner waits and runs the work again from
 * its start, so the work must not have changed anything before it throws this.
 */
export class NotYet extends Error {
  readonly ready: Promise<unknown>;

  constructor(ready: Promise<unknown>) {
    super('Needs what the runtime has not computed yet.');
    this.name = 'NotYet';
    this.ready = ready;
    // If the work also throws another error, nothing waits for this one.
    ready.catch(() => undefined);
  }
}

/**
 * Runs `work`: returns its result, or a promise of it if it has to run again. `endAgain` is called after each run but the
 * first.
 */
export function whenReady<T>(work: () => T, endAgain: () => void = () => undefined): T | Promise<Awaited<T>> {
  try {
    return work();
  } catch (error) {
    if (error instanceof NotYet) {
      return again(error, work, endAgain);
    }
    throw error;
  }
}

async function again<T>({ ready }: NotYet, work: () => T, endAgain: () => void): Promise<Awaited<T>> {
  await ready;
  return await whenReady(() => {
    try {
      return work();
    } finally {
      endAgain();
    }
  });
}

/** Runs `work` for each of a list. Results that any of them need and are not there yet are waited for once, together. */
export function eachReady<In, Out>(list: readonly In[], work: (one: In, index: number) => Out): Out[] {
  const results: Out[] = [];
  const waits: Promise<unknown>[] = [];
  for (const [i, one] of list.entries()) {
    try {
      results.push(work(one, i));
    } catch (error) {
      if (!(error instanceof NotYet)) {
        throw error;
      }
      waits.push(error.ready);
    }
  }
  if (waits.length > 0) {
    throw new NotYet(Promise.all(waits));
  }
  return results;
}
