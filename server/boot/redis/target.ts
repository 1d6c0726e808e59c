import type { Config } from '../../config/config.ts';
import { hasRedisFiles } from '../../config/folder.ts';
import { StartError } from '../../core/errors.ts';
import type { UnsafeRedis } from '../../core/settings.ts';
import type { RedisLink } from '../../redis/client.ts';
import type { RedisTarget, TlsFiles } from '../../redis/connect.ts';
import { checkRequirements } from '../../redis/requirements.ts';
import { describeUnsafe, findUnsafe } from '../../redis/safety.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import { EmbeddedRedis } from './embedded.ts';

/** Throws a `StartError` if the embedded Redis would be a new one. */
export function requireFiles({ redis, dataDir }: Config): void {
  if (redis.kind === 'embedded' && !hasRedisFiles(dataDir)) {
    throw new StartError(
      'There is no vault here: VAULT_DATA_DIR has no data. Set it to the folder of the vault, or VAULT_REDIS_URL to its Redis. Only a server or a restore makes a vault.',
    );
  }
}

/** Opens the configured Redis, and starts an embedded one; `stop` ends it if it was started here. */
export async function openTarget(
  config: Config,
  recordEvent: RecordEvent,
): Promise<{ readonly target: RedisTarget; readonly stop: () => Promise<void> }> {
  const { redis, redisTls } = config;
  const client = redisTls?.client;
  const tls: TlsFiles | undefined = redisTls && {
    ca: redisTls.ca,
    cert: client?.cert,
    key: client?.key.expose(),
  };
  const stop = async (): Promise<void> => undefined;
  switch (redis.kind) {
    case 'embedded': {
      const log = (detail: string): void => recordEvent('embedded_redis', { detail });
      const started = await EmbeddedRedis.start(config.dataDir, log, config.redisBinary);
      return { target: { kind: 'socket', path: started.socketPath }, stop: () => started.stop() };
    }
    case 'socket':
      return { target: redis, stop };
    case 'url':
      return { target: { kind: 'url', url: redis.url.expose(), tls }, stop };
    case 'cluster':
      return { target: { kind: 'cluster', urls: redis.urls.expose(), tls }, stop };
    case 'sentinel':
      return { target: { kind: 'sentinel', ...redis.group.expose(), tls }, stop };
  }
}

/**
 * Rejects with a `StartError` when Redis lacks features that every vault needs, is a replica, or, in production, could lose
 * acknowledged writes, and the operator does not allow that by name. Resolves with the unsafe settings that are
 * tolerated, which are recorded as one event.
 */
export async function checkSafety(
  redis: RedisLink,
  config: Config,
  recordEvent: RecordEvent,
): Promise<readonly UnsafeRedis[]> {
  await checkRequirements(redis);
  const unsafe = await findUnsafe(redis);
  const rejected = unsafe.filter(
    (name) => (config.env === 'production' || name === 'replica') && !config.redisAllowUnsafe.has(name),
  );
  if (rejected.length > 0) {
    throw new StartError(rejected.map(describeUnsafe).join('\n'));
  }
  if (unsafe.length > 0) {
    recordEvent('redis_unsafe', { checks: unsafe });
  }
  return unsafe;
}
