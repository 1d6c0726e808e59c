import type { RecordEvent } from '../../telemetry/events.ts';

/** The time limit of requests in flight, after the listener has stopped accepting connections. */
export const DRAIN_MS = 25_000;
/** Signals within this time count as one. */
const REPEATED_SIGNAL_MS = 2_000;

/** The steps of a graceful shutdown, and how they are reported. */
interface StopSteps {
  /** The time in which connections are still accepted, so that load balancers notice that the server is not ready. */
  readonly drainSeconds: number;
  /** The time limit of all later steps, in ms. */
  readonly finishMs: number;
  /** Immediately: replies close their connections, and readiness fails unless another process has taken over. */
  readonly startDraining: (hasSuccessor: boolean) => void;
  /** Stops accepting connections and finishes the requests in flight. */
  readonly close: () => Promise<void>;
  /** Leaves the queued jobs to other servers; runs at the same time as the drain. */
  readonly releaseJobs: () => Promise<void>;
  /** Closes everything else. */
  readonly end: () => Promise<void>;
  readonly recordEvent: RecordEvent;
  /** Called before every exit: writes the buffered log lines. */
  readonly beforeExit: () => void;
}

function exit({ beforeExit }: StopSteps, code: 0 | 1): never {
  beforeExit();
  process.exit(code);
}

/** Runs the steps and exits with code 0, or with 1 when the requests in flight do not end in time. */
async function shutDown(steps: StopSteps, drainSeconds: number): Promise<void> {
  const { finishMs, recordEvent } = steps;
  const giveUp = (): void => {
    recordEvent('drain_timeout');
    exit(steps, 1);
  };
  setTimeout(giveUp, drainSeconds * 1_000 + finishMs).unref();
  const released = steps.releaseJobs();
  await new Promise((resolve) => setTimeout(resolve, drainSeconds * 1_000));
  await Promise.all([steps.close(), released]);
  await steps.end();
  recordEvent('stopped');
  exit(steps, 0);
}

/** Stops a server. With a successor on its port it does not wait for load balancers. */
export type Stop = (signal: string, hasSuccessor?: boolean) => void;

/**
 * Creates the handler of SIGTERM and SIGINT. It runs the steps in order and exits with code 0. It exits with 1 when a
 * step fails, when requests do not end in time, or at a second signal more than two seconds later. Log lines are
 * written in every case.
 */
export function createStop(steps: StopSteps): Stop {
  let since: number | undefined;
  return (signal, hasSuccessor = false) => {
    if (since !== undefined) {
      // One Ctrl-C can arrive more than once, from the terminal and from each program in between.
      if (Date.now() - since > REPEATED_SIGNAL_MS) {
        exit(steps, 1);
      }
      return;
    }
    since = Date.now();
    steps.startDraining(hasSuccessor);
    steps.recordEvent('draining', { signal });
    shutDown(steps, hasSuccessor ? 0 : steps.drainSeconds).catch(() => {
      steps.recordEvent('stop_failed');
      exit(steps, 1);
    });
  };
}
