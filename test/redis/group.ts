/** A primary, its replica and a Sentinel on loopback. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Redis from 'ioredis';
import { findRedisBinary } from '../../server/boot/redis/process.ts';
import type { RedisTarget } from '../../server/redis/connect.ts';
import { freePort } from '../helpers/free-port.ts';
import { GUARD } from '../helpers/guard.ts';
import { launchRedis, newRedisFolder, sendCommand, socketIn } from '../helpers/redis-process.ts';
import { issueServer, type TestFiles, tlsOptions } from './tls-server.ts';

/** The name under which the Sentinel watches. */
export const GROUP_NAME = 'vault';

/** A server of the group, over all the lives of its process. */
export interface GroupServer {
  readonly port: number;
  /** One inline command of its administrator, its short reply as RESP text. */
  command(text: string): Promise<string>;
  /** SIGKILL ends it, SIGSTOP holds it, SIGCONT lets it go on. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  /** Starts it again on its files and its port. */
  start(): Promise<void>;
}

/** A group that is up: the replica has all that the primary has, and the Sentinel knows both. */
export interface TestGroup {
  readonly primary: GroupServer;
  readonly replica: GroupServer;
  readonly sentinelPort: number;
  readonly target: Extract<RedisTarget, { kind: 'sentinel' }>;
  /** The address for the settings. */
  readonly url: string;
  /** The port of the primary as the Sentinel says it. */
  primaryPort(): Promise<number>;
  stop(): Promise<void>;
}

/** What guards a group; nothing where it is left out. */
export interface GroupGuards {
  /** The password of the servers. */
  readonly servers?: string;
  /** The password of the Sentinel. */
  readonly sentinel?: string;
  /** The authority of all three, which then speak TLS alone. */
  readonly tls?: TestFiles;
}

const READY_MS_MAX = 60_000;

/** Waits until something is so. */
export async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + READY_MS_MAX;
  while (!(await isSo().catch(() => false))) {
    if (Date.now() > end) {
      throw new Error(`The servers of the tests did not come to this: ${what}`);
    }
    await Bun.sleep(20);
  }
}

/** The options of a port, and with TLS of what this process says to the others. */
async function portOptions(
  port: number,
  tls: TestFiles | undefined,
): Promise<Readonly<Record<string, string>>> {
  const options = tls && tlsOptions(tls, port, await issueServer(tls));
  return options === undefined
    ? { port: `${port}` }
    : { ...options, 'tls-replication': 'yes', 'tls-auth-clients': 'no' };
}

async function startServer(
  folder: string,
  { tls }: GroupGuards,
  options: readonly string[],
): Promise<GroupServer> {
  const port = freePort();
  mkdirSync(folder);
  const own = Object.entries(await portOptions(port, tls)).flatMap(([name, value]) => [`--${name}`, value]);
  const all = [...own, '--bind', '127.0.0.1', '--repl-diskless-sync-delay', '0', ...options];
  let child = await launchRedis(folder, true, all);
  return {
    port,
    command: (text) => sendCommand(socketIn(folder), text),
    async signal(signal) {
      child.kill(signal);
      if (signal === 'SIGKILL') {
        await child.exited;
      }
    },
    async start() {
      child = await launchRedis(folder, true, all);
    },
  };
}

/** Users by file, so that the tests' own socket needs no password. */
function usersOf(folder: string, password: string | undefined): readonly string[] {
  if (password === undefined) {
    return [];
  }
  const file = join(folder, 'users.acl');
  writeFileSync(file, `user default on nopass ~* &* +@all\nuser vault on >${password} ~{* &* +@all\n`);
  return ['--aclfile', file];
}

async function startSentinel(folder: string, primaryPort: number, { sentinel: password, tls }: GroupGuards) {
  const port = freePort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    ...Object.entries(await portOptions(port, tls)).map(([name, value]) => `${name} ${value}`),
    ...['bind 127.0.0.1', `dir ${folder}`],
    ...[`sentinel monitor ${GROUP_NAME} 127.0.0.1 ${primaryPort} 1`],
    ...[`sentinel down-after-milliseconds ${GROUP_NAME} 1000`],
    ...[`sentinel failover-timeout ${GROUP_NAME} 5000`],
    ...(password === undefined ? [] : [`requirepass ${password}`]),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const binary = findRedisBinary(process.env['VAULT_REDIS_BIN']) ?? '';
  const child = Bun.spawn([...GUARD, binary, file, '--sentinel'], { stdio: ['ignore', 'ignore', 'ignore'] });
  child.unref();
  return { port, child };
}

/** What the Sentinel says of the group. */
async function stateOf(
  port: number,
  { sentinel: password, tls }: GroupGuards,
): Promise<ReadonlyMap<string, string>> {
  const access = { ...(password && { password }), ...(tls && { tls: { ca: tls.authority.pem } }) };
  const sentinel = new Redis({ host: '127.0.0.1', port, ...access, lazyConnect: true, retryStrategy: null });
  sentinel.on('error', () => undefined);
  try {
    await sentinel.connect();
    const words = (await sentinel.call('SENTINEL', 'MASTER', GROUP_NAME)) as string[];
    return new Map(words.flatMap((word, n) => (n % 2 === 0 ? [[word, words[n + 1] ?? '']] : [])));
  } finally {
    sentinel.disconnect();
  }
}

/** Starts the group. With a password the user `vault` of the servers has it. */
export async function startTestGroup(guards: GroupGuards = {}): Promise<TestGroup> {
  const folder = newRedisFolder();
  const users = usersOf(folder, guards.servers);
  const primary = await startServer(join(folder, 'one'), guards, users);
  const replica = await startServer(join(folder, 'two'), guards, [
    ...users,
    '--replicaof',
    `127.0.0.1 ${primary.port}`,
  ]);
  const sentinel = await startSentinel(folder, primary.port, guards);
  // The primary waits for acknowledgements of a replica that it knows as online, a second after the link at most.
  await until(
    async () => /state=online,offset=[1-9]/.test(await primary.command('INFO replication')),
    'a replica',
  );
  const state = () => stateOf(sentinel.port, guards);
  await until(async () => (await state()).get('num-slaves') === '1', 'a Sentinel that knows the replica');
  const access = guards.servers === undefined ? '' : `vault:${guards.servers}@`;
  const query = guards.sentinel === undefined ? '' : `?sentinel_password=${guards.sentinel}`;
  const noUser = { username: '', password: '' };
  return {
    primary,
    replica,
    sentinelPort: sentinel.port,
    target: {
      ...{ kind: 'sentinel', name: GROUP_NAME, database: 0, isTls: guards.tls !== undefined },
      tls: guards.tls && { ca: guards.tls.authority.pem },
      sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
      credentials: guards.servers === undefined ? noUser : { username: 'vault', password: guards.servers },
      sentinelCredentials:
        guards.sentinel === undefined ? undefined : { ...noUser, password: guards.sentinel },
    },
    url: `redis${guards.tls ? 's' : ''}+sentinel://${access}127.0.0.1:${sentinel.port}/${GROUP_NAME}${query}`,
    primaryPort: async () => Number((await state()).get('port')),
    async stop() {
      sentinel.child.kill('SIGKILL');
      await sentinel.child.exited;
      await Promise.all([primary, replica].map(({ signal }) => signal('SIGKILL')));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
