/** A redis-server of its own, for the servers that the vault is compared with. */
import Redis from 'ioredis';
import { findRedisBinary, preparePlace, redisCommand } from '../../server/boot/redis/process.ts';
import { start, stop, until } from './processes.ts';

/** A running redis-server. */
export interface BareRedis {
  readonly pid: number;
  readonly socketPath: string;
  readonly stop: () => Promise<void>;
}

async function isUp(path: string): Promise<true | undefined> {
  const client = new Redis({ path, lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return undefined;
  } finally {
    client.disconnect();
  }
}

/** Starts a Redis in `folder` with the settings of the vault's own; unless `isSynced`, it never syncs its file. */
export async function startRedis(folder: string, isSynced: boolean): Promise<BareRedis> {
  const binary = findRedisBinary(process.env['VAULT_REDIS_BIN']);
  if (binary === undefined) {
    throw new Error('No redis-server found: run scripts/redis-vendor.sh.');
  }
  const place = preparePlace(folder);
  const command = redisCommand(binary, place);
  const child = start(isSynced ? command : [...command, '--appendfsync', 'no'], 'ignore');
  await until(child, 'redis-server', () => isUp(place.socketPath));
  return { pid: child.pid, socketPath: place.socketPath, stop: () => stop(child) };
}
