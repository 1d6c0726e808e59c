import type { Config } from '../../config/config.ts';
import { StartError } from '../../core/errors.ts';
import type { RedisLink } from '../../redis/client.ts';
import type { RedisTarget, TlsFiles } from '../../redis/connect.ts';
import { checkRequirements } from '../../redis/requirements.ts';
import { describeUnsafe, findUnsafe, type UnsafeRedis } from '../../redis/safety.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import { startEmbeddedRedis } from './embedded.ts';

/** The PEM texts for TLS to Redis. */
function tlsOf({ redisTls }: Pick<Config, 'redisTls'>): TlsFiles | undefined {
  const client = redisTls?.client;
  return redisTls && { ca: redisTls.ca, cert: client?.cert, key: client?.key.expose() };
}

/**
 * The Redis of the configuration. An embedded one is started, or shared if another process already runs it; `stop`
 * ends it only if it was started here. Rejects with a `ConfigError` when it cannot be started.
 */
export async function openTarget(
  config: Config,
  recordEvent: RecordEvent,
): Promise<{ readonly target: RedisTarget; readonly stop: () => Promise<void> }> {
  const { redis } = config;
  const tls = tlsOf(config);
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
      return { target: { kind: 'url', url: redis.url.expose(), tls }, stop };
    case 'cluster':
      return { target: { kind: 'cluster', urls: redis.urls.expose(), tls }, stop };
    case 'sentinel':
      return { target: { kind: 'sentinel', ...redis.group.expose(), tls }, stop };
  }
}

/**
 * Rejects with a `StartError` when Redis lacks what every vault needs, is a replica, or, in production, could lose
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
