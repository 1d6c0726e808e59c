import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, realpathSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { processEnv } from '../../config/config.ts';
import { ensurePrivateFolder } from '../../config/folder.ts';

/** The longest path that a unix socket's address holds on Linux (`sun_path` without its end mark). */
const SOCKET_PATH_BYTES_MAX = 107;
const LOG_BYTES_MAX = 1_048_576;

/** What flock ends with when another process holds the lock. */
export const LOCK_HELD_EXIT_CODE = 75;

/** Where the default Redis of one data folder keeps its things. */
export interface RedisPlace {
  readonly folder: string;
  readonly socketPath: string;
  readonly logPath: string;
  readonly lockPath: string;
}

// A data folder deep down leaves no room for a socket beside its data. The name depends on nothing but that
// folder, so that a second server on it finds the same socket.
function shortSocketPath(folder: string): string {
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  const runtimeFolder = `/tmp/cardvault-${name}`;
  ensurePrivateFolder(runtimeFolder, { setting: runtimeFolder, followLink: false });
  return join(runtimeFolder, 'redis.sock');
}

/** Makes the private folders (mode 0700) and says what lies where. */
export function preparePlace(dataDir: string): RedisPlace {
  ensurePrivateFolder(dataDir, { setting: 'VAULT_DATA_DIR' });
  ensurePrivateFolder(join(dataDir, 'redis'), { setting: 'VAULT_DATA_DIR' });
  const folder = realpathSync(join(dataDir, 'redis'));
  const beside = join(folder, 'redis.sock');
  const socketPath = Buffer.byteLength(beside) > SOCKET_PATH_BYTES_MAX ? shortSocketPath(folder) : beside;
  return { folder, socketPath, logPath: join(folder, 'redis.log'), lockPath: join(folder, 'lock') };
}

/**
 * The first redis-server there is: the one that was asked for, the project's own copy (`.vendor/redis`, see
 * scripts/redis-vendor.sh), then `redis-server` or `valkey-server` on PATH.
 */
export function findRedisBinary(asked?: string): string | undefined {
  if (asked !== undefined) {
    return asked;
  }
  const vendored = join(import.meta.dir, '../../..', '.vendor', 'redis', 'redis-server');
  const path = processEnv()['PATH'] ?? '';
  return (
    Bun.which(vendored) ??
    Bun.which('redis-server', { PATH: path }) ??
    Bun.which('valkey-server', { PATH: path }) ??
    undefined
  );
}

/** A tool of util-linux; the tools of the same names in BusyBox lack the options needed here. */
function utilLinux(name: string): string | undefined {
  const path = Bun.which(name, { PATH: processEnv()['PATH'] ?? '' });
  if (path === null) {
    return undefined;
  }
  return Bun.spawnSync([path, '--version']).stdout.includes('util-linux') ? path : undefined;
}

/**
 * The command line of the default Redis. Each word before the binary ends by turning itself into the next
 * (exec), so the process started is the Redis in the end:
 * - `setpriv --pdeathsig TERM`: the kernel ends Redis when this server dies, however it dies.
 * - `flock`: the lock is on a descriptor that Redis inherits, so it is held exactly as long as Redis (or a
 *   rewrite of its) lives. A second Redis on the folder would take over the socket and mix up the file.
 * `aof-load-truncated yes` is Redis' default: a torn last write was never acknowledged, as every write is
 * synced before its reply.
 */
export function redisCommand(binary: string, place: RedisPlace): string[] {
  const setpriv = utilLinux('setpriv');
  const flock = utilLinux('flock');
  return [
    ...(setpriv === undefined ? [] : [setpriv, '--pdeathsig', 'TERM']),
    ...(flock === undefined
      ? []
      : [
          flock,
          '--nonblock',
          '--no-fork',
          '--conflict-exit-code',
          String(LOCK_HELD_EXIT_CODE),
          place.lockPath,
        ]),
    binary,
    ...['--port', '0', '--unixsocket', place.socketPath, '--unixsocketperm', '700', '--dir', place.folder],
    ...['--daemonize', 'no', '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
    ...['--maxmemory-policy', 'noeviction'],
  ];
}

function openLog(place: RedisPlace): number {
  const size = statSync(place.logPath, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_BYTES_MAX) {
    renameSync(place.logPath, `${place.logPath}.1`);
  }
  return openSync(place.logPath, 'a', 0o600);
}

/**
 * Starts Redis as a child. It leads a session of its own, so that Ctrl-C in a terminal reaches this server
 * alone, which then drains before it stops Redis. Its environment holds none of the settings' secrets.
 */
export function spawnRedis(command: string[], place: RedisPlace): Bun.Subprocess {
  const log = openLog(place);
  const { PATH, LD_LIBRARY_PATH, TZ } = processEnv();
  try {
    const child = Bun.spawn(command, {
      stdio: ['ignore', log, log],
      detached: true,
      cwd: place.folder,
      env: { PATH, LD_LIBRARY_PATH, TZ },
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/** The last lines of Redis' log, for the error of a start that failed. */
export function logTail(place: RedisPlace): string {
  return readFileSync(place.logPath, 'utf8').trimEnd().split('\n').slice(-3).join(' | ');
}
