import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { findLost, prepareLoad, startServingLoad } from './load.ts';
import { countEvents, endAll, newFolder, serversOf, startProcess, until } from './process.ts';

afterAll(endAll);

const CALLERS = [0, 100, 300, 'fresh', 'fresh', 'fresh'] as const;
const ROUNDS = 2;
const PROCESSES = 2;
setDefaultTimeout(240_000);

function start() {
  return startProcess({
    VAULT_PROCESSES: String(PROCESSES),
    VAULT_DATA_DIR: join(newFolder(), 'data'),
  });
}

test('processes that are killed under load lose nothing that was acknowledged, and are all back', async () => {
  const server = start();
  const port = await server.ready;
  const load = startServingLoad(port, await prepareLoad(port), CALLERS, { repeat: true });
  // A process that ends before it has ever been ready ends the server: it cannot start.
  await until(() => countEvents(server, 'started') >= PROCESSES);
  for (let round = 0; round < ROUNDS; round++) {
    const before = load.tally().acknowledged.size;
    const [killed] = serversOf(server);
    if (killed !== undefined) {
      process.kill(killed, 'SIGKILL');
    }
    await until(() => load.tally().acknowledged.size >= before + 20);
    await until(() => countEvents(server, 'started') >= PROCESSES + round + 1);
  }
  expect(countEvents(server, 'server_process_down')).toBe(ROUNDS);
  const { acknowledged } = await load.stop();
  expect(await findLost(port, acknowledged)).toEqual([]);
  server.signal('SIGTERM');
  expect(await server.exited).toBe(0);
});
