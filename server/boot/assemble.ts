import { randomBytes, randomInt } from 'node:crypto';
import { StartError } from '../core/errors.ts';
import { createCursors } from '../services/common/cursor.ts';
import { isHalfRestored, probeRedis } from '../store/installation.ts';
import { openRedis, type RedisLink } from '../store/redis/client.ts';
import { readRedisStats } from '../store/redis/info.ts';
import type { GaugeSources } from '../telemetry/gauges.ts';
import { NOOP_OBSERVER } from '../telemetry/observer.ts';
import { createBackground } from './background.ts';
import type { SystemOptions } from './options.ts';
import { createServices } from './services.ts';
import { openStores } from './stores.ts';
import { removeAccount, sweep } from './sweep.ts';
import { HALF_RESTORED, openWorkers } from './workers.ts';

const FRACTIONS = 2 ** 32;

/** An open vault: its connection to Redis, worker threads, stores, services and recurring work. */
export type System = Awaited<ReturnType<typeof assemble>>;

/**
 * Assembles the system on its Redis: the one place where its parts are put together, for the server, the command line
 * and the tests. Rejects with a `StartError` when the master key does not open the data, or a restore is not finished.
 */
export async function assemble(options: SystemOptions) {
  const { observer = NOOP_OBSERVER, recordEvent = () => undefined } = options;
  const redis = await openRedis(options.redis, {
    replicas: options.redisWait,
    onCall: observer.redisCall,
    onLink: (state) => recordEvent(`redis_${state}`),
  });
  try {
    await options.checkRedis?.(redis);
    if (options.restoring !== true && (await isHalfRestored(redis))) {
      throw new StartError(HALF_RESTORED);
    }
    return await assembleOn(redis, { ...options, observer, recordEvent });
  } catch (error) {
    await redis.close();
    throw error;
  }
}

type Connected = SystemOptions & Required<Pick<SystemOptions, 'observer' | 'recordEvent'>>;

async function assembleOn(redis: RedisLink, options: Connected) {
  const { settings, ring, observer, recordEvent, now = Date.now } = options;
  const { pool, crypto, buckets } = await openWorkers(redis, options);
  const stores = openStores(redis, buckets);
  const randomId = (): string => randomBytes(16).toString('base64url');
  const services = createServices({
    ...{ options, settings, stores, crypto, observer, recordEvent, now, randomId },
    random: () => randomInt(FRACTIONS) / FRACTIONS,
    cursors: createCursors(await crypto.cursorKey()),
  });
  const { admission, audit, auditCheckpoints, jobs, keys, metering } = services;
  const parts = { stores, services };
  /** Writes the security log entries that wait, and signs how far the logs have come. */
  const checkpoint = async (): Promise<void> => {
    await audit.flush();
    await auditCheckpoints.take();
  };
  const sweepOnce = (): Promise<void> => sweep(parts);
  const figures: GaugeSources = {
    threads: pool.stats,
    isRedisConnected: redis.isConnected,
    redis: () => readRedisStats(redis),
    jobs: jobs.figures,
    work: admission.stats,
  };
  return {
    ...{ settings, redis, pool, crypto, stores, services, now, randomId, checkpoint, figures },
    masterKeys: { writeId: ring.writeId, ids: [...ring.keys.keys()] },
    /** Resolves when Redis takes a write. */
    probe: () => probeRedis(redis),
    sweep: sweepOnce,
    removeAccount: (name: string) => removeAccount(parts, name),
    background: createBackground({ startJobs: jobs.start, sweep: sweepOnce, checkpoint, recordEvent }),
    /** Lets what is in flight finish, then closes everything. */
    async close() {
      await jobs.close();
      keys.close();
      await audit.flush(true);
      await pool.drain();
      await metering.flush().catch(() => undefined);
      await redis.close();
    },
  };
}
