import { spyOn } from 'bun:test';

/** Milliseconds between the looks that `vault verify` takes at what seems bad (`services/maintenance/report.ts`). */
const PAUSES_MS: ReadonlySet<unknown> = new Set([20, 200, 600]);

/** Runs a verification of a vault that nobody uses meanwhile: what is bad is looked at again at once. */
export async function withoutPauses<T>(verify: () => Promise<T>): Promise<T> {
  const { setTimeout: wait } = globalThis;
  const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((
    run: (...given: unknown[]) => void,
    ms?: number,
    ...given: unknown[]
  ) => wait(run, PAUSES_MS.has(ms) ? 0 : ms, ...given)) as typeof setTimeout);
  try {
    return await verify();
  } finally {
    timers.mockRestore();
  }
}
