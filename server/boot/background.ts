import { failureFields } from '../core/failure.ts';
import type { RecordEvent } from '../telemetry/events.ts';

const SWEEP_MS = 10 * 60 * 1_000;
/** The pause after a failed sweep: what it would have finished has waited long enough. */
const SWEEP_RETRY_MS = 5_000;
/** Security logs are signed at least every minute; signing itself takes a part of it. */
const CHECKPOINT_MS = 30_000;

/** The recurring work of a server. */
export interface Background {
  readonly start: () => void;
  /** Starts nothing more; a round in progress goes on. */
  readonly stop: () => void;
}

/** Runs `round` again and again, each `pause` after the last has ended; a round resolves with the pause in ms. */
function createLoop(round: () => Promise<number>): Background {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  const run = async (): Promise<void> => {
    const pauseMs = await round();
    if (!isStopped) {
      timer = setTimeout(run, pauseMs);
      timer.unref();
    }
  };
  return {
    start: () => void run(),
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Makes the recurring work: asynchronous requests, the sweep, and checkpoints of the security logs. */
export function createBackground({
  startJobs,
  sweep,
  checkpoint,
  recordEvent,
}: {
  readonly startJobs: () => void;
  readonly sweep: () => Promise<void>;
  readonly checkpoint: () => Promise<void>;
  readonly recordEvent: RecordEvent;
}): Background {
  const sweeps = createLoop(async () => {
    const startedAt = performance.now();
    const failure = await sweep().then(() => undefined, failureFields);
    recordEvent('sweep', { ms: Math.round(performance.now() - startedAt), ...failure });
    return failure === undefined ? SWEEP_MS : SWEEP_RETRY_MS;
  });
  const checkpoints = createLoop(async () => {
    await checkpoint();
    return CHECKPOINT_MS;
  });
  return {
    start: () => {
      startJobs();
      sweeps.start();
      checkpoints.start();
    },
    stop: () => {
      sweeps.stop();
      checkpoints.stop();
    },
  };
}
