import { spyOn } from 'bun:test';

/**
 * Pauses in ms before `vault verify` checks a suspect record again (`maintenance/report.ts`), with their
 * length in the tests.
 */
const VERIFY_PAUSES = new Map([
  [20, 0],
  [200, 0],
  [600, 0],
]);

type Timer = (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) => unknown;

/**
 * Runs `work` with shorter timers. `times` maps a delay in ms, of a timer or interval, to the delay that is used
 * instead.
 */
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

/** Runs a verification without its pauses. Nothing else may use the vault at that time. */
export function withoutPauses<T>(verify: () => Promise<T>): Promise<T> {
  return withQuickTimers(VERIFY_PAUSES, verify);
}
