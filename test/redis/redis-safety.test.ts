import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reachRedis } from '../../server/boot/redis/peer.ts';
import { findRedisBinary } from '../../server/boot/redis/process.ts';
import { openRedis } from '../../server/redis/open.ts';
import { describeUnsafe, findUnsafe } from '../../server/redis/safety.ts';
import { freePort } from '../helpers/free-port.ts';
import { sendCommand } from '../helpers/redis-process.ts';

const root = mkdtempSync(join(tmpdir(), 'cv-safety-'));
const children: Bun.Subprocess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    await child.exited;
  }
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const SAFE = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];

/** A redis-server with these options besides; gives the path of its socket. */
async function start(options: readonly string[], port = '0'): Promise<string> {
  const dir = mkdtempSync(join(root, 'r-'));
  const socketPath = join(dir, 's');
  const command = [findRedisBinary() ?? '', '--port', port, '--unixsocket', socketPath, '--dir', dir];
  const child = Bun.spawn([...command, '--save', '', ...options], { stdio: ['ignore', 'ignore', 'ignore'] });
  children.push(child);
  for (;;) {
    const peer = await reachRedis(socketPath);
    peer?.close();
    if (peer?.loading === false) {
      return socketPath;
    }
    if (child.exitCode !== null) {
      throw new Error('redis-server did not start');
    }
    await Bun.sleep(5);
  }
}

async function unsafeOf(path: string): Promise<readonly string[]> {
  const link = await openRedis({ kind: 'socket', path }, { replicas: 0 });
  try {
    return await findUnsafe(link);
  } finally {
    await link.close();
  }
}

describe('what could lose acknowledged writes is found', () => {
  test.each([
    ['nothing in a safe Redis', [], []],
    ['no append-only file', ['--appendonly', 'no'], ['appendonly']],
    ['a reply before the disk', ['--appendfsync', 'everysec'], ['appendfsync']],
    ['no sync at all', ['--appendfsync', 'no'], ['appendfsync']],
    ['eviction', ['--maxmemory-policy', 'allkeys-lru'], ['eviction']],
    ['eviction of what expires', ['--maxmemory-policy', 'volatile-ttl'], ['eviction']],
    ['a replica', ['--replicaof', '127.0.0.1 1'], ['replica']],
    ['all at once', ['--appendonly', 'no', '--appendfsync', 'everysec'], ['appendonly', 'appendfsync']],
    ['what CONFIG hides and INFO does not tell', ['--rename-command', 'CONFIG', ''], ['appendfsync']],
    [
      'what INFO tells where CONFIG is hidden',
      ['--rename-command', 'CONFIG', '', '--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru'],
      ['appendonly', 'appendfsync', 'eviction'],
    ],
  ])('%s', async (_name, options, expected) => {
    expect(await unsafeOf(await start([...SAFE, ...options]))).toEqual(expected);
  });

  test('where the user may not call CONFIG', async () => {
    const path = await start([...SAFE, '--maxmemory-policy', 'allkeys-lru']);
    await sendCommand(path, 'ACL SETUSER default -config');
    expect(await unsafeOf(path)).toEqual(['appendfsync', 'eviction']);
  });

  test('every one is told in one line, with the name that allows it', () => {
    for (const name of ['appendonly', 'appendfsync', 'eviction', 'replica'] as const) {
      expect(describeUnsafe(name)).toMatch(new RegExp(`^[^\\n]+"${name}" to VAULT_REDIS_ALLOW_UNSAFE\\.$`));
    }
  });
});

test('a Cluster is as unsafe as its worst node, of which it may have replicas', async () => {
  const ports = [freePort(), freePort(), freePort()];
  const busPorts = ports.map(freePort);
  const paths: string[] = [];
  for (const [index, port] of ports.entries()) {
    const options = [
      ...['--cluster-enabled', 'yes', '--cluster-port', String(busPorts[index])],
      ...['--cluster-node-timeout', '1000'],
      ...['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'],
      ...['--appendfsync', index === 0 ? 'always' : 'everysec'],
    ];
    paths.push(await start([...SAFE, ...options], String(port)));
  }
  const [first = '', second = '', third = ''] = paths;
  await sendCommand(first, 'CLUSTER ADDSLOTSRANGE 0 8000');
  await sendCommand(second, 'CLUSTER ADDSLOTSRANGE 8001 16383');
  await sendCommand(second, 'CONFIG SET appendfsync always');
  for (const [index, port] of ports.entries()) {
    if (index > 0) {
      await sendCommand(first, `CLUSTER MEET 127.0.0.1 ${port} ${busPorts[index]}`);
    }
  }
  const until = async (path: string, command: string, wanted: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = wanted.exec(await sendCommand(path, command));
      if (found !== null) {
        return found;
      }
      await Bun.sleep(20);
    }
  };
  const master = (await sendCommand(first, 'CLUSTER MYID')).split('\r\n')[1] ?? '';
  await until(third, 'CLUSTER NODES', new RegExp(master));
  await until(third, `CLUSTER REPLICATE ${master}`, /^\+OK/);
  for (const path of paths) {
    await until(path, 'CLUSTER INFO', /cluster_state:ok/);
    await until(path, 'CLUSTER NODES', /slave /);
  }
  // A replica is told of once it has begun to copy.
  await until(first, 'CLUSTER SLOTS', new RegExp(`:${ports[2]}\\r`));
  const urls = ports.slice(0, 1).map((port) => `redis://127.0.0.1:${port}`);
  const link = await openRedis({ kind: 'cluster', urls }, { replicas: 0 });
  try {
    expect(link.nodes()).toHaveLength(3);
    expect(await findUnsafe(link)).toEqual(['appendfsync']);
    await sendCommand(third, 'CONFIG SET appendfsync always');
    expect(await findUnsafe(link)).toEqual([]);
    await sendCommand(second, 'CONFIG SET maxmemory-policy allkeys-lfu');
    expect(await findUnsafe(link)).toEqual(['eviction']);
  } finally {
    await link.close();
  }
}, 60_000);
