import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createAccountClient } from '../helpers/clients.ts';
import { startTestRedis, type TestRedis } from '../helpers/redis.ts';
import { handleOf, OWNER, runVaultCommand, spawnVaultCommand } from '../helpers/server-process.ts';
import { endAll, newFolder, startProcess } from './process.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis({ durable: true });
});
afterAll(async () => {
  await endAll();
  await redis.stop();
});

const ITEMS = 500;
setDefaultTimeout(300_000);
/** When a command is killed, from its start: while it opens the vault, waits for servers, and moves entries. */
const KILLS_MS = [300, 1_500, 6_000, 11_000, 3_000, 9_000] as const;

test('two servers go on while the root is rotated by commands that are killed, and every item is found', async () => {
  const folder = newFolder();
  const settings = { VAULT_DATA_DIR: folder, VAULT_REDIS_URL: `unix:${redis.socketPath}` };
  const first = startProcess(settings);
  await first.ready;
  const second = startProcess(settings);
  await second.ready;
  const clients = [first, second].map(({ ready }) =>
    createAccountClient(
      handleOf(() => ready),
      OWNER,
    ),
  );
  const [here, there] = clients;
  if (here === undefined || there === undefined) {
    throw new Error('there are two servers');
  }
  await here.key('u');
  const tokens: string[] = [];
  const store = async (client: typeof here): Promise<void> => {
    const number = String(4_000_000_000_000 + tokens.length);
    tokens.push(await client.store('u', { number }, { reference: 'order', algorithm: 'uuid' }));
  };
  for (let i = 0; i < ITEMS; i++) {
    await store(here);
  }
  let isOver = false;
  const load = (async () => {
    for (let i = 0; !isOver; i++) {
      await store(i % 2 === 0 ? here : there);
      const before = tokens.length;
      const found = await (i % 2 === 0 ? there : here).send('GET', '/vault', {
        query: { user: 'u', reference_prefix: 'ord', limit: -1 },
      });
      expect(found.as<Record<string, readonly object[]>>()['u']?.length).toBe(before);
    }
  })();
  for (const ms of KILLS_MS) {
    const child = spawnVaultCommand(['rotate-root', '--json'], settings, folder);
    await Promise.race([Bun.sleep(ms), child.exited]);
    child.kill('SIGKILL');
    await child.exited;
  }
  const { code, out } = await runVaultCommand(['rotate-root', '--json'], settings, folder);
  isOver = true;
  await load;
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ state: 'pending' });
  for (const client of clients) {
    const found = await client.send('GET', '/vault', {
      query: { user: 'u', reference: 'order', limit: -1 },
    });
    const items = found.as<Record<string, readonly { readonly token: string }[]>>()['u'] ?? [];
    expect(items.map(({ token }) => token).toSorted()).toEqual(tokens.toSorted());
  }
  expect((await runVaultCommand(['verify', '--json'], settings, folder)).code).toBe(0);
  for (const server of [first, second]) {
    server.signal('SIGTERM');
    expect(await server.exited).toBe(0);
  }
});
