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

/** The pause between two connection attempts. */
const POLL_MS = 20;
/** How long a starting Redis may accept no connection. */
const SILENCE_MS_MAX = 30_000;
/** How long a stopping Redis may take to sync its file before it is killed. */
const STOP_MS_MAX = 10_000;
/** The first and the longest pause before a failed Redis is started again. */
const BACK_OFF_MS_MIN = 100;
const BACK_OFF_MS_MAX = 5_000;

/** The default Redis: one redis-server per data folder, shared by all servers on that folder. */
export interface EmbeddedRedis {
  readonly socketPath: string;
  readonly pid: number;
  /** Whether another server started it; this server then never stops it. */
  readonly adopted: boolean;
  /** Registers a callback for each unexpected end of Redis, which is then restarted. */
  onExit(callback: () => void): void;
  /** Stops a Redis that this server started, after it has synced its file; an adopted one keeps running. */
  stop(): Promise<void>;
}

interface Options {
  readonly dataDir: string;
  readonly binary?: string | undefined;
  readonly log: (message: string) => void;
}

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

/**
 * Connects to a running Redis. Waits without a limit while it loads its data, because large data takes long.
 * Undefined if none listens, or once `isOver` is true.
 */
async function reachReady(socketPath: string, isOver: () => boolean): Promise<RedisPeer | undefined> {
  for (;;) {
    const peer = await reachRedis(socketPath);
    if (peer === undefined || !peer.loading) {
      return peer;
    }
    peer.close();
    if (isOver()) {
      return undefined;
    }
    await Bun.sleep(POLL_MS);
  }
}

/** Waits until the child answers commands. Undefined if it ends, or accepts no connection for `SILENCE_MS_MAX`. */
async function untilAnswers(
  child: Bun.Subprocess,
  socketPath: string,
  isOver: () => boolean,
): Promise<RedisPeer | undefined> {
  let heardAt = Date.now();
  while (child.exitCode === null && child.signalCode === null && Date.now() - heardAt < SILENCE_MS_MAX) {
    const peer = await reachRedis(socketPath);
    if (peer?.pid === child.pid && !peer.loading) {
      return peer;
    }
    if (peer !== undefined) {
      heardAt = Date.now();
    }
    peer?.close();
    if (isOver()) {
      return undefined;
    }
    await Bun.sleep(POLL_MS);
  }
  return undefined;
}

/**
 * Creates the function that finds or starts the Redis of a folder. It resolves with undefined once `isOver` is true.
 */
function createAcquire(binary: string, place: RedisPlace, isOver: () => boolean) {
  const command = redisCommand(binary, place);

  const launch = async (): Promise<Running | undefined> => {
    const child = spawnRedis(command, place);
    const peer = await untilAnswers(child, place.socketPath, isOver);
    if (peer !== undefined) {
      return { peer, child };
    }
    await endChild(child);
    if (isOver() || child.exitCode === LOCK_HELD_EXIT_CODE) {
      return undefined;
    }
    throw new ConfigError('redis-server', `did not start: ${logTail(place)}`);
  };

  // A Redis of another server has the lock before it answers, and until its process has ended: hence the loop.
  return async (): Promise<Running | undefined> => {
    const end = Date.now() + SILENCE_MS_MAX;
    while (!isOver()) {
      const peer = await reachReady(place.socketPath, isOver);
      const running = peer === undefined ? await launch() : { peer, child: undefined };
      if (running !== undefined) {
        return running;
      }
      if (Date.now() > end) {
        throw new ConfigError('VAULT_DATA_DIR', 'is locked by another redis-server, which does not answer');
      }
      await Bun.sleep(POLL_MS);
    }
    return undefined;
  };
}

/**
 * Starts the redis-server of a data folder, or adopts one that already runs there, and resolves when it answers
 * commands. It listens on a Unix socket of mode 700 only, and syncs its append-only file at every write, so no
 * acknowledged write is lost; it never evicts. After an unexpected end it is restarted, with growing pauses. Rejects
 * with a `ConfigError` when no redis-server is installed, when it cannot start (with the last lines of its log), or
 * when other users can access the folder.
 */
export async function startEmbeddedRedis({ dataDir, binary: asked, log }: Options): Promise<EmbeddedRedis> {
  const binary = findRedisBinary(asked);
  if (binary === undefined) {
    throw new ConfigError(
      'VAULT_REDIS_URL',
      'is not set and there is no redis-server here: install Redis 7 or newer, or set VAULT_REDIS_BIN',
    );
  }
  const place = preparePlace(dataDir);
  const callbacks: Array<() => void> = [];
  const { promise: stopped, resolve: resolveStopped } = Promise.withResolvers<void>();
  let stopping = false;
  const acquire = createAcquire(binary, place, () => stopping);
  const first = await acquire();
  if (first === undefined) {
    throw new ConfigError('redis-server', 'was stopped before it answered');
  }
  let running: Running = first;

  const recover = async (): Promise<void> => {
    for (let pause = BACK_OFF_MS_MIN; !stopping; pause = Math.min(2 * pause, BACK_OFF_MS_MAX)) {
      await Promise.race([Bun.sleep(pause), stopped]);
      const next = await acquire().catch((error: unknown) => log(String(error)));
      if (!next) {
        continue;
      }
      running = next;
      log(next.child === undefined ? 'now sharing the Redis of another server' : 'redis-server runs again');
      return;
    }
  };

  const supervise = async (): Promise<void> => {
    for (;;) {
      await Promise.race([running.child?.exited ?? running.peer.closed, stopped]);
      if (stopping) {
        return;
      }
      log('redis-server ended unexpectedly');
      for (const callback of callbacks) {
        callback();
      }
      await recover();
    }
  };
  const supervision = supervise();

  return {
    socketPath: place.socketPath,
    get pid() {
      return running.peer.pid;
    },
    get adopted() {
      return running.child === undefined;
    },
    onExit: (callback) => void callbacks.push(callback),
    stop: async () => {
      stopping = true;
      resolveStopped();
      await supervision;
      running.peer.close();
      if (running.child !== undefined) {
        await endChild(running.child);
      }
    },
  };
}
