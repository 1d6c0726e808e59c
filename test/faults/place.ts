/** A server and its Redis as processes on a shim, with a way between them that can fail. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Redis from 'ioredis';
import { findRedisBinary } from '../../server/boot/redis/process.ts';
import { bindParts } from '../helpers/bind.ts';
import { createAccountClient } from '../helpers/clients.ts';
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

/** The processes of a place, and where they keep their data. */
interface Parts {
  readonly folder: string;
  readonly redisFolder: string;
  readonly port: number;
  readonly fsync: string;
  readonly settings: Record<string, string>;
  readonly printed: string[];
  readonly shim: Shim;
  readonly link: Link;
  /** The Redis, past the server and the way to it. */
  readonly raw: Redis;
  redis: Bun.Subprocess | undefined;
  server: Server | undefined;
  /** The port of the server that runs, or of the next one. */
  up: PromiseWithResolvers<number>;
}

/** A place that tests let fail. */
export type FaultPlace = Awaited<ReturnType<typeof newPlace>>;

/** Makes a place with data of its own; nothing runs yet. */
export async function newPlace(library: string, fsync: 'always' | 'everysec' = 'always') {
  const folder = mkdtempSync(join(tmpdir(), 'cv-faults-'));
  const redisFolder = join(folder, 'redis');
  mkdirSync(redisFolder);
  const shim = openShim(library, folder);
  const port = freePort();
  const link = await openLink(port);
  const settings = {
    ...shim.env,
    VAULT_REDIS_URL: `redis://127.0.0.1:${link.port}`,
    VAULT_MASTER_KEY: randomBytes(32).toString('base64'),
    VAULT_DATA_DIR: join(folder, 'data'),
  };
  const retry = { retryStrategy: () => POLL_MS, maxRetriesPerRequest: null };
  const raw = new Redis({ port, host: '127.0.0.1', ...retry });
  raw.on('error', () => undefined);
  const own = { folder, redisFolder, port, fsync, settings, printed: [], shim, link, raw };
  const parts: Parts = { ...own, redis: undefined, server: undefined, up: Promise.withResolvers() };
  /** Requests wait for a server, and fail when that one dies. */
  const handle = handleOf(() => parts.up.promise, REQUEST_MS_MAX);
  const client = createAccountClient(handle, OWNER);
  return { client, handle, raw, link, shim, ...bindParts(parts, ACTIONS) };
}

const ACTIONS = {
  start,
  killServer,
  killRedis,
  signalRedis,
  cutPower,
  verify,
  memoryMb,
  remove,
  printed: ({ printed }: Parts): string => printed.join(''),
};

/** Starts what does not run: the Redis, then the server. Resolves when the server answers. */
async function start(parts: Parts): Promise<void> {
  if (!isRunning(parts.redis)) {
    await startRedis(parts);
  }
  if (!isRunning(parts.server)) {
    parts.server = spawnServer(parts.settings, parts.folder);
    parts.up.resolve(await portOf(parts.server, parts.printed));
  }
}

async function startRedis(parts: Parts): Promise<void> {
  const { redisFolder, port, fsync, shim, raw } = parts;
  const command = [...GUARD, findRedisBinary() ?? '', ...redisArguments(redisFolder, port, fsync)];
  parts.redis = Bun.spawn(command, {
    env: { PATH: process.env['PATH'], ...shim.env },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  while ((await raw.ping().catch(() => '')) !== 'PONG') {
    await Bun.sleep(POLL_MS);
  }
}

async function killServer(parts: Parts): Promise<void> {
  parts.up = Promise.withResolvers();
  await end(parts.server);
}

async function killRedis(parts: Parts): Promise<void> {
  await end(parts.redis);
}

function signalRedis({ redis }: Parts, signal: NodeJS.Signals): void {
  redis?.kill(signal);
}

/** Kills both at once, and takes away what was never synced; gives the bytes lost. */
async function cutPower(parts: Parts): Promise<number> {
  await Promise.all([killRedis(parts), killServer(parts)]);
  return parts.shim.cutPower(parts.redisFolder);
}

/** What `vault verify` says of it; its first word is `ok` where it found nothing. */
async function verify({ settings, folder }: Parts): Promise<string> {
  const { code, out, err } = await runVaultCommand(['verify'], settings, folder);
  return code === 0 ? `ok ${out}` : `failed ${out}${err}`;
}

/** Megabytes that the server has of the memory. */
function memoryMb({ server }: Parts): number {
  const status = server && Bun.spawnSync(['cat', `/proc/${server.pid}/statm`]).stdout.toString();
  return (Number(status?.split(' ')[1] ?? 0) * 4_096) / 1e6;
}

async function remove(parts: Parts): Promise<void> {
  parts.redis?.kill('SIGCONT');
  await Promise.all([killServer(parts), killRedis(parts)]);
  parts.raw.disconnect();
  parts.link.stop();
  rmSync(parts.folder, { recursive: true, force: true });
}
