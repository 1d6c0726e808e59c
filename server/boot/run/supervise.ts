import type { Config } from '../../config/config.ts';
import { ensureMasterKey } from '../../config/master-key.ts';
import { ConfigError } from '../../config/reader.ts';
import type { MasterKeyRing } from '../../config/ring.ts';
import { lockMemory } from '../../core/process-memory.ts';
import type { Secret } from '../../core/secret.ts';
import { Supervision } from '../processes/supervision.ts';
import { openTarget } from '../redis/target.ts';
import { openTelemetry, type Telemetry } from '../telemetry.ts';
import { createStop, DRAIN_MS, type Stop } from './stop.ts';

/** The time limit of the graceful shutdown of a process, with a margin. */
const PROCESS_STOP_MS = DRAIN_MS + 5_000;

/** Ensures that there is a ring, and returns one that a command has printed: it runs once, for all processes. */
async function ringForProcesses(config: Config): Promise<Secret<MasterKeyRing> | undefined> {
  const ring = await ensureMasterKey(config);
  if (config.masterKeyCommand === undefined) {
    return undefined;
  }
  // A process reports where that is not possible.
  lockMemory([...ring.expose().keys.values()]);
  return ring;
}

/** The processes of a server, with their Redis, from the start to the end. */
class Supervisor {
  private isRestarting = false;
  private isRestartWanted = false;

  constructor(
    private readonly config: Config,
    private readonly telemetry: Telemetry,
    private readonly processes: Supervision,
    private readonly stopRedis: () => Promise<void>,
  ) {}

  /** Creates the graceful shutdown: all processes drain at the same time, then the embedded Redis ends. */
  createStop(): Stop {
    const { processes, telemetry } = this;
    let codes: Promise<readonly (number | null)[]> = Promise.resolve([]);
    return createStop({
      drainSeconds: this.config.drainSeconds,
      finishMs: PROCESS_STOP_MS,
      startDraining: () => {
        processes.isStopping = true;
        const serving = [...processes.running].filter((one) => one.servedMs > 0);
        codes = Promise.all(serving.map(async ({ ended }) => (await ended).code));
        void processes.stopAll();
      },
      close: async () => void (await Promise.all([...processes.running].map(({ ended }) => ended))),
      releaseJobs: async () => undefined,
      end: async () => {
        await this.stopRedis();
        await telemetry.spans?.close();
        if ((await codes).some((code) => code !== 0)) {
          throw new Error('a process did not finish');
        }
      },
      recordEvent: telemetry.recordEvent,
      beforeExit: () => this.killAll(),
    });
  }

  /** Replaces all processes. A request during a restart leads to a further one, since files may have changed again. */
  async restart(started: Promise<unknown>): Promise<void> {
    this.isRestartWanted = true;
    if (this.isRestarting) {
      return;
    }
    this.isRestarting = true;
    await started;
    while (this.isRestartWanted && !this.processes.isStopping) {
      this.isRestartWanted = false;
      if (await this.renewRing()) {
        await this.processes.replaceAll(PROCESS_STOP_MS);
      }
    }
    this.isRestarting = false;
  }

  /** Ends all processes, after one did not start. */
  async giveUp(code: number): Promise<never> {
    this.processes.isStopping = true;
    await Promise.race([this.processes.stopAll(), Bun.sleep(PROCESS_STOP_MS)]);
    await this.stopRedis();
    this.killAll();
    process.exit(code);
  }

  /** Reads the ring again, which may have changed. Without one the processes keep running, and false is returned. */
  private async renewRing(): Promise<boolean> {
    try {
      this.processes.ring = await ringForProcesses(this.config);
      return true;
    } catch (error) {
      if (!this.processes.isStopping) {
        const reason = error instanceof ConfigError ? error.message : 'no master key';
        this.telemetry.recordEvent('rolling_restart_failed', { reason });
      }
      return false;
    }
  }

  /** Kills the remaining processes and writes the log; called before every exit. */
  private killAll(): void {
    for (const one of this.processes.running) {
      one.kill();
    }
    this.telemetry.log.flush();
  }
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
  // The event loop of the supervisor delays no request.
  metrics.close();
  // Before Redis writes to the data folder: a folder with data and without its key is an error.
  const ring = await ringForProcesses(config);
  const { stop: stopRedis } = await openTarget(config, recordEvent);
  const { effective, port, admin } = config;
  const ports = {
    ...(effective['VAULT_PORT'] === '0' ? { VAULT_PORT: String(port) } : {}),
    ...(effective['VAULT_ADMIN_PORT'] === '0' ? { VAULT_ADMIN_PORT: String(admin?.port) } : {}),
  };
  const processes = new Supervision(ports, ring, () => metrics.collect(), recordEvent);
  const supervisor = new Supervisor(config, telemetry, processes, stopRedis);
  const started = processes.start(config.processes);
  const stop = supervisor.createStop();
  const isInTerminal = process.stdout.isTTY === true;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => stop(signal));
  }
  process.on('SIGHUP', () => (isInTerminal ? stop('SIGHUP') : void supervisor.restart(started)));
  const code = await started;
  if (code !== undefined && !processes.isStopping) {
    await supervisor.giveUp(code);
  }
}
