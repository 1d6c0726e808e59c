/** A Redis that refuses writes: readiness, log and command line name the reason. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openRedis } from '../../server/redis/open.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { withQuickTimers } from '../helpers/quick-timers.ts';
import { REASONS, type Reason, startRefusingRedis } from '../helpers/refusing-redis.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

/** The steps of the timer in which a connection asks again. */
const QUICK = new Map([[250, 10]]);

let redis: Awaited<ReturnType<typeof startRefusingRedis>>;
let vault: TestVault;
let account: AccountClient;
let passedMs = 0;
beforeAll(async () => {
  redis = await startRefusingRedis();
  vault = await withQuickTimers(QUICK, () =>
    openTestVault({ redis, alone: true, proxy: {}, now: () => Date.now() + passedMs }),
  );
  account = await vault.account();
  await account.key('u');
});
afterAll(async () => {
  await vault.close();
  await redis.stop();
});

async function ready(): Promise<{ readonly status: number; readonly body: unknown }> {
  // Readiness is kept for a second.
  passedMs += 1_001;
  const reply = await vault.handle(new Request('http://localhost/health/ready'));
  return { status: reply.status, body: await reply.json() };
}

function changes() {
  return vault.events.filter(({ event }) => /^redis_(?:refuses|accepts)_writes$/.test(event));
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await Bun.sleep(5);
  }
}

function store(number: string) {
  return account.send('POST', '/vault', { query: { user: 'u' }, passphrase: PASSPHRASE, body: { number } });
}

describe.each([...REASONS])('writes that are refused with %s', (reason: Reason) => {
  test('make the vault not ready for this reason, are logged once, and once when they are accepted again', async () => {
    expect(await ready()).toEqual({
      status: 200,
      body: { status: 'ok', checks: { redis: 'ok', workers: 'ok' } },
    });
    const before = changes().length;
    await redis.refuse(reason);
    for (let times = 0; times < 20; times++) {
      expect((await store(`${times}`)).outcome).toBe('503 store_unavailable');
    }
    const failing = {
      status: 503,
      body: { status: 'failing', checks: { redis: 'failing', redis_reason: reason, workers: 'ok' } },
    };
    for (let times = 0; times < 5; times++) {
      expect(await ready()).toEqual(failing);
      await Bun.sleep(50);
    }
    expect(changes().slice(before)).toEqual([{ event: 'redis_refuses_writes', reason }]);
    // A command that is in flight while the connection to a replica ends fails too.
    expect(vault.events.filter(({ event }) => event === 'job_queue_error').length).toBeLessThan(2);
    await redis.accept(reason);
    await until(() => changes().length > before + 1);
    expect(changes().slice(before)).toEqual([
      { event: 'redis_refuses_writes', reason },
      { event: 'redis_accepts_writes' },
    ]);
    expect((await store('1')).status).toBe(200);
    expect((await ready()).status).toBe(200);
  }, 30_000);

  test('are named by vault health, and by commands that write', async () => {
    const fresh = await vault.secondServer();
    await redis.refuse(reason);
    const health = await runCommand(['health'], { vault: fresh });
    const asJson = await runCommand(['health', '--json'], { vault: fresh });
    expect([health.code, asJson.code, health.err]).toEqual([1, 1, '']);
    expect(health.out).toMatch(
      new RegExp(`^not ready, redis failing\\nRedis refuses writes \\(${reason}\\): .+\\.\\n$`),
    );
    expect(JSON.parse(asJson.out)).toEqual({
      ready: false,
      checks: { redis: 'failing', redis_reason: reason },
    });
    const { code, err } = await runCommand(['account', 'create', `shop-${reason.toLowerCase()}`], {
      vault: fresh,
    });
    expect(code).toBe(1);
    expect(err).toMatch(new RegExp(`^Redis refuses writes \\(${reason}\\): .+\\.\\n$`));
    await redis.accept(reason);
    await fresh.close();
  }, 30_000);
});

test('the reason changes with the replies of Redis, and is told once for each change', async () => {
  const told: (string | undefined)[] = [];
  const target = { kind: 'socket', path: redis.socketPath } as const;
  const link = await withQuickTimers(QUICK, () =>
    openRedis(target, { replicas: 0, onRefusal: (reason) => void told.push(reason) }),
  );
  const write = () =>
    link.write('SET', ['{refusal}', '1']).then(String, ({ code }: { code?: string }) => code);
  expect(await write()).toBe('OK');
  await redis.refuse('OOM');
  expect([await write(), await write()]).toEqual(['store_unavailable', 'store_unavailable']);
  await redis.refuse('NOREPLICAS');
  await redis.accept('OOM');
  await until(() => told.length === 2);
  await redis.accept('NOREPLICAS');
  await until(() => told.length === 3);
  expect(await write()).toBe('OK');
  expect(told).toEqual(['OOM', 'NOREPLICAS', undefined]);
  await link.close();
}, 30_000);

test('replicas that do not confirm writes in time are a reason too', async () => {
  const told: (string | undefined)[] = [];
  const target = { kind: 'socket', path: redis.socketPath } as const;
  const link = await openRedis(target, { replicas: 1, onRefusal: (reason) => void told.push(reason) });
  for (let times = 0; times < 3; times++) {
    await expect(link.write('SET', ['{refusal}', '1'])).rejects.toMatchObject({ code: 'store_unavailable' });
  }
  expect(told).toEqual(['NOREPLICAS']);
  await link.close();
}, 30_000);
