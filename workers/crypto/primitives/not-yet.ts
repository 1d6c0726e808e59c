/** How work that answers at once uses what the runtime gives as a promise only. */

/**
 * Thrown by work that needs what is not there yet: `ready` resolves when it is. Whoever runs the work waits and runs it
 * again from its start, so it must not have changed anything before it throws this.
 */
export class NotYet extends Error {
  readonly ready: Promise<unknown>;

  constructor(ready: Promise<unknown>) {
    super('Needs what the runtime has not computed yet.');
    this.name = 'NotYet';
    this.ready = ready;
    // Where it was thrown beside another error, nobody waits for it.
    ready.catch(() => undefined);
  }
}

/**
 * What `work` gives: at once, or as a promise where it has to run again. `endAgain` is called when a run but the first has
 * left the stack.
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

/** What `work` gives for each of several. What any of them need and is not there yet is waited for once, by all together. */
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
