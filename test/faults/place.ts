/** A server and its Redis as processes on a shim, with a way between them that can fail. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Redis from 'ioredis';
import { findRedisBinary } from '../../server/boot/redis/process.ts';
import { type AccountClient, createAccountClient, type Handle } from '../helpers/clients.ts';
import { freePort } from '../helpers/free-port.ts';
import { GUARD } from '../helpers/guard.ts';
import {
  handleOf,
  OWNER,
  portOf,
  runVaultCommand,
  type Server,
  spawnServer,
} from '../helpers/server-process.ts';
import { type Link, openLink } from './link.ts';
import { openShim, type Shim } from './shim.ts';

const REQUEST_MS_MAX = 15_000;
const POLL_MS = 10;

export interface Place {
  readonly client: AccountClient;
  /** Requests wait for a server, and fail when that one dies. */
  readonly handle: Handle;
  /** The Redis, past the server and the way to it. */
  readonly raw: Redis;
  readonly link: Link;
  readonly shim: Shim;
  /** Starts what does not run: the Redis, then the server. Resolves when the server answers. */
  readonly start: () => Promise<void>;
  readonly killServer: () => Promise<void>;
  readonly killRedis: () => Promise<void>;
  readonly signalRedis: (signal: NodeJS.Signals) => void;
  /** Kills both at once, and takes away what was never synced; gives the bytes lost. */
  readonly cutPower: () => Promise<number>;
  /** What `vault verify` says of it; its first word is `ok` where it found nothing. */
  readonly verify: () => Promise<string>;
  /** Megabytes that the server has of the memory. */
  readonly memoryMb: () => number;
  readonly printed: () => string;
  readonly remove: () => Promise<void>;
}

function isRunning(child: Bun.Subprocess | undefined): boolean {
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

async function end(child: Bun.Subprocess | undefined): Promise<void> {
  child?.kill('SIGKILL');
  await child?.exited;
}

function redisArguments(folder: string, port: number, fsync: string): string[] {
  return [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
    ...['--appendonly', 'yes', '--appendfsync', fsync, '--maxmemory-policy', 'noeviction'],
  ];
}

/** Makes a place with data of its own; nothing runs yet. */
export async function newPlace(library: string, fsync: 'always' | 'everysec' = 'always'): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'cv-faults-'));
  const redisFolder = join(folder, 'redis');
  mkdirSync(redisFolder);
  const shim = openShim(library, folder);
  const port = freePort();
  const link = await openLink(port);
  const binary = findRedisBinary() ?? '';
  const settings = {
    ...shim.env,
    VAULT_REDIS_URL: `redis://127.0.0.1:${link.port}`,
    VAULT_MASTER_KEY: randomBytes(32).toString('base64'),
    VAULT_DATA_DIR: join(folder, 'data'),
  };
  const printed: string[] = [];
  let [redis, server]: [Bun.Subprocess | undefined, Server | undefined] = [undefined, undefined];
  let up = Promise.withResolvers<number>();
  const raw = new Redis({
    port,
    host: '127.0.0.1',
    retryStrategy: () => POLL_MS,
    maxRetriesPerRequest: null,
  });
  raw.on('error', () => undefined);

  const startRedis = async (): Promise<void> => {
    redis = Bun.spawn([...GUARD, binary, ...redisArguments(redisFolder, port, fsync)], {
      env: { PATH: process.env['PATH'], ...shim.env },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    while ((await raw.ping().catch(() => '')) !== 'PONG') {
      await Bun.sleep(POLL_MS);
    }
  };
  const startServer = async (): Promise<void> => {
    server = spawnServer(settings, folder);
    up.resolve(await portOf(server, printed));
  };
  const handle = handleOf(() => up.promise, REQUEST_MS_MAX);
  const killServer = async (): Promise<void> => {
    up = Promise.withResolvers();
    await end(server);
  };
  const killRedis = (): Promise<void> => end(redis);
  return {
    client: createAccountClient(handle, OWNER),
    ...{ handle, raw, link, shim, killServer, killRedis },
    start: async () => {
      if (!isRunning(redis)) {
        await startRedis();
      }
      if (!isRunning(server)) {
        await startServer();
      }
    },
    signalRedis: (signal) => redis?.kill(signal),
    cutPower: async () => {
      await Promise.all([killRedis(), killServer()]);
      return shim.cutPower(redisFolder);
    },
    verify: async () => {
      const { code, out, err } = await runVaultCommand(['verify'], settings, folder);
      return code === 0 ? `ok ${out}` : `failed ${out}${err}`;
    },
    memoryMb: () => {
      const status =
        server === undefined ? '' : Bun.spawnSync(['cat', `/proc/${server.pid}/statm`]).stdout.toString();
      return (Number(status.split(' ')[1] ?? 0) * 4_096) / 1e6;
    },
    printed: () => printed.join(''),
    remove: async () => {
      redis?.kill('SIGCONT');
      await Promise.all([killServer(), killRedis()]);
      raw.disconnect();
      link.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
