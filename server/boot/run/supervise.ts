import type { Config } from '../../config/config.ts';
import { ensureMasterKey } from '../../config/master-key.ts';
import { ConfigError } from '../../config/reader.ts';
import type { MasterKeyRing } from '../../config/ring.ts';
import { lockMemory } from '../../core/process-memory.ts';
import type { Secret } from '../../core/secret.ts';
import { createSupervision, launch, replaceAll, type Supervision } from '../processes/supervision.ts';
import { openTarget } from '../redis/target.ts';
import { openTelemetry, type Telemetry } from '../telemetry.ts';
import { createStop, DRAIN_MS, type Stop } from './stop.ts';

/** How much longer than a process the supervisor waits for its graceful shutdown. */
const MARGIN_MS = 5_000;

/** The supervisor's own parts besides the processes. */
interface Supervisor {
  readonly config: Config;
  readonly telemetry: Telemetry;
  readonly processes: Supervision;
  readonly stopRedis: () => Promise<void>;
}

/** Ends what is left at once; called before every exit. */
function leaveNothing({ processes, telemetry }: Supervisor): void {
  for (const one of processes.running) {
    one.signal('SIGKILL');
  }
  telemetry.log.flush();
}

/** Creates the graceful shutdown: all processes drain at the same time, then the embedded Redis ends. */
function createSupervisorStop(supervisor: Supervisor): Stop {
  const { config, telemetry, processes, stopRedis } = supervisor;
  let codes: Promise<readonly (number | null)[]> = Promise.resolve([]);
  return createStop({
    drainSeconds: config.drainSeconds,
    finishMs: DRAIN_MS + MARGIN_MS,
    startDraining: () => {
      processes.isStopping = true;
      const serving = [...processes.running].filter((one) => one.servedMs() > 0);
      codes = Promise.all(serving.map(async ({ ended }) => (await ended).code));
      for (const one of processes.running) {
        one.stop();
      }
    },
    close: async () => void (await Promise.all([...processes.running].map(({ ended }) => ended))),
    releaseJobs: async () => undefined,
    end: async () => {
      await stopRedis();
      await telemetry.spans?.close();
      if ((await codes).some((code) => code !== 0)) {
        throw new Error('a process did not finish');
      }
    },
    recordEvent: telemetry.recordEvent,
    beforeExit: () => leaveNothing(supervisor),
  });
}

/**
 * Ensures that there is a ring. Processes read it themselves, except one that a command prints: the command runs here alone, and
 * they get it from here.
 */
async function ringForProcesses(config: Config): Promise<Secret<MasterKeyRing> | undefined> {
  const ring = await ensureMasterKey(config);
  if (config.masterKeyCommand === undefined) {
    return undefined;
  }
  // Processes report where that is not possible.
  lockMemory([...ring.expose().keys.values()]);
  return ring;
}

/** Gets the ring again, which may have changed. Without one the processes keep running, and false is returned. */
async function renewRing(config: Config, processes: Supervision): Promise<boolean> {
  try {
    processes.ring = await ringForProcesses(config);
    return true;
  } catch (error) {
    if (!processes.isStopping) {
      const reason = error instanceof ConfigError ? error.message : 'no master key';
      processes.recordEvent('rolling_restart_failed', { reason });
    }
    return false;
  }
}

/**
 * Creates the rolling restart. One that is asked for during another, or before all have started, follows it, since files
 * may have changed again.
 */
function createRestart({ config, processes }: Supervisor, started: Promise<unknown>): () => void {
  let isRunning = false;
  let isWanted = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    await started;
    while (isWanted && !processes.isStopping) {
      isWanted = false;
      if (await renewRing(config, processes)) {
        await replaceAll(processes, DRAIN_MS + MARGIN_MS);
      }
    }
    isRunning = false;
  };
  return () => {
    isWanted = true;
    if (!isRunning) {
      void run();
    }
  };
}

/** Starts the process of a place; resolves with its exit code if it did not start. It has printed the reason. */
async function startOne(processes: Supervision, slot: number, isFirst: boolean): Promise<number | undefined> {
  const started = launch(processes, slot, { isFirst });
  if (started === undefined) {
    return 1;
  }
  if (await started.serves) {
    processes.current[slot] = started;
    return undefined;
  }
  const end = await started.ended;
  if (end.code === null && !processes.isStopping) {
    processes.recordEvent('server_process_down', { slot, pid: started.pid, ...end });
  }
  return end.code ?? 1;
}

/** Starts all processes: the first one alone, because it creates what a vault needs once. */
async function startAll({ config, processes }: Supervisor): Promise<number | undefined> {
  const code = await startOne(processes, 0, true);
  if (code !== undefined || processes.isStopping) {
    return code;
  }
  const others = Array.from({ length: config.processes - 1 }, (_, at) => at + 1);
  const codes = await Promise.all(others.map((slot) => startOne(processes, slot, false)));
  return codes.find((other) => other !== undefined);
}

/** Ends what has started, after another process did not start. */
async function giveUp(supervisor: Supervisor, code: number): Promise<never> {
  const { processes, stopRedis } = supervisor;
  processes.isStopping = true;
  const ends = [...processes.running].map((one) => {
    one.stop();
    return one.ended;
  });
  await Promise.race([Promise.all(ends), Bun.sleep(DRAIN_MS + MARGIN_MS)]);
  await stopRedis();
  leaveNothing(supervisor);
  process.exit(code);
}

/**
 * Runs `config.processes` servers that share the port, and the embedded Redis for them, until a signal ends it. SIGTERM
 * and SIGINT drain all of them; SIGHUP replaces them one by one, or ends them when the terminal that it runs in is closed.
 * A process that ends is replaced. Exits with the code of a process that does not start at first. Rejects with a
 * `ConfigError` when the embedded Redis cannot be started.
 */
export async function supervise(config: Config): Promise<void> {
  const telemetry = openTelemetry(config);
  const { metrics, recordEvent } = telemetry;
  // Its own event loop delays no request.
  metrics.close();
  // Before Redis writes to the data folder: a folder with data and without its key is an error.
  const ring = await ringForProcesses(config);
  const { stop: stopRedis } = await openTarget(config, recordEvent);
  const { effective, port, admin } = config;
  const ports = {
    ...(effective['VAULT_PORT'] === '0' ? { VAULT_PORT: String(port) } : {}),
    ...(effective['VAULT_ADMIN_PORT'] === '0' ? { VAULT_ADMIN_PORT: String(admin?.port) } : {}),
  };
  const processes = createSupervision({ ports, ring, metrics, recordEvent });
  const supervisor: Supervisor = { config, telemetry, processes, stopRedis };
  const started = startAll(supervisor);
  const stop = createSupervisorStop(supervisor);
  const restart = createRestart(supervisor, started);
  const isInTerminal = process.stdout.isTTY === true;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => stop(signal));
  }
  process.on('SIGHUP', () => (isInTerminal ? stop('SIGHUP') : restart()));
  const code = await started;
  if (code !== undefined && !processes.isStopping) {
    await giveUp(supervisor, code);
  }
}
