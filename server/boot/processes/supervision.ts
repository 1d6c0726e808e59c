import type { MasterKeyRing } from '../../config/ring.ts';
import type { Secret } from '../../core/secret.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import { asFigures, type Figures, lastingFigures, sumFigures } from '../../telemetry/figures.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type ProcessEnd, type ProcessOptions, type ServerProcess, startServerProcess } from './process.ts';

/** The first and the longest pause before a process that has ended is replaced. */
const BACK_OFF_MS_MIN = 100;
const BACK_OFF_MS_MAX = 5_000;
/** The end of a process that served for so long is the first of a series. */
const WELL_MS = 60_000;

/** The processes of a server, as their supervisor knows them. */
export interface Supervision {
  /** The ports that were found for all processes, as settings; those that the environment has are not among them. */
  readonly ports: Readonly<Record<string, string>>;
  /** The ring that a command has printed, for processes to come. */
  ring: Secret<MasterKeyRing> | undefined;
  readonly metrics: Pick<Metrics, 'collect'>;
  readonly recordEvent: RecordEvent;
  /** The process of each place. One that has been replaced, or is to replace another, is not in here. */
  readonly current: ServerProcess[];
  /** All that run. */
  readonly running: Set<ServerProcess>;
  /** The counters of those that have ended. */
  ended: Promise<Figures>;
  /** From now on no process is started. */
  isStopping: boolean;
}

/** Creates the supervision of no process yet. */
export function createSupervision(
  parts: Pick<Supervision, 'ports' | 'ring' | 'metrics' | 'recordEvent'>,
): Supervision {
  return { ...parts, current: [], running: new Set(), ended: Promise.resolve([]), isStopping: false };
}

/**
 * All metrics in the Prometheus text format, over the processes that run, those that have ended, and the supervisor. A
 * process that does not answer in a second counts with what it reported last, so no counter ever decreases.
 */
async function scrape(state: Supervision): Promise<string> {
  await Promise.all([...state.running].map((one) => one.collect()));
  const own = await state.metrics.collect();
  // Both are read at one instant: a process that ends counts exactly once.
  const live = [...state.running].map((one) => one.lastFigures());
  const ended = state.ended;
  return sumFigures([own, await ended, ...live]).metrics();
}

/**
 * Adds the counters of a process that has ended to those of all others that have. Those that cannot be added, such as
 * of another version, or that are too many, are lost alone.
 */
async function addEnded(ended: Promise<Figures>, figures: Figures): Promise<Figures> {
  const before = await ended;
  try {
    const sum = await sumFigures([before, lastingFigures(figures)]).getMetricsAsJSON();
    return asFigures(sum) ?? before;
  } catch {
    return before;
  }
}

/** Records the unexpected end of a process and starts another in its place, after a pause that grows with each. */
async function revive(
  state: Supervision,
  slot: number,
  down: ServerProcess,
  { end, pauseMs }: { readonly end: ProcessEnd; readonly pauseMs: number },
): Promise<void> {
  state.recordEvent('server_process_down', { slot, pid: down.pid, ...end });
  let nextMs = down.servedMs() > WELL_MS ? BACK_OFF_MS_MIN : pauseMs;
  while (!state.isStopping && state.current[slot] === down) {
    await Bun.sleep(nextMs);
    nextMs = Math.min(2 * nextMs, BACK_OFF_MS_MAX);
    if (!state.isStopping && state.current[slot] === down) {
      state.current[slot] = launch(state, slot, { pauseMs: nextMs }) ?? down;
    }
  }
}

function tryStart(state: Supervision, options: ProcessOptions): ServerProcess | undefined {
  try {
    return startServerProcess(options);
  } catch (error) {
    const { slot } = options;
    state.recordEvent('server_process_down', { slot, error: error instanceof Error ? error.name : 'error' });
    return undefined;
  }
}

/**
 * Starts a process for a place, which the caller puts there. If it ends while it has the place it is replaced, after
 * `pauseMs`. Undefined when the system has no room for another process.
 */
export function launch(
  state: Supervision,
  slot: number,
  {
    isFirst = false,
    pauseMs = BACK_OFF_MS_MIN,
  }: { readonly isFirst?: boolean; readonly pauseMs?: number } = {},
): ServerProcess | undefined {
  const started = tryStart(state, {
    ...{ slot, isFirst, ports: state.ports, ring: state.ring },
    scrape: () => scrape(state),
  });
  if (started === undefined) {
    return undefined;
  }
  state.running.add(started);
  void started.ended.then((end) => {
    state.running.delete(started);
    state.ended = addEnded(state.ended, started.lastFigures());
    if (!state.isStopping && state.current[slot] === started) {
      void revive(state, slot, started, { end, pauseMs });
    }
  });
  return started;
}

/**
 * Replaces the processes one by one: the next one serves before the old one stops to accept connections, and the old one
 * ends before another is replaced. When a new process does not start, the old ones keep running.
 */
export async function replaceAll(state: Supervision, retireMsMax: number): Promise<void> {
  for (const slot of state.current.keys()) {
    // A stop during the last replacement ends this; none is started after it.
    const next = state.isStopping ? undefined : launch(state, slot);
    const serves = await next?.serves;
    if (state.isStopping) {
      return;
    }
    if (next === undefined || serves !== true) {
      state.recordEvent('rolling_restart_failed', { slot });
      return;
    }
    const old = state.current[slot];
    state.current[slot] = next;
    await old?.retire(retireMsMax);
    state.recordEvent('server_process_replaced', { slot, pid: next.pid });
  }
}
