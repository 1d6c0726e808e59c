import { processEnv } from '../../config/config.ts';
import { type MasterKeyRing, printMasterKeys } from '../../config/ring.ts';
import type { Secret } from '../../core/secret.ts';
import { asFigures, type Figures } from '../../telemetry/figures.ts';
import { FIRST_ARGUMENT, type Order, PROCESS_ARGUMENT, type Report } from './messages.ts';

/** How long a process may take to report its metrics before its last ones count. */
const COLLECT_MS_MAX = 1_000;

/** How a process ended: by a signal, or with an exit code. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | number | null;
}

/** A server process, as its supervisor sees it. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves with true when it serves, with false when it has ended before. */
  readonly serves: Promise<boolean>;
  readonly ended: Promise<ProcessEnd>;
  /** Asks for its metrics; resolves when `lastFigures` has them, or when it does not answer in a second. */
  readonly collect: () => Promise<void>;
  /** What it reported last. */
  readonly lastFigures: () => Figures;
  /** How long it has served; 0 before. */
  readonly servedMs: () => number;
  /**
   * Asks it to finish its requests in flight and end, because another process has taken over. Resolves when it has
   * ended, by force after `msMax`.
   */
  readonly retire: (msMax: number) => Promise<void>;
  /** Sends SIGTERM, unless it is asked to end already: a second request would end it at once. */
  readonly stop: () => void;
  readonly signal: (signal: NodeJS.Signals) => void;
}

/** Which process to start. */
export interface ProcessOptions {
  readonly slot: number;
  readonly isFirst: boolean;
  /** Settings of the ports that all processes share, where they are not in the environment; never 0. */
  readonly ports: Readonly<Record<string, string>>;
  /** The ring that a command has printed, for the standard input of the process; undefined where it has the ring itself. */
  readonly ring: Secret<MasterKeyRing> | undefined;
  /** The process needs the metrics of all; resolves with their text. */
  readonly scrape: () => Promise<string>;
}

/** The metrics of a process as far as they are known. */
interface Known {
  figures: Figures;
  readonly waiting: Set<() => void>;
}

function commandOf({ slot, isFirst }: ProcessOptions): string[] {
  const role = isFirst ? [FIRST_ARGUMENT] : [];
  return [process.execPath, ...process.execArgv, Bun.main, PROCESS_ARGUMENT, String(slot), ...role];
}

async function collect(known: Known, ask: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, COLLECT_MS_MAX);
  known.waiting.add(resolve);
  if (!ask()) {
    resolve();
  }
  await promise;
  clearTimeout(timer);
  known.waiting.delete(resolve);
}

/** Sends an order; false when the process can no longer get it. */
function sendTo(child: Bun.Subprocess, order: Order): boolean {
  try {
    child.send(order);
    return true;
  } catch {
    return false;
  }
}

/** How a process ended, as soon as its last report has been read too. */
async function endOf(
  child: Bun.Subprocess,
  disconnected: Promise<void>,
  onExit: () => void,
): Promise<ProcessEnd> {
  await child.exited;
  onExit();
  await Promise.race([disconnected, Bun.sleep(COLLECT_MS_MAX)]);
  return { code: child.exitCode, signal: child.signalCode };
}

/**
 * Sends the metrics of all processes, to one that may ask again before they are there: one answer is for all that wait.
 * If they cannot be added up, the time limit of the process that asked ends its wait.
 */
async function answer(one: Followed, scrape: ProcessOptions['scrape']): Promise<void> {
  if (one.isAnswering) {
    return;
  }
  one.isAnswering = true;
  const text = await scrape().catch(() => undefined);
  one.isAnswering = false;
  if (text !== undefined) {
    sendTo(one.child, { kind: 'scraped', text });
  }
}

/** A process as its supervisor follows it. */
interface Followed extends Known {
  readonly child: Bun.Subprocess;
  readonly ended: Promise<ProcessEnd>;
  servesSinceMs: number | undefined;
  isEnding: boolean;
  isAnswering: boolean;
}

async function retire(one: Followed, msMax: number): Promise<void> {
  one.isEnding = true;
  sendTo(one.child, { kind: 'retire' });
  const timer = setTimeout(() => one.child.kill('SIGKILL'), msMax);
  await one.ended;
  clearTimeout(timer);
}

function stop(one: Followed): void {
  if (!one.isEnding) {
    one.isEnding = true;
    one.child.kill('SIGTERM');
  }
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
 * Starts a server process. It is in a session of its own, so that Ctrl-C in a terminal reaches only the supervisor, and
 * it ends when the supervisor does, because its IPC channel is then closed.
 */
export function startServerProcess(options: ProcessOptions): ServerProcess {
  const serves = Promise.withResolvers<boolean>();
  const disconnected = Promise.withResolvers<void>();
  const child = Bun.spawn(commandOf(options), {
    stdio: [options.ring === undefined ? 'ignore' : 'pipe', 'inherit', 'inherit'],
    detached: true,
    env: { ...processEnv(), ...options.ports },
    // Only the process, which is the same program, has the other end; what is wrong with it must not become wrong here.
    ipc: (report: Report | null | undefined) => {
      switch (report?.kind) {
        case 'ready':
          one.servesSinceMs = performance.now();
          return serves.resolve(true);
        case 'scrape':
          return void answer(one, options.scrape);
        case 'figures':
          one.figures = asFigures(report.figures) ?? one.figures;
          for (const resolve of one.waiting) {
            resolve();
          }
      }
    },
    onDisconnect: () => disconnected.resolve(),
  });
  if (options.ring !== undefined && child.stdin !== undefined) {
    void pass(options.ring, child.stdin);
  }
  const ended = endOf(child, disconnected.promise, () => serves.resolve(false));
  const one: Followed = {
    ...{ child, ended, figures: [], waiting: new Set(), servesSinceMs: undefined },
    ...{ isEnding: false, isAnswering: false },
  };
  return {
    pid: child.pid,
    serves: serves.promise,
    ended,
    collect: () => collect(one, () => sendTo(child, { kind: 'collect' })),
    lastFigures: () => one.figures,
    servedMs: () => (one.servesSinceMs === undefined ? 0 : performance.now() - one.servesSinceMs),
    retire: (msMax) => retire(one, msMax),
    stop: () => stop(one),
    signal: (signal) => child.kill(signal),
  };
}
