/** A vault as its operator starts it, with the Redis of its own, which can be killed at any moment. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Redis from 'ioredis';
import { preparePlace } from '../../server/boot/redis/process.ts';
import { type AccountClient, createAccountClient } from '../helpers/clients.ts';
import {
  handleOf,
  OWNER,
  portOf,
  type Server,
  type Settings,
  spawnServer,
} from '../helpers/server-process.ts';

/** Pause in ms before the supervisor restarts a server that has not come up. */
const RESTART_MS = 250;
const STARTS_MAX = 10;
const POLL_MS = 20;
/** What a killed server sent before is read within this time: then the kill is noted, so that it counts as later. */
const READ_MS = 50;
/** Commands wait for as long as there is no Redis. */
const PATIENT = { retryStrategy: () => POLL_MS, maxRetriesPerRequest: null } as const;

/** One vault over all the lives of its server. */
export interface MortalVault {
  /** The first account; its requests wait for a server, and fail when that one dies. */
  readonly client: AccountClient;
  /** The vault's Redis past the vault. */
  readonly raw: Redis;
  readonly socketPath: string;
  /** Where all its data is. */
  readonly dataDir: string;
  /** All that its servers have printed. */
  readonly printed: () => string;
  /** When servers were killed, in ms of `performance.now`. */
  readonly kills: readonly number[];
  /** When the Redis alone was killed. */
  readonly redisKills: readonly number[];
  /** Starts that ended before the server was ready. */
  readonly failedStarts: () => number;
  /** Starts a server, again when it ends before it is ready. */
  readonly start: () => Promise<void>;
  /** Ends the server as a power cut would; its Redis too, at the same moment, if `withRedis`. */
  readonly kill: (withRedis?: boolean) => Promise<void>;
  /** Ends the Redis under the running server, which starts another. */
  readonly killRedis: () => Promise<void>;
  /** Asks the server to end; gives its exit code. */
  readonly terminate: () => Promise<number>;
  /** Ends everything and removes the data. */
  readonly remove: () => Promise<void>;
}

const alive = new Set<number>();
const folders = new Set<string>();
function end(pid: number): void {
  alive.delete(pid);
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself: the kernel ends the Redis of a server that is gone.
  }
}
function remove(folder: string): void {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true });
}
process.once('exit', () => {
  alive.forEach(end);
  folders.forEach(remove);
});

function settingsOf(folder: string, settings: Settings): Settings {
  return {
    VAULT_DATA_DIR: join(folder, 'data'),
    VAULT_PROXY_ALLOW: '127.0.0.0/8',
    VAULT_PROXY_CA_FILE: join(folder, 'ca.pem'),
    ...settings,
  };
}

/** The Redis of a vault, whichever process it is just now. */
function createRedisProcess(raw: Redis) {
  let pid = 0;
  const note = async (): Promise<void> => {
    const found = Number(/^process_id:(\d+)/m.exec(await raw.info('server'))?.[1]);
    alive.delete(pid);
    pid = found;
    alive.add(pid);
  };
  return {
    note,
    // Number 0, before any has run, would be all processes of the tests.
    end: () => (pid === 0 ? undefined : end(pid)),
    /** Ends it, and waits until another one answers. */
    async replace(): Promise<void> {
      const killed = pid;
      end(killed);
      while (pid === killed) {
        await Bun.sleep(POLL_MS);
        await note();
      }
    },
  };
}

/** The server of a vault, one process after the other. */
function createServerProcess(folder: string, settings: Settings) {
  const printed: string[] = [];
  let child: Server | undefined;
  let up = Promise.withResolvers<number>();
  return {
    printed,
    /** The port, as soon as a server is up. */
    port: () => up.promise,
    isUp: (port: number) => up.resolve(port),
    launch(): Promise<number> {
      child = spawnServer(settingsOf(folder, settings), folder);
      alive.add(child.pid);
      return portOf(child, printed);
    },
    isRunning: () => child?.exitCode === null && child.signalCode === null,
    async signal(signal: NodeJS.Signals): Promise<number> {
      const ending = child;
      up = Promise.withResolvers();
      ending?.kill(signal);
      const code = (await ending?.exited) ?? 0;
      alive.delete(ending?.pid ?? 0);
      return code;
    },
  };
}

type ServerProcess = ReturnType<typeof createServerProcess>;
type RedisProcess = ReturnType<typeof createRedisProcess>;

/** Starts a server as a supervisor does; gives how many starts have failed before. */
async function startServer(server: ServerProcess, redis: RedisProcess): Promise<number> {
  for (let failed = 0; ; failed++) {
    try {
      const port = await server.launch();
      await redis.note();
      server.isUp(port);
      return failed;
    } catch (error) {
      if (failed === STARTS_MAX) {
        throw new Error(`The server does not start; it printed:\n${server.printed.join('')}`, {
          cause: error,
        });
      }
      await Bun.sleep(RESTART_MS);
    }
  }
}

/**
 * A vault with data of its own, not started yet; it trusts third parties whose authority is `caPem`. `settings` are
 * added to those that every such vault has.
 */
export function newMortalVault(caPem: string, settings: Settings = {}): MortalVault {
  const folder = mkdtempSync(join(tmpdir(), 'cv-mortal-'));
  folders.add(folder);
  writeFileSync(join(folder, 'ca.pem'), caPem);
  const dataDir = join(folder, 'data');
  const { socketPath } = preparePlace(dataDir);
  const raw = new Redis({ path: socketPath, lazyConnect: true, ...PATIENT });
  raw.on('error', () => undefined);
  const [server, redis] = [createServerProcess(folder, settings), createRedisProcess(raw)];
  const kills: number[] = [];
  const redisKills: number[] = [];
  let failedStarts = 0;
  const kill: MortalVault['kill'] = async (withRedis = false) => {
    if (withRedis) {
      redis.end();
    }
    await server.signal('SIGKILL');
    await Bun.sleep(READ_MS);
    kills.push(performance.now());
  };
  return {
    client: createAccountClient(handleOf(server.port), OWNER),
    ...{ raw, socketPath, dataDir, kills, redisKills, kill },
    printed: () => server.printed.join(''),
    failedStarts: () => failedStarts,
    start: async () => {
      failedStarts += await startServer(server, redis);
    },
    killRedis: async () => {
      redisKills.push(performance.now());
      await redis.replace();
    },
    terminate: () => server.signal('SIGTERM'),
    remove: async () => {
      if (server.isRunning()) {
        await kill(true);
      }
      redis.end();
      raw.disconnect();
      remove(folder);
    },
  };
}
