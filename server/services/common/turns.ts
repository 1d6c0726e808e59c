/** Lets a bounded number of works run at once; the lines of those that wait take turns. */
export interface Turns {
  /** The end of a work that may begin at once, or else a promise of it. It must be called once. */
  readonly enter: (line: string) => (() => void) | Promise<() => void>;
  readonly running: () => number;
}

/** A line may have so many times what is free: alone seven eighths, so that a newcomer need not wait for an end. */
const SHARE = 7;

/** Makes turns for at most `max` works at once, of which each line has less than seven eighths. */
export function createFairTurns(max: number): Turns {
  // Never empty ones; the order of the map is the order of turns.
  const waiting = new Map<string, (() => void)[]>();
  const runningOf = new Map<string, number>();
  let running = 0;

  const mayRun = (line: string): boolean => (runningOf.get(line) ?? 0) < SHARE * (max - running);

  const begin = (line: string): void => {
    running += 1;
    runningOf.set(line, (runningOf.get(line) ?? 0) + 1);
  };

  /** Whether somebody's turn has come. */
  const startNext = (): boolean => {
    for (const [line, starts] of waiting) {
      if (!mayRun(line)) {
        continue;
      }
      const start = starts.shift();
      waiting.delete(line);
      if (starts.length > 0) {
        waiting.set(line, starts);
      }
      begin(line);
      start?.();
      return true;
    }
    return false;
  };

  const end = (line: string): void => {
    running -= 1;
    const left = (runningOf.get(line) ?? 1) - 1;
    if (left === 0) {
      runningOf.delete(line);
    } else {
      runningOf.set(line, left);
    }
    while (waiting.size > 0 && startNext()) {
      // What one end makes room for may be more than one.
    }
  };

  return {
    enter(line) {
      if (mayRun(line)) {
        begin(line);
        return () => end(line);
      }
      return new Promise((resolve) => {
        const start = (): void => resolve(() => end(line));
        const starts = waiting.get(line);
        if (starts === undefined) {
          waiting.set(line, [start]);
        } else {
          starts.push(start);
        }
      });
    },
    running: () => running,
  };
}
