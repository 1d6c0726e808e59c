import { rmSync } from 'node:fs';
import Redis from 'ioredis';
import type { RedisLink } from '../../server/redis/client.ts';
import type { RedisTarget } from '../../server/redis/connect.ts';
import { startTestCluster } from './cluster.ts';
import { openAllNodes } from './cluster-client.ts';
import { launchLimitedRedis } from './redis-limited.ts';
import { launchRedis, newRedisFolder, sendCommand, socketIn } from './redis-process.ts';

/** With `VAULT_TEST_REDIS=cluster` all tests that ask for a Redis get a Cluster of three masters. */
const ON_CLUSTER = process.env['VAULT_TEST_REDIS'] === 'cluster';

/** With `VAULT_TEST_REDIS=limited` the vault comes as the user that docs/guides/production.md limits it to. */
const IS_LIMITED = process.env['VAULT_TEST_REDIS'] === 'limited';

/** A redis-server of the tests' own, on a unix socket in a temporary folder, or a Cluster in the place of it. */
export interface TestRedis {
  /** Where the vault finds it. */
  readonly target: RedisTarget;
  /** The socket of a single Redis; its folder holds all files in any case. */
  readonly socketPath: string;
  /** Empties it; call it before each test that uses it. */
  flush(): Promise<void>;
  /** Ends it and removes its folder. The shared one stays until all tests are done. */
  stop(): Promise<void>;
}

/** A target, or what has the socket of a single Redis. */
export type RedisPlace = Pick<TestRedis, 'socketPath'> & Partial<Pick<TestRedis, 'target'>>;

/** Where the vault finds a Redis that may be one of the server's own making, which has a socket alone. */
export function targetOf({ target, socketPath }: RedisPlace): RedisTarget {
  return target ?? { kind: 'socket', path: socketPath };
}

/** A client past the vault; on a Cluster it asks every node where one alone would know a part. */
export function openRaw(place: RedisPlace): Redis {
  const target = targetOf(place);
  const raw = target.kind === 'cluster' ? openAllNodes(target.urls) : new Redis({ path: place.socketPath });
  // Without a listener the client prints that a Redis went away, which some tests make happen.
  raw.on('error', () => undefined);
  return raw;
}

async function launch(durable: boolean): Promise<TestRedis> {
  if (ON_CLUSTER) {
    return startTestCluster({ durable });
  }
  const folder = newRedisFolder();
  const socketPath = socketIn(folder);
  const { child, target } = IS_LIMITED
    ? await launchLimitedRedis(folder, durable)
    : { child: await launchRedis(folder, durable), target: { kind: 'socket', path: socketPath } as const };
  return {
    target,
    socketPath,
    flush: async () => void (await sendCommand(socketPath, 'FLUSHALL')),
    stop: async () => {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

let shared: Promise<TestRedis> | undefined;

/**
 * The tests' Redis: one per test process, without a file, so that it is fast. With `durable` a Redis of the
 * caller's own that syncs every write, as the server's default does; the caller stops it.
 */
export async function startTestRedis(options: { readonly durable?: boolean } = {}): Promise<TestRedis> {
  if (options.durable === true) {
    return launch(true);
  }
  shared ??= launch(false);
  return { ...(await shared), stop: () => Promise.resolve() };
}

let isTaken = false;

/**
 * A Redis for one vault: the shared one, or another while a vault of this process has that, since a vault starts with an
 * empty one. Its `stop` ends the use.
 */
export async function takeTestRedis(): Promise<TestRedis> {
  if (isTaken) {
    return launch(false);
  }
  isTaken = true;
  const stop = async (): Promise<void> => {
    isTaken = false;
  };
  return { ...(await startTestRedis()), stop };
}

/** Ends the shared Redis; the preload calls it when all tests are done. */
export async function stopSharedRedis(): Promise<void> {
  const redis = await shared;
  shared = undefined;
  await redis?.stop();
}

/** A link that behaves like another, with other methods in the place of some. */
export function linkWith(link: RedisLink, methods: Partial<RedisLink>): RedisLink {
  return Object.assign(Object.create(link), methods);
}
