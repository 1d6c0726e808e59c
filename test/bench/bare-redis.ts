/** A redis-server of its own that syncs every write, as the vault's does, without a vault in front of it. */
import { readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Redis from 'ioredis';
import { findRedisBinary, preparePlace, redisCommand } from '../../server/boot/redis/process.ts';
import { CONNECTIONS } from './load.ts';
import { start, startPiped, stop, until } from './processes.ts';
import type { Figure } from './stats.ts';

/** About what the vault writes for one card. */
const VALUE_BYTES = 700;
const KEYS = 1_000_000;
const PROBE_WRITES = 5_000;

interface Tool {
  readonly path: string;
  readonly env: Record<string, string | undefined>;
}

/** redis-benchmark on PATH, or the one that came with the project's own redis-server. */
function findTool(binary: string): Tool | undefined {
  const onPath = Bun.which('redis-benchmark');
  if (onPath !== null) {
    return { path: onPath, env: process.env };
  }
  const vendored = Bun.which(resolve(dirname(binary), 'usr/bin/redis-benchmark'));
  if (vendored === null) {
    return undefined;
  }
  const libraries = resolve(dirname(binary), 'usr/lib');
  const folders = readdirSync(libraries, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const path = folders.map(({ name }) => join(libraries, name)).join(':');
  return { path: vendored, env: { ...process.env, LD_LIBRARY_PATH: path } };
}

/** Writes a second out of the CSV that redis-benchmark prints: a head, then a row with the rate in its second cell. */
export function parseRate(csv: string): number {
  const rate = Number(/^"SET","([\d.]+)"/m.exec(csv)?.[1]);
  if (!(rate > 0)) {
    throw new Error(`redis-benchmark failed: ${csv.slice(-500)}`);
  }
  return rate;
}

async function runTool(tool: Tool, socketPath: string, writes: number): Promise<number> {
  const child = startPiped(
    [
      tool.path,
      ...['-s', socketPath, '-c', String(CONNECTIONS), '-n', String(writes), '-d', String(VALUE_BYTES)],
      ...['-r', String(KEYS), '-t', 'set', '--csv'],
    ],
    { env: tool.env },
  );
  return parseRate(await new Response(child.stdout).text());
}

async function runOwn(socketPath: string, writes: number): Promise<number> {
  const clients = Array.from({ length: CONNECTIONS }, () => new Redis({ path: socketPath }));
  const value = Buffer.alloc(VALUE_BYTES, 'v');
  let left = writes;
  try {
    await Promise.all(clients.map((client) => client.ping()));
    const from = performance.now();
    await Promise.all(
      clients.map(async (client) => {
        while (left > 0) {
          left -= 1;
          await client.set(`key:${left % KEYS}`, value);
        }
      }),
    );
    return (writes * 1_000) / (performance.now() - from);
  } finally {
    for (const client of clients) {
      client.disconnect();
    }
  }
}

/** Durable writes a second over 32 connections, one at a time on each. */
export async function measureRedis(folder: string, seconds: number): Promise<Figure> {
  const binary = findRedisBinary(process.env['VAULT_REDIS_BIN']);
  if (binary === undefined) {
    throw new Error('No redis-server found: see scripts/redis-vendor.sh.');
  }
  const place = preparePlace(join(folder, 'bare-redis'));
  const child = start(redisCommand(binary, place), 'ignore');
  try {
    await until(child, 'redis-server', async () => {
      const client = new Redis({ path: place.socketPath, lazyConnect: true, retryStrategy: () => null });
      client.on('error', () => undefined);
      return client
        .connect()
        .then(() => true)
        .catch(() => undefined)
        .finally(() => client.disconnect());
    });
    const tool = findTool(binary);
    const run = (writes: number): Promise<number> =>
      tool === undefined ? runOwn(place.socketPath, writes) : runTool(tool, place.socketPath, writes);
    const rate = await run(Math.max(PROBE_WRITES, Math.round(seconds * (await run(PROBE_WRITES)))));
    const generator = tool === undefined ? 'own client' : 'redis-benchmark';
    return { name: `Redis alone, synced SET (${generator})`, value: rate, unit: 'writes/s' };
  } finally {
    await stop(child);
  }
}
