import { spyOn } from 'bun:test';

/** Milliseconds between the looks that `vault verify` takes at what seems bad (`services/maintenance/report.ts`). */
const VERIFY_PAUSES = new Map([
  [20, 0],
  [200, 0],
  [600, 0],
]);

type Timer = (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) => unknown;

/** Runs `work`; timers and intervals of certain times, in ms, that it starts have the times that the map gives them. */
export async function withQuickTimers<T>(
  times: ReadonlyMap<number, number>,
  work: () => T | Promise<T>,
): Promise<T> {
  const spies = (['setTimeout', 'setInterval'] as const).map((name) => {
    const start = globalThis[name] as Timer;
    const quick: Timer = (run, ms = 0, ...given) => start(run, times.get(ms) ?? ms, ...given);
    return spyOn(globalThis, name).mockImplementation(quick as never);
  });
  try {
    return await work();
  } finally {
    for (const spy of spies) {
      spy.mockRestore();
    }
  }
}

/** Runs a verification of a vault that nobody uses meanwhile: what is bad is looked at again at once. */
export function withoutPauses<T>(verify: () => Promise<T>): Promise<T> {
  return withQuickTimers(VERIFY_PAUSES, verify);
}
