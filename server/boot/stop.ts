import type { RecordEvent } from '../telemetry/events.ts';

/** How long requests in flight may take once no new connections are accepted. */
const DRAIN_MS = 25_000;
const REPEATED_SIGNAL_MS = 2_000;

/** The steps of a graceful shutdown, and how it is reported. */
export interface StopSteps {
  /** How long connections are still accepted, so that balancers notice. */
  readonly drainSeconds: number;
  /** At once: the server is not ready any more, and replies end their connections. */
  readonly startDraining: () => void;
  /** Stops accepting connections and finishes the requests in flight. */
  readonly close: () => Promise<void>;
  /** Hands the jobs over to other servers, at the same time. */
  readonly releaseJobs: () => Promise<void>;
  /** Closes everything else. */
  readonly end: () => Promise<void>;
  readonly recordEvent: RecordEvent;
  readonly flush: () => void;
}

function exit({ flush }: StopSteps, code: 0 | 1): never {
  flush();
  process.exit(code);
}

async function shutDown(steps: StopSteps): Promise<void> {
  const { drainSeconds, recordEvent } = steps;
  const giveUp = (): void => {
    recordEvent('drain_timeout');
    exit(steps, 1);
  };
  setTimeout(giveUp, drainSeconds * 1_000 + DRAIN_MS).unref();
  const released = steps.releaseJobs();
  await new Promise((resolve) => setTimeout(resolve, drainSeconds * 1_000));
  await Promise.all([steps.close(), released]);
  await steps.end();
  recordEvent('stopped');
  exit(steps, 0);
}

/**
 * Makes the answer to SIGTERM and SIGINT: the steps in their order, then exit code 0. A second signal more than two
 * seconds later, requests that do not end in time, or a step that fails exits with 1; log lines are written in any case.
 */
export function createStop(steps: StopSteps): (signal: string) => void {
  let since: number | undefined;
  return (signal) => {
    if (since !== undefined) {
      // One Ctrl-C can arrive more than once, from the terminal and from each program in between.
      if (Date.now() - since > REPEATED_SIGNAL_MS) {
        exit(steps, 1);
      }
      return;
    }
    since = Date.now();
    steps.startDraining();
    steps.recordEvent('draining', { signal });
    shutDown(steps).catch(() => {
      steps.recordEvent('stop_failed');
      exit(steps, 1);
    });
  };
}
