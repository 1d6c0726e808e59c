/** A Redis that others run: with TLS, behind Sentinels, or as a Cluster of which one address is known. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { checkSafety } from '../../server/boot/redis/target.ts';
import { loadConfig } from '../../server/config/config.ts';
import type { RedisTarget } from '../../server/redis/connect.ts';
import { findRedis, openRedis } from '../../server/redis/open.ts';
import { checkRequirements } from '../../server/redis/requirements.ts';
import { startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { launchLimitedRedis } from '../helpers/redis-limited.ts';
import { newRedisFolder, sendCommand, socketIn } from '../helpers/redis-process.ts';
import { startTestGroup, type TestGroup, until } from './group.ts';
import { newFiles, startTlsRedis, type TestFiles } from './tls-server.ts';

const ALONE = { replicas: 0 } as const;

/** What a connection to this Redis says of a write and a read, or the reason why there is none. */
async function tryOut(target: RedisTarget, replicas = 0): Promise<string> {
  try {
    const link = await openRedis(target, { replicas });
    try {
      await checkRequirements(link);
      await link.write('SET', ['{tried}', 'it']);
      return String(await link.command('GET', ['{tried}']));
    } finally {
      await link.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : 'no error';
  }
}

describe('TLS with a private authority', () => {
  let files: TestFiles;
  let server: Awaited<ReturnType<typeof startTlsRedis>>;
  beforeAll(async () => {
    files = await newFiles();
    server = await startTlsRedis(files, { wantsClient: true });
  });
  afterAll(async () => {
    await server.stop();
    files.remove();
  });

  test('takes the files of the settings', async () => {
    const { certPem, keyPem } = await files.authority.issue({ use: 'clientAuth' });
    const tls = { ca: files.authority.pem, cert: certPem, key: keyPem };
    expect(await tryOut({ kind: 'url', url: server.url, tls })).toBe('it');
  });
});

describe('Sentinels', () => {
  let group: TestGroup;
  beforeAll(async () => {
    group = await startTestGroup({ servers: 'of-the-servers', sentinel: 'of-the-sentinel' });
  }, 60_000);
  afterAll(() => group.stop());

  test('lead to the primary, whose replica has what was acknowledged', async () => {
    expect(await tryOut(group.target, 1)).toBe('it');
    expect(await group.replica.command('GET {tried}')).toEndWith('it');
  });

  test('lead there from the address of the settings', async () => {
    const { redis } = loadConfig({ VAULT_REDIS_URL: group.url });
    if (redis.kind !== 'sentinel') {
      throw new Error('this is an address of Sentinels');
    }
    expect(await tryOut({ kind: 'sentinel', ...redis.group.expose() })).toBe('it');
    expect(redis.shown).not.toContain('of-the');
  });

  test('a replica by its own address is refused, wherever it is not allowed by name', async () => {
    const url = `redis://vault:of-the-servers@127.0.0.1:${group.replica.port}`;
    const { redis } = await findRedis({ kind: 'url', url }, ALONE);
    const check = (settings: Record<string, string>) =>
      checkSafety(redis, loadConfig(settings), () => undefined);
    try {
      await expect(check({})).rejects.toThrow(/^This Redis is a replica,.* must name its primary\./);
      expect(await check({ VAULT_REDIS_ALLOW_UNSAFE: 'replica' })).toEqual(['replica']);
    } finally {
      await redis.close();
    }
  });
});

test('Sentinels with TLS lead to a primary with TLS, whose authority must be known', async () => {
  const files = await newFiles();
  const group = await startTestGroup({ servers: 'of-the-servers', tls: files });
  try {
    expect(await tryOut(group.target, 1)).toBe('it');
    expect(await tryOut({ ...group.target, tls: undefined })).toContain(
      'check addresses, TLS and certificates',
    );
  } finally {
    await group.stop();
    files.remove();
  }
}, 60_000);

describe('one address of a Cluster', () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startTestCluster();
  }, 60_000);
  afterAll(() => cluster.stop());

  test('opens all of it', async () => {
    const [url = ''] = cluster.target.urls;
    const { redis, target } = await findRedis({ kind: 'url', url }, ALONE);
    expect(redis.isCluster).toBe(true);
    expect(target).toMatchObject({ kind: 'cluster', urls: [url] });
    expect(redis.nodes()).toHaveLength(3);
    await checkRequirements(redis);
    await redis.close();
  });

  test('opens it with TLS and a client certificate, which all nodes are shown', async () => {
    const files = await newFiles();
    const node = await startTlsRedis(files, { wantsClient: true, isCluster: true });
    const { certPem, keyPem } = await files.authority.issue({ use: 'clientAuth' });
    const tls = { ca: files.authority.pem, cert: certPem, key: keyPem };
    try {
      await node.command('CLUSTER ADDSLOTSRANGE 0 16383');
      const isServing = async () => (await node.command('CLUSTER INFO')).includes('cluster_state:ok');
      await until(isServing, 'a Cluster that serves');
      const { redis } = await findRedis({ kind: 'url', url: node.url, tls }, ALONE);
      expect(redis.isCluster).toBe(true);
      expect(String(await redis.write('SET', ['{tried}', 'it']))).toBe('OK');
      await redis.close();
    } finally {
      await node.stop();
      files.remove();
    }
  });
});

describe('one server with users', () => {
  const folder = newRedisFolder();
  let limited: Awaited<ReturnType<typeof launchLimitedRedis>>;
  beforeAll(async () => {
    limited = await launchLimitedRedis(folder, true);
  });
  afterAll(async () => {
    limited.child.kill('SIGKILL');
    await limited.child.exited;
    rmSync(folder, { recursive: true, force: true });
  });

  test('gives the documented user what a vault needs', async () => {
    expect(await tryOut(limited.target)).toBe('it');
  });

  test('is not asked while it is a replica', async () => {
    const link = await openRedis(limited.target, ALONE);
    const attempt = (sent: Promise<unknown>): Promise<string> =>
      sent.then(String, (error: { readonly code: string }) => error.code);
    expect(await attempt(link.write('SET', ['{moved}', '1']))).toBe('OK');
    await sendCommand(socketIn(folder), 'REPLICAOF 127.0.0.1 1');
    expect(await attempt(link.write('SET', ['{moved}', '2']))).toBe('store_unavailable');
    // It would read, and what it reads would be old: here for about ten attempts to connect.
    const readings: string[] = [];
    for (let n = 0; n < 50; n++) {
      readings.push(await attempt(link.command('GET', ['{moved}'])));
      await Bun.sleep(20);
    }
    expect(new Set(readings)).toEqual(new Set(['store_unavailable']));
    await sendCommand(socketIn(folder), 'REPLICAOF NO ONE');
    await until(async () => (await attempt(link.write('SET', ['{moved}', '3']))) === 'OK', 'a primary');
    await link.close();
  });

  test('tells a user without INFO what is missing', async () => {
    await sendCommand(socketIn(folder), 'ACL SETUSER less reset on >less ~{* &* +@all -info');
    if (limited.target.kind !== 'url') {
      throw new Error('the limited Redis is reached by its URL');
    }
    const url = limited.target.url.replace(/\/\/[^@]+@/, '//less:less@');
    expect(await tryOut({ kind: 'url', url })).toBe('Redis does not let its user run the command info.');
  });
});
