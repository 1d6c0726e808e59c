import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { startTestRedis, type TestRedis } from '../helpers/redis.ts';
import type { Settings } from '../helpers/server-process.ts';
import { startBalancer } from './balancer.ts';
import { findLost, prepareLoad, startServingLoad } from './load.ts';
import { endAll, newFolder, type ServerProcess, startProcess } from './process.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis({ durable: true });
});
afterAll(async () => {
  await endAll();
  await redis.stop();
});

/**
 * A caller who never rests, some whose connections are idle most of the time, and some who come anew each time. All that
 * keep a connection use it while its server drains, so that none of them is cut off between two requests.
 */
const CALLERS = [0, 30, 100, 300, 600, 'fresh', 'fresh', 'fresh'] as const;
/** As many as leave no server of the beginning. */
const ROUNDS = 2;
/** Far fewer than a load sends that never stands still. */
const ANSWERED_MIN = 100;
const SETTINGS = { VAULT_DRAIN_SECONDS: '1' };
setDefaultTimeout(180_000);
const TOLD = 'Another server of this vault has this port already';

async function newVault(): Promise<(settings?: Settings) => ServerProcess> {
  await redis.flush();
  const shared = { VAULT_DATA_DIR: newFolder(), VAULT_REDIS_URL: `unix:${redis.socketPath}` };
  return (settings) => startProcess({ ...shared, ...settings });
}

test('servers behind a balancer are replaced one by one, and no request fails', async () => {
  const start = await newVault();
  const balancer = await startBalancer();
  const servers: ServerProcess[] = [];
  const add = async (): Promise<void> => {
    const server = start(SETTINGS);
    servers.push(server);
    const port = await server.ready;
    balancer.add(port);
    await balancer.untilWell(port);
  };
  await add();
  await add();
  const load = startServingLoad(balancer.port, await prepareLoad(balancer.port), CALLERS);
  for (let round = 0; round < ROUNDS; round++) {
    await add();
    const old = servers.shift();
    old?.signal('SIGTERM');
    expect(await old?.exited).toBe(0);
    balancer.remove((await old?.ready) ?? 0);
  }
  const tally = await load.stop();
  expect(tally.failures.slice(0, 10)).toEqual([]);
  expect(tally.answered).toBeGreaterThan(ANSWERED_MIN);
  expect(await findLost(balancer.port, tally.acknowledged)).toEqual([]);
  balancer.close();
  for (const server of servers) {
    server.signal('SIGTERM');
    expect(await server.exited).toBe(0);
  }
});

test('servers on one port are replaced one by one, and no request fails', async () => {
  const start = await newVault();
  const first = start(SETTINGS);
  const port = await first.ready;
  expect(first.printed()).not.toContain(TOLD);
  const join = async (): Promise<ServerProcess> => {
    const server = start({ ...SETTINGS, VAULT_PORT: String(port) });
    expect(await server.ready).toBe(port);
    expect(server.printed()).toContain(TOLD);
    return server;
  };
  const servers = [first, await join()];
  // The kernel resets a connection that comes in the very moment in which a socket of the port is closed.
  const load = startServingLoad(port, await prepareLoad(port), CALLERS, { repeat: true });
  for (let round = 0; round < ROUNDS; round++) {
    const old = servers.shift();
    old?.signal('SIGTERM');
    expect(await old?.exited).toBe(0);
    servers.push(await join());
  }
  const tally = await load.stop();
  expect(tally.failures.slice(0, 10)).toEqual([]);
  expect(tally.answered).toBeGreaterThan(ANSWERED_MIN);
  expect(await findLost(port, tally.acknowledged)).toEqual([]);
  for (const server of servers) {
    server.signal('SIGTERM');
  }
  expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual([0, 0]);
});
