import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../helpers/server-process.ts';
import { findLost, prepareLoad, startServingLoad } from './load.ts';
import { endAll, newFolder, type ServerProcess, startProcess, until } from './process.ts';

afterAll(endAll);

const CALLERS = [0, 0, 100, 'fresh'] as const;
setDefaultTimeout(180_000);
/** On a machine that does nothing else it is one second. */
const BACK_MS_MAX = 15_000;

async function isReady(port: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/health/ready`, { keepalive: false });
    await reply.arrayBuffer();
    return reply.status === 200;
  } catch {
    return false;
  }
}

/** How long it takes until the port answers that it is ready, in ms. */
async function untilReady(port: number): Promise<number> {
  const begun = performance.now();
  await until(() => isReady(port));
  return performance.now() - begun;
}

/** Starts a server again as soon as it has ended, as a supervisor does. */
async function supervise(settings: Settings) {
  let server: ServerProcess = startProcess(settings);
  const port = await server.ready;
  let isOver = false;
  const run = async (): Promise<void> => {
    for (;;) {
      await server.exited;
      if (isOver) {
        return;
      }
      server = startProcess({ ...settings, VAULT_PORT: String(port) });
    }
  };
  const running = run();
  return {
    port,
    server: () => server,
    end: async (): Promise<number> => {
      isOver = true;
      server.signal('SIGTERM');
      await running;
      return server.exited;
    },
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

test('a server that dies is back within seconds, and has lost nothing', async () => {
  const folder = newFolder();
  const supervised = await supervise({ VAULT_DATA_DIR: join(folder, 'data') });
  const { port } = supervised;
  expect(readFileSync(`/proc/${supervised.server().pid}/limits`, 'utf8')).toMatch(/^Max core file size +0 /m);
  const load = startServingLoad(port, await prepareLoad(port), CALLERS);
  const waits: number[] = [];
  for (const signal of ['SIGKILL', 'SIGSEGV', 'SIGABRT'] as const) {
    const before = load.tally().acknowledged.size;
    await until(() => load.tally().acknowledged.size >= before + 50);
    const dying = supervised.server();
    dying.signal(signal);
    await dying.exited;
    waits.push(await untilReady(port));
  }
  const { acknowledged } = await load.stop();
  expect(await findLost(port, acknowledged)).toEqual([]);
  expect(median(waits)).toBeLessThan(BACK_MS_MAX);
  expect(await supervised.end()).toBe(0);
  expect(readdirSync(join(folder, 'data')).filter((name) => name.startsWith('core'))).toEqual([]);
});

test('of two servers with one Redis of their own, one goes on when the one that started it dies or ends', async () => {
  const settings = { VAULT_DATA_DIR: join(newFolder(), 'data') };
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const first = startProcess(settings);
    await first.ready;
    const second = startProcess(settings);
    const port = await second.ready;
    const load = startServingLoad(port, await prepareLoad(port), CALLERS);
    await until(() => load.tally().acknowledged.size >= 50);
    first.signal(signal);
    await first.exited;
    const ended = load.tally().acknowledged.size;
    const begun = performance.now();
    await until(() => load.tally().acknowledged.size >= ended + 20);
    expect(performance.now() - begun).toBeLessThan(BACK_MS_MAX);
    const { acknowledged, failures } = await load.stop();
    expect(failures.slice(0, 10)).toEqual([]);
    expect(await findLost(port, acknowledged)).toEqual([]);
    second.signal('SIGTERM');
    expect(await second.exited).toBe(0);
  }
});
