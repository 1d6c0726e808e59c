import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedRedis } from '../server/boot/redis/embedded.ts';
import { reachRedis } from '../server/boot/redis/peer.ts';
import { findRedisBinary, preparePlace } from '../server/boot/redis/process.ts';
import { sendCommand } from './helpers/redis-process.ts';

let dataDir = '';
let open: EmbeddedRedis[] = [];
const logged: string[] = [];

async function start(folder = dataDir): Promise<EmbeddedRedis> {
  const redis = await EmbeddedRedis.start(folder, (message) => void logged.push(message));
  open.push(redis);
  return redis;
}

function isAlive(pid: number): boolean {
  try {
    // A process that nobody has waited for yet is dead all the same.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A redis-server that no server watches over, on the place of the data folder's own. */
async function startOrphan(place: ReturnType<typeof preparePlace>): Promise<Bun.Subprocess> {
  const binary = findRedisBinary() ?? '';
  const orphan = Bun.spawn([binary, '--port', '0', '--unixsocket', place.socketPath, '--dir', place.folder], {
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  await until(async () => (await reachRedis(place.socketPath)) !== undefined);
  return orphan;
}

beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'cv-embedded-')), 'data');
});

afterEach(async () => {
  for (const redis of open) {
    await redis.stop();
  }
  open = [];
  rmSync(join(dataDir, '..'), { recursive: true, force: true });
});

describe('the default Redis', () => {
  test('answers on a private socket and has the promised settings', async () => {
    const redis = await start();
    expect(redis.adopted).toBe(false);
    expect(await sendCommand(redis.socketPath, 'PING')).toBe('+PONG');
    expect(statSync(redis.socketPath).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, 'redis')).mode & 0o777).toBe(0o700);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    const settings = {
      port: '0',
      appendonly: 'yes',
      appendfsync: 'always',
      save: '',
      'maxmemory-policy': 'noeviction',
    };
    for (const [name, value] of Object.entries(settings)) {
      const reply = await sendCommand(redis.socketPath, `CONFIG GET ${name}`);
      expect(reply.split('\r\n')[4] ?? '').toBe(value);
    }
  });

  test('is given no setting of the server', async () => {
    const spy = join(dataDir, '..', 'spy');
    writeFileSync(spy, `#!/bin/sh\nenv >"$0.env"\nexec "${findRedisBinary()}" "$@"\n`, { mode: 0o700 });
    process.env['VAULT_MASTER_KEY'] = 'canary-master-key';
    try {
      open.push(await EmbeddedRedis.start(dataDir, () => undefined, spy));
    } finally {
      delete process.env['VAULT_MASTER_KEY'];
    }
    expect(readFileSync(`${spy}.env`, 'utf8')).not.toMatch(/VAULT_|canary/);
  });

  test('leads a session of its own, so that Ctrl-C does not reach it', async () => {
    const redis = await start();
    const [, , , session] = readFileSync(`/proc/${redis.pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    expect(Number(session)).toBe(redis.pid);
  });

  test('keeps its data over a stop and a start', async () => {
    const before = await start();
    await sendCommand(before.socketPath, 'SET card sealed');
    await before.stop();
    expect(isAlive(before.pid)).toBe(false);
    const after = await start();
    expect(await sendCommand(after.socketPath, 'EXISTS card')).toBe(':1');
  });

  test('is started again with its data when it is killed', async () => {
    const redis = await start();
    const { pid } = redis;
    await sendCommand(redis.socketPath, 'SET card sealed');
    process.kill(pid, 'SIGKILL');
    await until(() => redis.pid !== pid);
    expect(await sendCommand(redis.socketPath, 'EXISTS card')).toBe(':1');
    expect(redis.adopted).toBe(false);
  });

  test('starts where a killed one left its socket behind', async () => {
    const place = preparePlace(dataDir);
    const { socketPath } = place;
    const orphan = await startOrphan(place);
    orphan.kill('SIGKILL');
    await orphan.exited;
    expect(existsSync(socketPath)).toBe(true);
    expect(await reachRedis(socketPath)).toBeUndefined();
    const redis = await start();
    expect(await sendCommand(redis.socketPath, 'PING')).toBe('+PONG');
  });

  test('is not started twice at once, and stopping waits for its end', async () => {
    const both = await Promise.all([start(), start(), start()]);
    expect(new Set(both.map((redis) => redis.pid)).size).toBe(1);
    expect(both.filter((redis) => !redis.adopted)).toHaveLength(1);
  });

  test('says what redis-server said when it cannot start', async () => {
    mkdirSync(join(dataDir, 'redis', 'appendonlydir'), { recursive: true, mode: 0o700 });
    writeFileSync(join(dataDir, 'redis', 'appendonlydir', 'appendonly.aof.manifest'), 'nonsense\n');
    await expect(start()).rejects.toThrow(/redis-server did not start: .*AOF manifest/);
  });

  test('is refused on a folder that others may write to', async () => {
    mkdirSync(dataDir, { recursive: true });
    Bun.spawnSync(['chmod', '777', dataDir]);
    await expect(start()).rejects.toThrow('VAULT_DATA_DIR is a folder that other users can write to');
  });
});

describe('a second server on the same data folder', () => {
  test('shares the Redis and never stops it', async () => {
    const first = await start();
    const second = await start();
    expect(second.adopted).toBe(true);
    expect(second.pid).toBe(first.pid);
    expect(second.socketPath).toBe(first.socketPath);
    await second.stop();
    expect(await sendCommand(first.socketPath, 'PING')).toBe('+PONG');
  });

  test('starts one of its own when the first server stops', async () => {
    const first = await start();
    const second = await start();
    await sendCommand(first.socketPath, 'SET card sealed');
    await first.stop();
    await until(() => !second.adopted);
    expect(await sendCommand(second.socketPath, 'EXISTS card')).toBe(':1');
  });

  test('finds the socket of a data folder whose path is too long for one', async () => {
    const deep = join(dataDir, 'd'.repeat(100));
    const first = await start(deep);
    expect(Buffer.byteLength(first.socketPath)).toBeLessThan(108);
    const runtimeFolder = join(first.socketPath, '..');
    expect(statSync(runtimeFolder).mode & 0o777).toBe(0o700);
    expect((await start(deep)).adopted).toBe(true);
    await Promise.all(open.map((redis) => redis.stop()));
    rmSync(runtimeFolder, { recursive: true });
  });
});

describe('a server that is killed', () => {
  const SERVER = `
    import { EmbeddedRedis } from '${join(import.meta.dir, '../server/boot/redis/embedded.ts')}';
    const redis = await EmbeddedRedis.start(process.argv[1], () => {});
    console.log(redis.pid);
    setInterval(() => {}, 1000);`;

  const startServer = async () => {
    const server = Bun.spawn([process.execPath, '-e', SERVER, dataDir], { stdout: 'pipe' });
    const { value } = await server.stdout.getReader().read();
    return { server, pid: Number(new TextDecoder().decode(value)) };
  };

  test('takes its Redis along, and the next one has the data', async () => {
    const { server, pid } = await startServer();
    const { socketPath } = preparePlace(dataDir);
    await sendCommand(socketPath, 'SET card sealed');
    server.kill('SIGKILL');
    await server.exited;
    await until(() => !isAlive(pid));
    const redis = await start();
    expect(redis.adopted).toBe(false);
    expect(await sendCommand(redis.socketPath, 'EXISTS card')).toBe(':1');
  });

  test('leaves a Redis that outlives it to the next one', async () => {
    const orphan = await startOrphan(preparePlace(dataDir));
    const redis = await start();
    expect(redis.adopted).toBe(true);
    expect(redis.pid).toBe(orphan.pid);
    orphan.kill('SIGTERM');
    await orphan.exited;
    await until(() => !redis.adopted);
    expect(await sendCommand(redis.socketPath, 'PING')).toBe('+PONG');
  });
});
