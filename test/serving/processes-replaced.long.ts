import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { findLost, prepareLoad, startServingLoad } from './load.ts';
import { childrenOf, endAll, newFolder, startProcess } from './process.ts';

afterAll(endAll);

const CALLERS = [0, 0, 0, 100, 300, 'fresh', 'fresh', 'fresh', 'fresh'] as const;
const ROUNDS = 4;
const PROCESSES = 3;
const TEST_MS_MAX = 240_000;
const POLL_MS = 20;
/** Long enough for a killed process to be started again. */
const KILL_PAUSE_MS = 1_500;

function start() {
  return startProcess({
    VAULT_PROCESSES: String(PROCESSES),
    VAULT_DATA_DIR: join(newFolder(), 'data'),
  });
}

function countEvents(printed: string, event: string): number {
  return printed.split(`"event":"${event}"`).length - 1;
}

test(
  'processes are replaced over and over under load, and no request fails',
  async () => {
    const server = start();
    const port = await server.ready;
    const load = startServingLoad(port, await prepareLoad(port), CALLERS, { repeat: true });
    for (let round = 1; round <= ROUNDS; round++) {
      server.signal('SIGHUP');
      while (countEvents(server.printed(), 'server_process_replaced') < PROCESSES * round) {
        await Bun.sleep(POLL_MS);
      }
    }
    const { failures, answered, acknowledged } = await load.stop();
    expect(failures.slice(0, 10)).toEqual([]);
    expect(answered).toBeGreaterThan(500);
    expect(await findLost(port, acknowledged)).toEqual([]);
    server.signal('SIGTERM');
    expect(await server.exited).toBe(0);
  },
  TEST_MS_MAX,
);

test(
  'processes that are killed under load lose nothing that was acknowledged, and are all back',
  async () => {
    const server = start();
    const port = await server.ready;
    const load = startServingLoad(port, await prepareLoad(port), CALLERS, { repeat: true });
    // A process that ends before it has ever been ready ends the server: it cannot start.
    while (countEvents(server.printed(), 'started') < PROCESSES) {
      await Bun.sleep(POLL_MS);
    }
    for (let round = 0; round < ROUNDS; round++) {
      const before = load.tally().acknowledged.size;
      const [killed] = childrenOf(server.pid, /main\.ts\0process\0/);
      if (killed !== undefined) {
        process.kill(killed, 'SIGKILL');
      }
      await Bun.sleep(KILL_PAUSE_MS);
      while (load.tally().acknowledged.size < before + 20) {
        await Bun.sleep(POLL_MS);
      }
    }
    while (countEvents(server.printed(), 'started') < PROCESSES + ROUNDS) {
      await Bun.sleep(POLL_MS);
    }
    expect(countEvents(server.printed(), 'server_process_down')).toBe(ROUNDS);
    const { acknowledged } = await load.stop();
    expect(await findLost(port, acknowledged)).toEqual([]);
    server.signal('SIGTERM');
    expect(await server.exited).toBe(0);
  },
  TEST_MS_MAX,
);
