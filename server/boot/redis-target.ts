import type { Config } from '../config/config.ts';
import { StartError } from '../core/errors.ts';
import type { RedisLink } from '../store/redis/client.ts';
import type { RedisTarget } from '../store/redis/connect.ts';
import { describeUnsafe, findUnsafe, type UnsafeRedis } from '../store/redis/safety.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { startEmbeddedRedis } from './redis/embedded.ts';

/**
 * The Redis of the configuration. An embedded one is started, or shared if another process already runs it; `stop`
 * ends it only if it was started here. Rejects with a `ConfigError` when it cannot be started.
 */
export async function openTarget(
  config: Config,
  recordEvent: RecordEvent,
): Promise<{ readonly target: RedisTarget; readonly stop: () => Promise<void> }> {
  const { redis } = config;
  const stop = async (): Promise<void> => undefined;
  switch (redis.kind) {
    case 'embedded': {
      const started = await startEmbeddedRedis({
        dataDir: config.dataDir,
        ...(config.redisBinary === undefined ? {} : { binary: config.redisBinary }),
        log: (event) => recordEvent('embedded_redis', { detail: event }),
      });
      return { target: { kind: 'socket', path: started.socketPath }, stop: started.stop };
    }
    case 'socket':
      return { target: redis, stop };
    case 'url':
      return { target: { kind: 'url', url: redis.url.expose() }, stop };
    case 'cluster':
      return { target: { kind: 'cluster', urls: redis.urls.expose() }, stop };
  }
}

/**
 * Rejects with a `StartError` when, in production, Redis could lose acknowledged writes and the operator does not
 * allow that by name. Resolves with the unsafe settings that are tolerated, which are recorded as one event.
 */
export async function checkSafety(
  redis: RedisLink,
  config: Config,
  recordEvent: RecordEvent,
): Promise<readonly UnsafeRedis[]> {
  const unsafe = await findUnsafe(redis);
  const rejected =
    config.env === 'production' ? unsafe.filter((name) => !config.redisAllowUnsafe.has(name)) : [];
  if (rejected.length > 0) {
    throw new StartError(rejected.map(describeUnsafe).join('\n'));
  }
  if (unsafe.length > 0) {
    recordEvent('redis_unsafe', { checks: unsafe });
  }
  return unsafe;
}
