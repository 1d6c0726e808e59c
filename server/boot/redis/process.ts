import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, realpathSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { processEnv } from '../../config/config.ts';
import { ensurePrivateFolder } from '../../config/folder.ts';

/** The longest path of a Unix socket on Linux: `sun_path` without its terminating zero, unix(7). */
const SOCKET_PATH_BYTES_MAX = 107;
/** At a start, a larger log is renamed, so two files of about this size exist at most. */
const LOG_BYTES_MAX = 1_048_576;

/** The exit code of flock when another process has the lock. */
export const LOCK_HELD_EXIT_CODE = 75;

export interface RedisPlace {
  readonly folder: string;
  readonly socketPath: string;
  readonly logPath: string;
  readonly lockPath: string;
}

// For a data folder whose path is too long for a socket in it. The short path is derived from the folder only, so that a
// second server on this folder finds the same socket.
function shortSocketPath(folder: string): string {
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  const runtimeFolder = `/tmp/cardvault-${name}`;
  ensurePrivateFolder(runtimeFolder, { setting: runtimeFolder, followLink: false });
  return join(runtimeFolder, 'redis.sock');
}

/** Creates the private folders (mode 0700) of the embedded Redis. Throws a `ConfigError` if other users can access them. */
export function preparePlace(dataDir: string): RedisPlace {
  ensurePrivateFolder(dataDir, { setting: 'VAULT_DATA_DIR' });
  ensurePrivateFolder(join(dataDir, 'redis'), { setting: 'VAULT_DATA_DIR' });
  const folder = realpathSync(join(dataDir, 'redis'));
  const beside = join(folder, 'redis.sock');
  const socketPath = Buffer.byteLength(beside) > SOCKET_PATH_BYTES_MAX ? shortSocketPath(folder) : beside;
  return { folder, socketPath, logPath: join(folder, 'redis.log'), lockPath: join(folder, 'lock') };
}

/** The configured redis-server, the vendored one, or redis-server or valkey-server on PATH; undefined if there is none. */
export function findRedisBinary(configured?: string): string | undefined {
  const vendored = join(import.meta.dir, '../../..', '.vendor', 'redis', 'redis-server');
  const path = processEnv()['PATH'] ?? '';
  return (
    configured ??
    Bun.which(vendored) ??
    Bun.which('redis-server', { PATH: path }) ??
    Bun.which('valkey-server', { PATH: path }) ??
    undefined
  );
}

/** The path of a tool of util-linux. BusyBox has tools of the same names without the options that are needed here. */
function utilLinux(name: string): string | undefined {
  const path = Bun.which(name, { PATH: processEnv()['PATH'] ?? '' });
  return path !== null && Bun.spawnSync([path, '--version']).stdout.includes('util-linux') ? path : undefined;
}

/**
 * The command line of the embedded Redis. Each program replaces itself by the next one (exec), so the child process
 * is Redis itself:
 * - `setpriv --pdeathsig TERM`: the kernel terminates Redis when this server dies for any reason.
 * - `flock`: Redis inherits the locked descriptor, so the lock lasts exactly as long as Redis and its rewrite child.
 *   A second Redis on the folder would take over the socket and corrupt the file.
 * `aof-load-truncated yes` is the default of Redis: an incomplete last write was never acknowledged, because every
 * write is synced before its reply.
 */
export function redisCommand(binary: string, place: RedisPlace): string[] {
  const setpriv = utilLinux('setpriv');
  const flock = utilLinux('flock');
  return [
    ...(setpriv === undefined ? [] : [setpriv, '--pdeathsig', 'TERM']),
    ...(flock === undefined
      ? []
      : [flock, '--nonblock', '--no-fork', '--conflict-exit-code', `${LOCK_HELD_EXIT_CODE}`, place.lockPath]),
    binary,
    ...['--port', '0', '--unixsocket', place.socketPath, '--unixsocketperm', '700', '--dir', place.folder],
    ...['--daemonize', 'no', '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
    // A rewrite makes syncs slow while it lasts: not while the file is small enough to be read in a second or two.
    ...['--auto-aof-rewrite-min-size', '256mb'],
    // Encrypted data cannot be compressed.
    ...['--maxmemory-policy', 'noeviction', '--rdbcompression', 'no'],
  ];
}

function openLog(place: RedisPlace): number {
  const size = statSync(place.logPath, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_BYTES_MAX) {
    renameSync(place.logPath, `${place.logPath}.1`);
  }
  return openSync(place.logPath, 'a', 0o600);
}

/** Starts Redis as the leader of a session, so that Ctrl-C reaches only this server, and without secrets of the settings. */
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

/** The last three lines of the log of Redis, for the error of a failed start. */
export function logTail(place: RedisPlace): string {
  return readFileSync(place.logPath, 'utf8').trimEnd().split('\n').slice(-3).join(' | ');
}
