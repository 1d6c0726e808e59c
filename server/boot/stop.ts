import type { RecordEvent } from '../telemetry/events.ts';

/** How long requests in flight may take after the listener has stopped accepting connections. */
const DRAIN_MS = 25_000;
/** Signals within this time count as one. */
const REPEATED_SIGNAL_MS = 2_000;

/** The steps of a graceful shutdown, and how they are reported. */
export interface StopSteps {
  /** How long connections are still accepted, so that load balancers notice that the server is not ready. */
  readonly drainSeconds: number;
  /** Immediately: readiness fails, and replies close their connections. */
  readonly startDraining: () => void;
  /** Stops accepting connections and finishes the requests in flight. */
  readonly close: () => Promise<void>;
  /** Leaves the queued jobs to other servers; runs at the same time as the drain. */
  readonly releaseJobs: () => Promise<void>;
  /** Closes everything else. */
  readonly end: () => Promise<void>;
  readonly recordEvent: RecordEvent;
  /** Writes the buffered log lines; called before every exit. */
  readonly flush: () => void;
}

function exit({ flush }: StopSteps, code: 0 | 1): never {
  flush();
  process.exit(code);
}

/** Runs the steps and exits with code 0, or with 1 when the requests in flight do not end in time. */
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
 * Creates the handler of SIGTERM and SIGINT. It runs the steps in order and exits with code 0. It exits with 1 when a
 * step fails, when requests do not end in time, or at a second signal more than two seconds later. Log lines are
 * written in every case.
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
