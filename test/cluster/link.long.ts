import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { InstallationStore } from '../../server/installation/store.ts';
import type { RedisLink } from '../../server/redis/client.ts';
import { openRedis } from '../../server/redis/open.ts';
import { parseReply } from '../../server/redis/resp.ts';
import { findUnsafe } from '../../server/redis/safety.ts';
import { type ClusterNode, startTestCluster, type TestCluster } from '../helpers/cluster.ts';

const AWAY = { code: 'store_unavailable' };

let cluster: TestCluster;
let link: RedisLink;
/** A key of each master, in their order. */
let keys: string[];

async function keyOf(master: ClusterNode): Promise<string> {
  for (let n = 0; ; n++) {
    if ((await cluster.masterOf(`{key-${n}}`)) === master) {
      return `{key-${n}}`;
    }
  }
}

beforeAll(async () => {
  cluster = await startTestCluster({ replicas: true });
  link = await openRedis(cluster.target, { replicas: 0 });
  keys = await Promise.all(cluster.masters.map(keyOf));
}, 60_000);
beforeEach(() => cluster.flush());
afterAll(async () => {
  await link.close();
  await cluster.stop();
});

test('the commands of one turn go to their nodes without a redirection', async () => {
  const names = Array.from({ length: 60 }, (_, n) => `{spread-${n}}`);
  for (const { command } of cluster.masters) {
    await command('CONFIG RESETSTAT');
  }
  await Promise.all(names.map((name) => link.write('SET', [name, '1'])));
  await Promise.all(names.map((name) => link.command('GET', [name])));
  for (const { command } of cluster.masters) {
    expect(await command('INFO errorstats')).not.toContain('errorstat_');
  }
});

test('commands that are read together are answered in their order by the node of their key', async () => {
  await Promise.all(keys.map((key, i) => link.write('HSET', [key, 'f', Buffer.of(0xff, 0x30 + i)])));
  const read = await Promise.all(
    keys.map((key) => {
      const commands = [
        ['HMGET', key, 'f', 'none'],
        ['HGET', key, 'none'],
      ];
      return link.readTogether(commands, 1_000);
    }),
  );
  for (const [i, replies] of read.entries()) {
    const [[first, second], third] = parseReply(replies ?? Buffer.of()) as [unknown[], unknown];
    expect(first).toEqual(Buffer.of(0xff, 0x30 + i));
    expect([second, third]).toEqual([null, null]);
  }
  expect(await link.readTogether([['HGET', keys[0] ?? '', 'f']], 9)).toBeUndefined();
});

test('a write whose connection breaks before the answer fails, and is not sent a second time', async () => {
  const [key = ''] = keys;
  await link.write('INCR', [key]);
  const [master] = cluster.masters;
  // From here on the node does what it is sent, and answers nothing.
  const silent = link.nodes().map((node) => node.command('CLIENT', ['REPLY', 'OFF']).catch(() => undefined));
  const write = link.write('INCR', [key]);
  const outcome = expect(write).rejects.toMatchObject(AWAY);
  while (!(await master?.command(`GET ${key}`))?.endsWith('2')) {
    // Not there yet.
  }
  for (const { command } of [...cluster.masters, ...cluster.replicas]) {
    await command('CLIENT KILL TYPE normal SKIPME yes');
  }
  await outcome;
  await Promise.all(silent);
  while (!link.isConnected()) {
    await Bun.sleep(5);
  }
  expect(await link.command('GET', [key])).toEqual(Buffer.from('2'));
});

describe('replicas that must have a write', () => {
  let waiting: RedisLink;
  beforeAll(async () => {
    waiting = await openRedis(cluster.target, { replicas: 1 });
  });
  afterEach(() => cluster.replicas[0]?.signal('SIGCONT'));
  afterAll(() => waiting.close());

  const write = (key: string): Promise<string> =>
    waiting.write('SET', [key, '1']).then(
      () => 'ok',
      (error: { readonly code: string }) => error.code,
    );

  test('are those of the node that has the key: one that is away holds up no other node', async () => {
    expect(await Promise.all(keys.map(write))).toEqual(['ok', 'ok', 'ok']);
    await cluster.replicas[0]?.signal('SIGSTOP');
    for (let round = 0; round < 5; round++) {
      expect(await Promise.all(keys.map(write))).toEqual(['store_unavailable', 'ok', 'ok']);
    }
    // Reads do not wait for those who write.
    let written = 0;
    const writes = Promise.all(
      Array.from({ length: 20 }, () =>
        write(keys[0] ?? '').finally(() => {
          written += 1;
        }),
      ),
    );
    expect(await waiting.command('GET', [keys[0] ?? ''])).toEqual(Buffer.from('1'));
    expect(written).toBe(0);
    expect(new Set(await writes)).toEqual(new Set(['store_unavailable']));
    await cluster.replicas[0]?.signal('SIGCONT');
    while ((await write(keys[0] ?? '')) !== 'ok') {
      // It has not caught up yet.
    }
    expect(await Promise.all(keys.map(write))).toEqual(['ok', 'ok', 'ok']);
  }, 60_000);
});

describe('what production checks', () => {
  test('is every node of the Cluster, a replica too, since it may be promoted', async () => {
    expect(await findUnsafe(link)).toEqual([]);
    await cluster.masters[2]?.command('CONFIG SET appendfsync everysec');
    expect(await findUnsafe(link)).toEqual(['appendfsync']);
    await cluster.replicas[1]?.command('CONFIG SET maxmemory-policy allkeys-lru');
    expect(await findUnsafe(link)).toEqual(['appendfsync', 'eviction']);
    await cluster.masters[2]?.command('CONFIG SET appendfsync always');
    await cluster.replicas[1]?.command('CONFIG SET maxmemory-policy noeviction');
    expect(await findUnsafe(link)).toEqual([]);
  });

  test('is done though a replica is away', async () => {
    await cluster.replicas[2]?.signal('SIGKILL');
    expect(await findUnsafe(link)).toEqual([]);
    await cluster.replicas[2]?.start();
    await cluster.untilOk();
  }, 60_000);
});

test('readiness asks the other nodes when the one of its own write is away', async () => {
  const master = await cluster.masterOf('{vault}');
  await new InstallationStore(link).probe();
  await master.signal('SIGSTOP');
  await new InstallationStore(link).probe();
  for (const { signal } of cluster.masters) {
    await signal('SIGSTOP');
  }
  await expect(new InstallationStore(link).probe()).rejects.toMatchObject(AWAY);
  for (const { signal } of cluster.masters) {
    await signal('SIGCONT');
  }
}, 60_000);
