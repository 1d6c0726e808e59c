/** A Redis Cluster of the tests' own: three masters on loopback, each with a replica if wanted. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisTarget } from '../../server/redis/connect.ts';
import { freePort } from './free-port.ts';
import { launchRedis, newRedisFolder, sendCommand, socketIn } from './redis-process.ts';

const MASTERS = 3;
const SLOTS = 16_384;
const READY_MS_MAX = 60_000;
/** How long a node may be silent until the others vote on it. */
const NODE_TIMEOUT_MS = 1_000;

/** One node of a Cluster, over all the lives of its process. */
export interface ClusterNode {
  readonly port: number;
  readonly busPort: number;
  readonly pid: () => number;
  readonly isRunning: () => boolean;
  readonly id: string;
  /** Slots from the first to the last that it was given as a master at the start; undefined for a replica. */
  readonly slots: readonly [number, number] | undefined;
  /** One inline command, its short reply as RESP text. */
  command(text: string): Promise<string>;
  /** SIGKILL ends it, SIGSTOP holds it, SIGCONT lets it go on. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  /** Starts it again on its files and its port. */
  start(): Promise<void>;
}

/** A Cluster that is up, with all slots served. */
export interface TestCluster {
  readonly target: Extract<RedisTarget, { kind: 'cluster' }>;
  /** No socket of any use: what lies beside it are the folders of the nodes. */
  readonly socketPath: string;
  readonly masters: readonly ClusterNode[];
  /** In the order of the masters that they follow; empty without replicas. */
  readonly replicas: readonly ClusterNode[];
  /** The master that was given the slot of a key at the start. */
  masterOf(key: string): Promise<ClusterNode>;
  /** The replica that a master was given at the start. */
  replicaOf(master: ClusterNode): ClusterNode | undefined;
  /** Resolves when every node that runs says that the Cluster serves all slots. */
  untilOk(): Promise<void>;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + READY_MS_MAX;
  while (!(await isSo().catch(() => false))) {
    if (Date.now() > end) {
      throw new Error(`The Cluster of the tests did not come to this: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function startNode(
  folder: string,
  durable: boolean,
  slots: ClusterNode['slots'],
): Promise<ClusterNode> {
  const [port, busPort] = [freePort(), freePort()];
  mkdirSync(folder);
  const options = [
    ...['--port', port, '--bind', '127.0.0.1', '--cluster-enabled', 'yes', '--cluster-port', busPort],
    ...['--cluster-node-timeout', NODE_TIMEOUT_MS, '--cluster-require-full-coverage', 'no'],
    ...['--cluster-allow-replica-migration', 'no', '--repl-diskless-sync-delay', 0],
  ].map(String);
  let child = await launchRedis(folder, durable, options);
  const command = (text: string): Promise<string> => sendCommand(socketIn(folder), text);
  return {
    port,
    busPort,
    slots,
    pid: () => child.pid,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    id: (await command('CLUSTER MYID')).split('\r\n')[1] ?? '',
    command,
    async signal(signal) {
      child.kill(signal);
      if (signal === 'SIGKILL') {
        await child.exited;
      }
    },
    async start() {
      child = await launchRedis(folder, durable, options);
    },
  };
}

async function isOk({ command }: ClusterNode, masters: number, replicas = 0): Promise<boolean> {
  const [info, known] = [await command('CLUSTER INFO'), await command('CLUSTER NODES')];
  const countOf = (role: RegExp): number => known.match(role)?.length ?? 0;
  return (
    info.includes('cluster_state:ok') &&
    countOf(/\bmaster - .* connected \d/g) === masters &&
    countOf(/\bslave [0-9a-f]{40} .* connected$/gm) === replicas
  );
}

/** Makes masters known to each other, and waits until each says that all slots are served. */
async function unite(masters: readonly ClusterNode[]): Promise<void> {
  const [first] = masters;
  for (const [place, { command, slots }] of masters.entries()) {
    await command(`CLUSTER SET-CONFIG-EPOCH ${place + 1}`);
    await command(`CLUSTER ADDSLOTSRANGE ${slots?.join(' ')}`);
    if (place > 0) {
      await command(`CLUSTER MEET 127.0.0.1 ${first?.port} ${first?.busPort}`);
    }
  }
  for (const master of masters) {
    await until(() => isOk(master, masters.length), 'all slots served');
  }
}

/** Has each replica follow its master, and waits until it has all of it. */
async function follow(masters: readonly ClusterNode[], replicas: readonly ClusterNode[]): Promise<void> {
  const [first] = masters;
  for (const { command } of replicas) {
    await command(`CLUSTER MEET 127.0.0.1 ${first?.port} ${first?.busPort}`);
  }
  for (const [place, { command }] of replicas.entries()) {
    const master = masters[place];
    const isFollowing = async () => (await command(`CLUSTER REPLICATE ${master?.id}`)).startsWith('+OK');
    await until(isFollowing, 'a replica that knows its master');
    await until(async () => /master_link_status:up/.test(await command('INFO replication')), 'a replica');
  }
  for (const node of [...masters, ...replicas]) {
    await until(() => isOk(node, masters.length, replicas.length), 'all nodes known');
  }
}

/** Starts a Cluster; `durable` syncs every write of every node, as production requires. */
export async function startTestCluster(
  options: { readonly durable?: boolean; readonly replicas?: boolean } = {},
): Promise<TestCluster> {
  const { durable = true, replicas: wanted = false } = options;
  const folder = newRedisFolder();
  const step = Math.ceil(SLOTS / MASTERS);
  const places = Array.from({ length: MASTERS }, (_, place) => place);
  const [masters, replicas] = await Promise.all([
    Promise.all(
      places.map((place) =>
        startNode(join(folder, `m${place}`), durable, [
          place * step,
          Math.min((place + 1) * step, SLOTS) - 1,
        ]),
      ),
    ),
    Promise.all(
      wanted ? places.map((place) => startNode(join(folder, `r${place}`), durable, undefined)) : [],
    ),
  ]);
  const nodes = [...masters, ...replicas];
  await unite(masters);
  await follow(masters, replicas);
  return {
    target: { kind: 'cluster', urls: nodes.map(({ port }) => `redis://127.0.0.1:${port}`) },
    socketPath: socketIn(folder),
    masters,
    replicas,
    async masterOf(key) {
      const slot = Number((await masters[0]?.command(`CLUSTER KEYSLOT ${key}`))?.slice(1));
      const master = masters.find(({ slots: [from, to] = [1, 0] }) => from <= slot && slot <= to);
      if (master === undefined) {
        throw new Error('no master has that slot');
      }
      return master;
    },
    replicaOf: (master) => replicas[masters.indexOf(master)],
    async untilOk() {
      const running = nodes.filter(({ isRunning }) => isRunning());
      await Promise.all(
        running.map((node) => until(() => isOk(node, MASTERS, running.length - MASTERS), 'all slots served')),
      );
    },
    async flush() {
      await Promise.all(masters.map(({ command }) => command('FLUSHALL')));
    },
    async stop() {
      await Promise.all(nodes.map(({ signal }) => signal('SIGKILL')));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
