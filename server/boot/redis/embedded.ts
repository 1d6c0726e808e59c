import { ConfigError } from '../../config/reader.ts';
import { type RedisPeer, reachRedis } from './peer.ts';
import {
  findRedisBinary,
  LOCK_HELD_EXIT_CODE,
  logTail,
  preparePlace,
  type RedisPlace,
  redisCommand,
  spawnRedis,
} from './process.ts';

const POLL_MS = 20;
/** The time limit of a starting Redis that accepts no connection. */
const SILENCE_MS_MAX = 30_000;
/** The time limit of a stopping Redis to sync its file; after it Redis is killed. */
const STOP_MS_MAX = 10_000;
/** The first and the longest pause before a failed Redis is started again. */
const BACK_OFF_MS_MIN = 100;
const BACK_OFF_MS_MAX = 5_000;

/** A Redis that answers commands; without `child` it was started by another server. */
interface Running {
  readonly peer: RedisPeer;
  readonly child: Bun.Subprocess | undefined;
}

/** Terminates a child, by force if it does not stop in time. */
async function endChild(child: Bun.Subprocess): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  await child.exited;
  clearTimeout(timer);
}

/** The default Redis: one redis-server per data folder, shared by all servers on that folder. */
export class EmbeddedRedis {
  private readonly stopped = Promise.withResolvers<void>();
  private isStopping = false;
  private supervision: Promise<void> | undefined;
  private running: Running | undefined;

  private constructor(
    private readonly binary: string,
    private readonly place: RedisPlace,
    private readonly log: (message: string) => void,
  ) {}

  /**
   * Starts the redis-server of a data folder, or adopts one that already runs there, and resolves when it answers
   * commands. It listens on a Unix socket of mode 700 only, and syncs its append-only file at every write, so no
   * acknowledged write is lost; it never evicts. After an unexpected end it is restarted, with growing pauses. Rejects
   * with a `ConfigError` when no redis-server is installed, when it cannot start (with the last lines of its log), or
   * when other users can access the folder.
   */
  static async start(
    dataDir: string,
    log: (message: string) => void,
    configuredBinary?: string,
  ): Promise<EmbeddedRedis> {
    const binary = findRedisBinary(configuredBinary);
    if (binary === undefined) {
      throw new ConfigError(
        'VAULT_REDIS_URL',
        'is not set and there is no redis-server here: install Redis 7 or newer, or set VAULT_REDIS_BIN',
      );
    }
    const redis = new EmbeddedRedis(binary, preparePlace(dataDir), log);
    redis.running = await redis.acquire();
    redis.supervision = redis.supervise();
    return redis;
  }

  get socketPath(): string {
    return this.place.socketPath;
  }

  get pid(): number {
    return this.running?.peer.pid ?? 0;
  }

  /** True if another server started it; this server then never stops it. */
  get adopted(): boolean {
    return this.running?.child === undefined;
  }

  /** Stops a Redis that this server started, after it has synced its file; an adopted one keeps running. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.stopped.resolve();
    await this.supervision;
    this.running?.peer.close();
    if (this.running?.child !== undefined) {
      await endChild(this.running.child);
    }
  }

  private async supervise(): Promise<void> {
    for (;;) {
      await Promise.race([this.running?.child?.exited ?? this.running?.peer.closed, this.stopped.promise]);
      if (this.isStopping) {
        return;
      }
      this.log('redis-server ended unexpectedly');
      await this.recover();
    }
  }

  private async recover(): Promise<void> {
    for (let pause = BACK_OFF_MS_MIN; !this.isStopping; pause = Math.min(2 * pause, BACK_OFF_MS_MAX)) {
      await Promise.race([Bun.sleep(pause), this.stopped.promise]);
      const next = await this.acquire().catch((error: unknown) => this.log(String(error)));
      if (next) {
        this.running = next;
        this.log(
          next.child === undefined ? 'now sharing the Redis of another server' : 'redis-server runs again',
        );
        return;
      }
    }
  }

  /** Finds or starts the Redis of the folder, as soon as no ending Redis has its lock; undefined once this is stopping. */
  private async acquire(): Promise<Running | undefined> {
    const end = Date.now() + SILENCE_MS_MAX;
    while (!this.isStopping) {
      const peer = await this.reachReady();
      const running = peer === undefined ? await this.launch() : { peer, child: undefined };
      if (running !== undefined) {
        return running;
      }
      if (Date.now() > end) {
        throw new ConfigError('VAULT_DATA_DIR', 'is locked by another redis-server, which does not answer');
      }
      await Bun.sleep(POLL_MS);
    }
    return undefined;
  }

  /** Connects to a running Redis, and waits without a limit while it loads its data. Undefined if none listens. */
  private async reachReady(): Promise<RedisPeer | undefined> {
    for (;;) {
      const peer = await reachRedis(this.socketPath);
      if (peer === undefined || !peer.loading) {
        return peer;
      }
      peer.close();
      if (this.isStopping) {
        return undefined;
      }
      await Bun.sleep(POLL_MS);
    }
  }

  /** Starts a Redis; undefined if another one has the lock. */
  private async launch(): Promise<Running | undefined> {
    const { binary, place } = this;
    const child = spawnRedis(redisCommand(binary, place), place);
    const peer = await this.untilAnswers(child);
    if (peer !== undefined) {
      return { peer, child };
    }
    await endChild(child);
    if (this.isStopping || child.exitCode === LOCK_HELD_EXIT_CODE) {
      return undefined;
    }
    throw new ConfigError('redis-server', `did not start: ${logTail(place)}`);
  }

  /** Waits until the child answers commands. Undefined if it ends, or accepts no connection for `SILENCE_MS_MAX`. */
  private async untilAnswers(child: Bun.Subprocess): Promise<RedisPeer | undefined> {
    let heardAt = Date.now();
    while (child.exitCode === null && child.signalCode === null && Date.now() - heardAt < SILENCE_MS_MAX) {
      const peer = await reachRedis(this.socketPath);
      if (peer?.pid === child.pid && !peer.loading) {
        return peer;
      }
      if (peer !== undefined) {
        heardAt = Date.now();
      }
      peer?.close();
      if (this.isStopping) {
        return undefined;
      }
      await Bun.sleep(POLL_MS);
    }
    return undefined;
  }
}
