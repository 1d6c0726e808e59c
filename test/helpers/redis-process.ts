/** Processes of redis-server for the tests, and short talks with them. */
import { mkdtempSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reachRedis } from '../../server/boot/redis/peer.ts';
import { findRedisBinary } from '../../server/boot/redis/process.ts';
import { GUARD } from './guard.ts';

const START_MS_MAX = 60_000;

/** Sends one inline command to a Redis on a unix socket and gives its short reply as RESP text. */
export function sendCommand(socketPath: string, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath, () => socket.write(`${command}\r\n`));
    socket.on('error', reject);
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString().trimEnd());
    });
  });
}

/** A folder of its own for what Redis keeps; short, since socket paths are. */
export function newRedisFolder(): string {
  return mkdtempSync(join(tmpdir(), 'cv-redis-'));
}

/** The path of the socket that a Redis in a folder listens on. */
export function socketIn(folder: string): string {
  return join(folder, 's');
}

async function untilReady(child: Bun.Subprocess, socketPath: string): Promise<void> {
  const end = Date.now() + START_MS_MAX;
  while (child.exitCode === null && Date.now() < end) {
    const peer = await reachRedis(socketPath);
    peer?.close();
    if (peer?.loading === false) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('redis-server did not start for the tests');
}

/** Starts a Redis with its files and its socket in a folder; `durable` syncs every write, as the server's default does. */
export async function launchRedis(
  folder: string,
  durable: boolean,
  options: readonly string[] = ['--port', '0'],
): Promise<Bun.Subprocess> {
  const binary = findRedisBinary(process.env['VAULT_REDIS_BIN']);
  if (binary === undefined) {
    throw new Error('No redis-server for the tests: run scripts/redis-vendor.sh');
  }
  const socketPath = socketIn(folder);
  const child = Bun.spawn(
    [
      ...GUARD,
      ...[binary, '--unixsocket', socketPath, '--unixsocketperm', '700', '--dir', folder, '--save', ''],
      ...['--appendonly', durable ? 'yes' : 'no', '--appendfsync', durable ? 'always' : 'no'],
      ...['--maxmemory-policy', 'noeviction', ...options],
    ],
    { stdio: ['ignore', 'ignore', 'ignore'] },
  );
  child.unref();
  await untilReady(child, socketPath);
  return child;
}
