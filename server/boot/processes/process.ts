import { processEnv } from '../../config/config.ts';
import { type MasterKeyRing, printMasterKeys } from '../../config/ring.ts';
import type { Secret } from '../../core/secret.ts';
import { asFigures, type Figures } from '../../telemetry/figures.ts';
import { FIRST_ARGUMENT, type Order, PROCESS_ARGUMENT, type Report } from './link.ts';

/** The time limit of a report of metrics; after it the last ones count. */
const COLLECT_MS_MAX = 1_000;

/** The end of a process: by a signal, or with an exit code. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | number | null;
}

export interface ProcessOptions {
  readonly slot: number;
  readonly isFirst: boolean;
  /** Settings of the ports that all processes share, where they are not in the environment; never 0. */
  readonly ports: Readonly<Record<string, string>>;
  /** The ring that a command has printed, for the standard input of the process; undefined if it reads the ring itself. */
  readonly ring: Secret<MasterKeyRing> | undefined;
  /** Returns the metrics of all processes as text. */
  readonly scrape: () => Promise<string>;
}

/** Passes the ring on, by a pipe that nothing else can read. A process that has ended already needs none. */
async function pass(ring: Secret<MasterKeyRing>, input: Bun.FileSink): Promise<void> {
  const bytes = printMasterKeys(ring.expose());
  try {
    input.write(bytes);
    await input.end();
  } catch {
    // Its end is noticed elsewhere.
  } finally {
    bytes.fill(0);
  }
}

/**
 * A server process, as its supervisor sees it. It is the leader of a session, so that Ctrl-C in a terminal reaches only the
 * supervisor, and it ends when the supervisor does, because its IPC channel is then closed.
 */
export class ServerProcess {
  /** Resolves with true when it serves, with false when it has ended before. */
  readonly serves: Promise<boolean>;
  /** Resolves when it has ended and its last report has been read. */
  readonly ended: Promise<ProcessEnd>;
  lastFigures: Figures = [];
  private readonly child: Bun.Subprocess;
  private readonly serving = Promise.withResolvers<boolean>();
  private readonly disconnected = Promise.withResolvers<void>();
  /** Callers that wait for a report of metrics. */
  private readonly waiting = new Set<() => void>();
  private servesSinceMs: number | undefined;
  private isEnding = false;
  private isAnswering = false;

  constructor(private readonly options: ProcessOptions) {
    const { slot, isFirst, ports, ring } = options;
    const own = [PROCESS_ARGUMENT, String(slot), ...(isFirst ? [FIRST_ARGUMENT] : [])];
    const child = Bun.spawn([process.execPath, ...process.execArgv, Bun.main, ...own], {
      stdio: [ring === undefined ? 'ignore' : 'pipe', 'inherit', 'inherit'],
      detached: true,
      env: { ...processEnv(), ...ports },
      ipc: (report: Report | null | undefined) => this.receive(report),
      onDisconnect: () => this.disconnected.resolve(),
    });
    this.child = child;
    this.serves = this.serving.promise;
    this.ended = this.untilEnd();
    if (ring !== undefined && child.stdin !== undefined) {
      void pass(ring, child.stdin);
    }
  }

  get pid(): number {
    return this.child.pid;
  }

  /** The time since which it has served, in ms; 0 before. */
  get servedMs(): number {
    return this.servesSinceMs === undefined ? 0 : performance.now() - this.servesSinceMs;
  }

  /** Requests its metrics; resolves when `lastFigures` has them, or after a second without an answer. */
  async collect(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, COLLECT_MS_MAX);
    this.waiting.add(resolve);
    if (!this.send({ kind: 'collect' })) {
      resolve();
    }
    await promise;
    clearTimeout(timer);
    this.waiting.delete(resolve);
  }

  /** Ends the process after its requests in flight, by force after `msMax`, because another one has taken over. */
  async retire(msMax: number): Promise<void> {
    this.isEnding = true;
    this.send({ kind: 'retire' });
    const timer = setTimeout(() => this.kill(), msMax);
    await this.ended;
    clearTimeout(timer);
  }

  /** Sends SIGTERM, unless the process is ending already: a second signal would end it at once. */
  stop(): void {
    if (!this.isEnding) {
      this.isEnding = true;
      this.child.kill('SIGTERM');
    }
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  private async untilEnd(): Promise<ProcessEnd> {
    await this.child.exited;
    this.serving.resolve(false);
    await Promise.race([this.disconnected.promise, Bun.sleep(COLLECT_MS_MAX)]);
    return { code: this.child.exitCode, signal: this.child.signalCode };
  }

  /** Reads a report. Only the process, which is the same program, sends one; a malformed report is ignored. */
  private receive(report: Report | null | undefined): void {
    switch (report?.kind) {
      case 'ready':
        this.servesSinceMs = performance.now();
        this.serving.resolve(true);
        break;
      case 'scrape':
        void this.answer();
        break;
      case 'figures':
        this.lastFigures = asFigures(report.figures) ?? this.lastFigures;
        for (const resolve of this.waiting) {
          resolve();
        }
    }
  }

  /** Sends the metrics of all processes, once for all waiting requests; without them the process times out. */
  private async answer(): Promise<void> {
    if (this.isAnswering) {
      return;
    }
    this.isAnswering = true;
    const text = await this.options.scrape().catch(() => undefined);
    this.isAnswering = false;
    if (text !== undefined) {
      this.send({ kind: 'scraped', text });
    }
  }

  /** Sends an order; false if the process can no longer get it. */
  private send(order: Order): boolean {
    try {
      this.child.send(order);
      return true;
    } catch {
      return false;
    }
  }
}
