/** A server and its Redis as processes on a shim, with a way between them that can fail. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Redis from 'ioredis';
import { findRedisBinary } from '../../server/embedded-redis-process.ts';
import { freePort } from '../guides/server.ts';
import { type AccountClient, createAccountClient, type Handle } from '../helpers/clients.ts';
import { portOf } from '../helpers/server-port.ts';
import { type Link, openLink } from './link.ts';
import { openShim, type Shim } from './shim.ts';

const MAIN = join(import.meta.dir, '../../server/main.ts');
const CLI = join(import.meta.dir, '../../server/cli.ts');
const OWNER = { name: 'owner', password: 'a password for this place only', aid: '' };
/** The kernel ends a process with this one, also when that is killed. */
const GUARD = Bun.which('setpriv') === null ? [] : ['setpriv', '--pdeathsig', 'KILL'];
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

type Child = Bun.Subprocess<'ignore', 'pipe', 'pipe'>;

const isRunning = (child: Bun.Subprocess | undefined): boolean =>
  child !== undefined && child.exitCode === null && child.signalCode === null;

const end = async (child: Bun.Subprocess | undefined): Promise<void> => {
  child?.kill('SIGKILL');
  await child?.exited;
};

const redisArguments = (folder: string, port: number, fsync: string): string[] => [
  ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
  ...['--appendonly', 'yes', '--appendfsync', fsync, '--maxmemory-policy', 'noeviction'],
];

/** Makes a place with data of its own; nothing runs yet. */
export const newPlace = async (library: string, fsync: 'always' | 'everysec' = 'always'): Promise<Place> => {
  const folder = mkdtempSync(join(tmpdir(), 'cv-faults-'));
  const redisFolder = join(folder, 'redis');
  mkdirSync(redisFolder);
  const shim = openShim(library, folder);
  const port = freePort();
  const link = await openLink(port);
  const binary = findRedisBinary() ?? '';
  const { PATH, HOME } = process.env;
  const settings = {
    ...{ PATH, HOME, ...shim.env },
    VAULT_REDIS_URL: `redis://127.0.0.1:${link.port}`,
    VAULT_MASTER_KEY: randomBytes(32).toString('base64'),
    ...{ VAULT_PORT: '0', VAULT_WORKERS: '1', VAULT_ARGON2: 'm=19456,t=2,p=1' },
    ...{ VAULT_DATA_DIR: join(folder, 'data'), VAULT_WARM_UNLOCK_SECONDS: '300' },
    ...{ VAULT_BOOTSTRAP_USER: OWNER.name, VAULT_BOOTSTRAP_PASSWORD: OWNER.password },
    VAULT_BOOTSTRAP_UNMASKED: 'true',
  };
  const printed: string[] = [];
  let [redis, server]: [Bun.Subprocess | undefined, Child | undefined] = [undefined, undefined];
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
      env: { PATH, HOME, ...shim.env },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    while ((await raw.ping().catch(() => '')) !== 'PONG') {
      await Bun.sleep(POLL_MS);
    }
  };
  const startServer = async (): Promise<void> => {
    server = Bun.spawn([...GUARD, process.execPath, MAIN], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: folder,
      env: settings,
    });
    up.resolve(await portOf(server, printed));
  };
  const handle: Handle = async ({ url, method, headers, body }) => {
    const here = `http://127.0.0.1:${await up.promise}`;
    const signal = AbortSignal.timeout(REQUEST_MS_MAX);
    return fetch(url.replace('http://localhost', here), { method, headers, body, signal });
  };
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
      const child = Bun.spawn([process.execPath, CLI, 'verify'], {
        cwd: folder,
        env: settings,
        stderr: 'pipe',
      });
      const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return (await child.exited) === 0 ? `ok ${out}` : `failed ${out}${err}`;
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
};
