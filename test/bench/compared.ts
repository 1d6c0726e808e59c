/** The servers that the vault is compared with, each started once, and what they are asked. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../server/config/config.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { RECORD_KINDS } from '../../server/redis/records/registry.ts';
import { NAMED_BYTES } from '../helpers/log-entry.ts';
import { type BareRedis, startRedis } from './bare-redis.ts';
import { addressesOf, PLAIN } from './cards.ts';
import type { ItemSizes } from './empty-pipeline.ts';
import { call, type Server, startProgram, type Vault } from './servers.ts';

/** The servers beside the vault. */
export interface Compared {
  readonly noop: Server;
  readonly plain: Server;
  readonly plainUnsynced: Server;
  readonly pipeline: Server;
  readonly stop: () => Promise<void>;
}

/** How large the parts of a stored card are, as one of the vault's own cards shows. */
async function sizesOf(vault: Vault): Promise<ItemSizes> {
  const [address = ''] = await addressesOf(vault, PLAIN);
  const text = await (
    await call(vault, PLAIN.credentials, `/v1/vault/?user=${PLAIN.user}&${address}`)
  ).bytes();
  const token = new URLSearchParams(address).get('token') ?? '';
  const [key = ''] = await vault.redis.keys(`*}i${token}`);
  const owner = RECORD_KINDS.item.name.read(key);
  if (owner === undefined) {
    throw new Error('the vault has no such item in its Redis');
  }
  const [item, meta, logEntry] = await vault.redis.hmgetBuffer(key, 'c', 'm', '1');
  const [refMember] = await vault.redis.zrangeBuffer(redisKeys.references(owner.bucket), '0', '0');
  const sizes = {
    item: item?.length ?? 0,
    meta: meta?.length ?? 0,
    refMember: refMember?.length ?? 0,
    logEntry: logEntry ? NAMED_BYTES + logEntry.length : 0,
    text: text.length,
  };
  const missing = Object.entries(sizes).find(([, size]) => size === 0);
  if (missing !== undefined) {
    throw new Error(`the size of a card's ${missing[0]} is not to be found in Redis`);
  }
  return sizes;
}

async function startOn(redis: BareRedis, file: string, args: readonly string[] = []): Promise<Server> {
  return { ...(await startProgram(file, [redis.socketPath, ...args])), redisPid: redis.pid };
}

/** Starts the servers below `folder`; the vault must have a card of `PLAIN`, whose sizes the empty pipeline takes over. */
export async function startCompared(folder: string, vault: Vault): Promise<Compared> {
  mkdirSync(folder, { mode: 0o700 });
  const [synced, unsynced] = [
    await startRedis(join(folder, 'synced'), true),
    await startRedis(join(folder, 'unsynced'), false),
  ];
  const { workers } = loadConfig(vault.settings, []);
  const pipelineArgs = [String(workers), JSON.stringify(await sizesOf(vault))];
  const servers = {
    noop: await startProgram('noop.ts'),
    plain: await startOn(synced, 'plain-script.ts'),
    plainUnsynced: await startOn(unsynced, 'plain-script.ts'),
    pipeline: await startOn(synced, 'empty-pipeline.ts', pipelineArgs),
  };
  return {
    ...servers,
    stop: async () => {
      await Promise.all(Object.values(servers).map((server) => server.stop()));
      await Promise.all([synced.stop(), unsynced.stop()]);
    },
  };
}
