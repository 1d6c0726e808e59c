import { failureFields } from '../core/error-cause.ts';
import type { RecordEvent } from '../telemetry/events.ts';

/** The pause between two sweeps. */
const SWEEP_MS = 10 * 60 * 1_000;
/** The pause after a failed sweep. It is short, because the interrupted operations have already waited. */
const SWEEP_RETRY_MS = 5_000;
/** Half of the promised minute between two checkpoints: flushing and signing take a part of it. */
const CHECKPOINT_MS = 30_000;
/** So long at the most is a rejection in no log that was answered without waiting for its entry. */
const REJECTIONS_MS = 1_000;
/** The pause between two looks for events of accounts with subscriptions. */
const EVENTS_MS = 1_000;
/** The pause between two deliveries to the sink of access events. */
const STREAM_MS = 5_000;

/** The recurring work of a server. */
export interface Background {
  /** Starts all loops at once; call it once. */
  readonly start: () => void;
  /** Schedules no further rounds. A round in flight is not cancelled. */
  readonly stop: () => void;
}

/**
 * Runs `round` repeatedly, the first one immediately. Each round resolves with the pause in ms before the next, so
 * rounds never overlap. The timer does not keep the process alive.
 */
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

/** Runs `work` repeatedly, with the same pause after each round. */
function every(pauseMs: number, work: () => Promise<void>): Background {
  return createLoop(async () => {
    await work();
    return pauseMs;
  });
}

/**
 * Creates the recurring work: asynchronous requests, the sweep, entries and checkpoints of the security logs, figures of what
 * expires, rewrites after verification codes have expired, events of accounts, and the delivery to the sink of access events. Every
 * sweep is recorded as the event `sweep`, with its duration in ms and the error code of a failure.
 */
export function createBackground(work: {
  readonly startJobs: () => void;
  readonly sweep: () => Promise<void>;
  readonly checkpoint: () => Promise<void>;
  readonly writeRejections: () => Promise<void>;
  readonly countExpiring: () => Promise<number>;
  readonly rewriteExpired: () => Promise<number>;
  readonly findEvents: () => Promise<void>;
  readonly stream: (() => Promise<void>) | undefined;
  readonly recordEvent: RecordEvent;
}): Background {
  const loops = [
    createLoop(async () => {
      const startedAt = performance.now();
      const failure = await work.sweep().then(() => undefined, failureFields);
      work.recordEvent('sweep', { ms: Math.round(performance.now() - startedAt), ...failure });
      return failure === undefined ? SWEEP_MS : SWEEP_RETRY_MS;
    }),
    createLoop(work.countExpiring),
    createLoop(work.rewriteExpired),
    every(CHECKPOINT_MS, work.checkpoint),
    every(REJECTIONS_MS, work.writeRejections),
    every(EVENTS_MS, work.findEvents),
    ...(work.stream === undefined ? [] : [every(STREAM_MS, work.stream)]),
  ];
  return {
    start: () => {
      work.startJobs();
      for (const loop of loops) {
        loop.start();
      }
    },
    stop: () => {
      for (const loop of loops) {
        loop.stop();
      }
    },
  };
}
