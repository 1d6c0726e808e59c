import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Redis from 'ioredis';
import { preparePlace } from '../../server/boot/redis/process.ts';
import { type AccountClient, createAccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { handleOf, OWNER, portOf, spawnServer } from '../helpers/server-process.ts';

const START_MS_MAX = 60_000;

/** A server as its operator starts it, with the Redis of its own. */
interface RunningServer {
  readonly client: AccountClient;
  /** All that it has printed. */
  readonly printed: () => string;
  /** Ends both as a power cut would, in either order. */
  readonly kill: (redisFirst: boolean) => Promise<void>;
}

let folder: string;
const running = new Set<Bun.Subprocess>();
const redisPids = new Set<number>();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cv-durable-'));
});
afterAll(() => {
  for (const child of running) {
    child.kill('SIGKILL');
  }
  for (const pid of redisPids) {
    kill(pid);
  }
  rmSync(folder, { recursive: true, force: true });
});

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself: the kernel ends the Redis of a server that is gone.
  }
}

function dataDir(): string {
  return join(folder, 'data');
}

async function startServer(): Promise<RunningServer> {
  const child = spawnServer({ VAULT_DATA_DIR: dataDir() }, folder);
  running.add(child);
  const lines: string[] = [];
  const port = await portOf(child, lines);
  const redis = new Redis({ path: preparePlace(dataDir()).socketPath });
  const redisPid = Number(/^process_id:(\d+)/m.exec(await redis.info('server'))?.[1]);
  redis.disconnect();
  redisPids.add(redisPid);
  return {
    client: createAccountClient(
      handleOf(async () => port),
      OWNER,
    ),
    printed: () => lines.join(''),
    kill: async (redisFirst) => {
      const pids = redisFirst ? [redisPid, child.pid] : [child.pid, redisPid];
      for (const pid of pids) {
        kill(pid);
      }
      await child.exited;
      running.delete(child);
      redisPids.delete(redisPid);
    },
  };
}

/** What the server has said yes to. */
interface Acknowledged {
  /** Token to the text that it must open to. */
  readonly items: Map<string, string>;
  /** Tokens of items whose last update was not answered: both texts are right. */
  readonly unsure: Map<string, string>;
  readonly deleted: Set<string>;
}

/** Stores, updates and deletes until the server is gone, and writes down what was acknowledged. */
async function write(
  client: AccountClient,
  round: number,
  writer: number,
  seen: Acknowledged,
): Promise<void> {
  for (let n = 0; ; n++) {
    const text = `{"number":"${round}-${writer}-${n}","cvv":"${n}","holder":"writer ${writer}"}`;
    const token = await client.store('u', text);
    seen.items.set(token, text);
    if (n % 3 === 1) {
      const updated = text.replace('}', `,"updated":${n}}`);
      seen.unsure.set(token, updated);
      await client.sdkWith({ retries: 0 }).vault.update({ user: 'u', token, data: { updated: n } });
      seen.items.set(token, updated);
      seen.unsure.delete(token);
    }
    if (n % 5 === 4) {
      seen.items.delete(token);
      await client.sdkWith({ retries: 0 }).vault.delete({ user: 'u', token });
      seen.deleted.add(token);
    }
  }
}

async function check({ client, printed }: RunningServer, seen: Acknowledged): Promise<void> {
  const opened = new Map<string, string>();
  try {
    for await (const { token, data } of client.sdk.vault.decryptAll({ user: 'u' })) {
      opened.set(token, JSON.stringify(data));
    }
  } catch (error) {
    throw new Error(`The restarted server did not open its items; it printed:\n${printed()}`, {
      cause: error,
    });
  }
  const lost = [...seen.items].filter(
    ([token, text]) => opened.get(token) !== text && opened.get(token) !== (seen.unsure.get(token) ?? text),
  );
  expect(lost).toEqual([]);
  expect([...seen.deleted].filter((token) => opened.has(token))).toEqual([]);
  for (const [token] of [...seen.items].slice(0, 10)) {
    const { data: log } = await client.sdk.vault.log({ user: 'u', token });
    expect(log.at(-1)?.action).toBe('encrypt');
  }
  expect(printed()).not.toContain('"level":"error"');
}

describe('server and Redis killed under load', () => {
  test(
    'every acknowledged write is there after the restart, and no deletion is undone',
    async () => {
      const seen: Acknowledged = { items: new Map(), unsure: new Map(), deleted: new Set() };
      let server = await startServer();
      await server.client.key('u', PASSPHRASE);
      for (let round = 1; round <= 2; round++) {
        const before = seen.items.size;
        const writers = Array.from({ length: 12 }, (_, writer) =>
          write(server.client, round, writer, seen).catch(() => undefined),
        );
        // A moment by chance, but not before there is something to lose.
        while (seen.items.size < before + 50) {
          await Bun.sleep(5);
        }
        await Bun.sleep(Math.random() * 300);
        await server.kill(round % 2 === 0);
        await Promise.all(writers);
        expect(seen.items.size).toBeGreaterThan(before);
        server = await startServer();
        await check(server, seen);
      }
      await server.kill(false);
    },
    4 * START_MS_MAX,
  );
});
