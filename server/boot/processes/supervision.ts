import type { MasterKeyRing } from '../../config/ring.ts';
import type { Secret } from '../../core/secret.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import { asFigures, type Figures, lastingFigures, sumFigures } from '../../telemetry/figures.ts';
import { type ProcessEnd, ServerProcess } from './process.ts';

/** The first and the longest pause before a process that has ended is replaced. */
const BACK_OFF_MS_MIN = 100;
const BACK_OFF_MS_MAX = 5_000;
/** The end of a process that served for so long is the first of a series. */
const WELL_MS = 60_000;

/** The processes of a server, as their supervisor knows them. */
export class Supervision {
  readonly running = new Set<ServerProcess>();
  /** From now on no process is started. */
  isStopping = false;
  /** The process of each place, without replaced processes and those that are to replace another. */
  private readonly current: ServerProcess[] = [];
  private endedFigures: Promise<Figures> = Promise.resolve([]);

  constructor(
    /** The ports that were found for all processes, as settings, without those of the environment. */
    private readonly ports: Readonly<Record<string, string>>,
    /** The ring that a command has printed, for further processes. */
    public ring: Secret<MasterKeyRing> | undefined,
    /** Returns the metrics of the supervisor. */
    private readonly collectOwn: () => Promise<Figures>,
    private readonly recordEvent: RecordEvent,
  ) {}

  /** Starts the first process, which initialises the vault, then the others; resolves with the exit code of a failed one. */
  async start(count: number): Promise<number | undefined> {
    const code = await this.startOne(0);
    if (code !== undefined || this.isStopping) {
      return code;
    }
    const others = Array.from({ length: count - 1 }, (_, at) => this.startOne(at + 1));
    return (await Promise.all(others)).find((other) => other !== undefined);
  }

  /** Replaces the processes one by one, each after its successor serves. If a successor does not start, the others stay. */
  async replaceAll(retireMsMax: number): Promise<void> {
    for (const slot of this.current.keys()) {
      // A stop during the last replacement ends this; none is started after it.
      const next = this.isStopping ? undefined : this.launch(slot);
      const serves = await next?.serves;
      if (this.isStopping) {
        return;
      }
      if (next === undefined || serves !== true) {
        this.recordEvent('rolling_restart_failed', { slot });
        return;
      }
      const old = this.current[slot];
      this.current[slot] = next;
      await old?.retire(retireMsMax);
      this.recordEvent('server_process_replaced', { slot, pid: next.pid });
    }
  }

  /** Stops all processes; resolves with their ends. */
  stopAll(): Promise<readonly ProcessEnd[]> {
    return Promise.all(
      [...this.running].map((one) => {
        one.stop();
        return one.ended;
      }),
    );
  }

  private async startOne(slot: number): Promise<number | undefined> {
    const started = this.launch(slot, BACK_OFF_MS_MIN, slot === 0);
    if (started === undefined) {
      return 1;
    }
    if (await started.serves) {
      this.current[slot] = started;
      return undefined;
    }
    const end = await started.ended;
    if (end.code === null && !this.isStopping) {
      this.recordEvent('server_process_down', { slot, pid: started.pid, ...end });
    }
    return end.code ?? 1;
  }

  /** Starts a process, which is replaced after `pauseMs` if it ends in its place; undefined if the system rejects it. */
  private launch(slot: number, pauseMs = BACK_OFF_MS_MIN, isFirst = false): ServerProcess | undefined {
    const { ports, ring } = this;
    let started: ServerProcess;
    try {
      started = new ServerProcess({ slot, isFirst, ports, ring, scrape: () => this.scrape() });
    } catch (error) {
      this.recordEvent('server_process_down', { slot, error: error instanceof Error ? error.name : 'error' });
      return undefined;
    }
    this.running.add(started);
    void started.ended.then((end) => {
      this.running.delete(started);
      this.endedFigures = addEnded(this.endedFigures, started.lastFigures);
      if (this.holds(slot, started)) {
        void this.revive(slot, started, end, pauseMs);
      }
    });
    return started;
  }

  /** Records the unexpected end of a process and starts another in its place, after a pause that grows with each. */
  private async revive(slot: number, down: ServerProcess, end: ProcessEnd, pauseMs: number): Promise<void> {
    this.recordEvent('server_process_down', { slot, pid: down.pid, ...end });
    let nextMs = down.servedMs > WELL_MS ? BACK_OFF_MS_MIN : pauseMs;
    while (this.holds(slot, down)) {
      await Bun.sleep(nextMs);
      nextMs = Math.min(2 * nextMs, BACK_OFF_MS_MAX);
      if (this.holds(slot, down)) {
        this.current[slot] = this.launch(slot, nextMs) ?? down;
      }
    }
  }

  /** True if a process has this place, and the server is not stopping. */
  private holds(slot: number, one: ServerProcess): boolean {
    return !this.isStopping && this.current[slot] === one;
  }

  /** Returns the metrics of all processes as text. Without an answer the last report counts: no counter decreases. */
  private async scrape(): Promise<string> {
    await Promise.all([...this.running].map((one) => one.collect()));
    const own = await this.collectOwn();
    // Both are read at one instant: a process that ends counts exactly once.
    const live = [...this.running].map((one) => one.lastFigures);
    const ended = this.endedFigures;
    return sumFigures([own, await ended, ...live]).metrics();
  }
}

/** Adds the counters of an ended process to those of earlier ones, unless they are of another version or too many. */
async function addEnded(ended: Promise<Figures>, figures: Figures): Promise<Figures> {
  const before = await ended;
  try {
    const sum = await sumFigures([before, lastingFigures(figures)]).getMetricsAsJSON();
    return asFigures(sum) ?? before;
  } catch {
    return before;
  }
}
