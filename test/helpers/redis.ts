import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reachRedis } from '../../server/embedded-redis-peer.ts';
import { findRedisBinary } from '../../server/embedded-redis-process.ts';

const START_MS_MAX = 10_000;

/** A redis-server of the tests' own, on a unix socket in a temporary folder. */
export interface TestRedis {
  readonly socketPath: string;
  readonly pid: number;
  /** Empties it; call it before each test that uses it. */
  flush(): Promise<void>;
  /** Ends it and removes its folder. The shared one stays until all tests are done. */
  stop(): Promise<void>;
}

/** Sends one inline command to a Redis on a unix socket and gives its short reply as RESP text. */
export const sendCommand = (socketPath: string, command: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(socketPath, () => socket.write(`${command}\r\n`));
    socket.on('error', reject);
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString().trimEnd());
    });
  });

const untilReady = async (child: Bun.Subprocess, socketPath: string): Promise<void> => {
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
};

const launch = async (durable: boolean): Promise<TestRedis> => {
  const binary = findRedisBinary();
  if (binary === undefined) {
    throw new Error('No redis-server for the tests: run scripts/redis-vendor.sh');
  }
  const folder = mkdtempSync(join(tmpdir(), 'cv-redis-'));
  const socketPath = join(folder, 's');
  // The kernel ends it with this process, also when that is killed.
  const guard = Bun.which('setpriv') === null ? [] : ['setpriv', '--pdeathsig', 'KILL'];
  const child = Bun.spawn(
    [
      ...guard,
      binary,
      ...[
        '--port',
        '0',
        '--unixsocket',
        socketPath,
        '--unixsocketperm',
        '700',
        '--dir',
        folder,
        '--save',
        '',
      ],
      ...['--appendonly', durable ? 'yes' : 'no', '--appendfsync', durable ? 'always' : 'no'],
      ...['--maxmemory-policy', 'noeviction'],
    ],
    { stdio: ['ignore', 'ignore', 'ignore'] },
  );
  child.unref();
  await untilReady(child, socketPath);
  return {
    socketPath,
    pid: child.pid,
    flush: async () => void (await sendCommand(socketPath, 'FLUSHALL')),
    stop: async () => {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

let shared: Promise<TestRedis> | undefined;

/**
 * The tests' Redis: one per test process, without a file, so that it is fast. With `durable` a Redis of the
 * caller's own that syncs every write, as the server's default does; the caller stops it.
 */
export const startTestRedis = async (options: { readonly durable?: boolean } = {}): Promise<TestRedis> => {
  if (options.durable === true) {
    return launch(true);
  }
  shared ??= launch(false);
  return { ...(await shared), stop: () => Promise.resolve() };
};

/** Ends the shared Redis; the preload calls it when all tests are done. */
export const stopSharedRedis = async (): Promise<void> => {
  const redis = await shared;
  shared = undefined;
  await redis?.stop();
};
