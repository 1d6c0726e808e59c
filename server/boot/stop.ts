/** How long work in hand may take once no new connections are taken. */
const DRAIN_MS = 25_000;
const REPEATED_SIGNAL_MS = 2_000;

/** The steps of a stop, and what has to be said about it. */
export interface StopSteps {
  /** How long connections are still taken, so that balancers notice. */
  readonly drainSeconds: number;
  /** At once: readiness is gone, and replies end their connections. */
  readonly leave: () => void;
  /** Takes no more connections and finishes what has come. */
  readonly close: () => Promise<void>;
  /** Hands the jobs over; runs beside the rest. */
  readonly rest: () => Promise<void>;
  /** Lets go of everything. */
  readonly end: () => Promise<void>;
  readonly note: (event: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly flush: () => void;
}

/**
 * Makes the answer to SIGTERM and SIGINT: the steps in their order, then exit code 0. A second signal more than two
 * seconds later, work that does not end in time, or a step that fails exits with 1; log lines are written in any case.
 */
export const createStop = (steps: StopSteps): ((signal: string) => void) => {
  const { note, flush } = steps;
  let since: number | undefined;
  const exit = (code: 0 | 1): never => {
    flush();
    process.exit(code);
  };
  const drain = async (): Promise<void> => {
    setTimeout(
      () => {
        note('drain_timeout');
        exit(1);
      },
      steps.drainSeconds * 1_000 + DRAIN_MS,
    ).unref();
    const resting = steps.rest();
    await new Promise((resolve) => setTimeout(resolve, steps.drainSeconds * 1_000));
    await Promise.all([steps.close(), resting]);
    await steps.end();
    note('stopped');
    exit(0);
  };
  return (signal) => {
    if (since !== undefined) {
      // One Ctrl-C can arrive more than once, from the terminal and from each program in between.
      if (Date.now() - since > REPEATED_SIGNAL_MS) {
        exit(1);
      }
      return;
    }
    since = Date.now();
    steps.leave();
    note('draining', { signal });
    drain().catch(() => {
      note('stop_failed');
      exit(1);
    });
  };
};
