import { randomInt } from 'node:crypto';
import { createRandomId } from '../core/clock.ts';
import { createCursors } from '../core/cursors.ts';
import { StartError } from '../core/errors.ts';
import { Roots } from '../installation/roots.ts';
import { InstallationStore } from '../installation/store.ts';
import type { RedisLink } from '../redis/client.ts';
import { readRedisStats } from '../redis/info.ts';
import { findRedis } from '../redis/open.ts';
import type { GaugeSources } from '../telemetry/gauges.ts';
import { NOOP_OBSERVER } from '../telemetry/observer.ts';
import { SadRewrites } from '../vault/sad-rewrite.ts';
import { createBackground } from './background.ts';
import type { SystemOptions } from './options.ts';
import { createServices } from './services.ts';
import { openStores } from './stores.ts';
import { removeAccount, sweep } from './sweep.ts';
import { HALF_RESTORED, openWorkers } from './workers.ts';

/** Random fractions are multiples of 2^-32: far finer than any pause or choice that they randomise. */
const FRACTIONS = 2 ** 32;

/** The open vault: its connection to Redis, worker threads, stores, services and recurring work. */
export type System = Awaited<ReturnType<typeof assemble>>;

/**
 * Assembles the system on its Redis: the composition root of the server, the command line and the tests. Rejects with
 * a `StartError` when the master key does not open the data, a restore is unfinished, or `checkRedis` rejects; Redis
 * is closed again in each case.
 */
export async function assemble(options: SystemOptions) {
  const { observer = NOOP_OBSERVER, recordEvent = () => undefined } = options;
  const { redis, target } = await findRedis(options.redis, {
    replicas: options.redisWait,
    onCall: observer.redisCall,
    onLink: (state) => recordEvent(`redis_${state}`),
  });
  try {
    await options.checkRedis?.(redis);
    if (options.restoring !== true && (await new InstallationStore(redis).isHalfRestored())) {
      throw new StartError(HALF_RESTORED);
    }
    return await assembleOn(redis, { ...options, redis: target, observer, recordEvent });
  } catch (error) {
    await redis.close();
    throw error;
  }
}

/** Options after the connection is open: observer and event recorder are set, as noops if the caller gave none. */
type Connected = SystemOptions & Required<Pick<SystemOptions, 'observer' | 'recordEvent'>>;

/**
 * Starts threads and services on an open connection. The order matters: the root key is read before any store is
 * used.
 */
async function assembleOn(redis: RedisLink, options: Connected) {
  const { settings, ring, observer, recordEvent, now = Date.now } = options;
  const installationStore = new InstallationStore(redis);
  const { pool, crypto, buckets, cell, root } = await openWorkers(installationStore, options);
  const roots = await Roots.open(installationStore, crypto, cell, now, root);
  const stores = openStores(redis, buckets, options.auditSink !== undefined);
  const randomId = createRandomId();
  const services = createServices({
    ...{ options, settings, stores, crypto, observer, recordEvent, now, randomId },
    random: () => randomInt(FRACTIONS) / FRACTIONS,
    cursors: createCursors(() => roots.cursorKeys()),
    roots,
  });
  const { admission, audit, auditCheckpoints, auditStream, logHeads, jobs } = services;
  const rewrites = new SadRewrites(stores.rewriteStore, settings, recordEvent, now, randomId);
  const parts = { stores, services };
  /** Writes the queued security log entries, then signs a checkpoint of every log that has grown, of items too. */
  const checkpoint = async (isLast = false): Promise<void> => {
    await audit.flush();
    await auditCheckpoints.take();
    await (isLast ? logHeads.takeLast() : logHeads.take());
  };
  const rewriteExpired = (): Promise<number> => rewrites.round();
  const sweepOnce = (): Promise<void> => sweep(parts);
  const figures: GaugeSources = {
    threads: pool.stats,
    isRedisConnected: () => redis.isConnected(),
    redis: () => readRedisStats(redis),
    lastBackup: () => installationStore.readLastBackup(),
    jobs,
    work: () => admission.stats(),
    isSadRewritten: () => rewrites.isOk(),
    sink: () => auditStream?.figures() ?? {},
  };
  return {
    ...{ settings, redis, pool, crypto, roots, stores, services, now, randomId, recordEvent },
    ...{ installationStore, checkpoint, figures },
    masterKeys: { writeId: ring.writeId, ids: [...ring.keys.keys()] },
    /** Resolves when Redis accepts a write. */
    probe: () => installationStore.probe(),
    sweep: sweepOnce,
    removeAccount: (name: string) => removeAccount(parts, name),
    /** Takes expired verification codes off the disk, if it is time; resolves with the ms until the next round. */
    rewriteExpired,
    background: createBackground({
      ...{ startJobs: () => jobs.start(), sweep: sweepOnce, checkpoint, rewriteExpired, recordEvent },
      writeRejections: () => audit.writeSoon(),
      stream: auditStream && (() => auditStream.round()),
    }),
    /**
     * Finishes the requests in flight, flushes logs and counters, then closes threads and Redis. Usage counters that
     * cannot be written are lost.
     */
    close: () => close({ redis, pool, services, rewrites }),
  };
}

async function close({
  redis,
  pool,
  services: { audit, auditStream, jobs, keyOpener, metering, rejections },
  rewrites,
}: {
  readonly redis: RedisLink;
  readonly pool: Awaited<ReturnType<typeof openWorkers>>['pool'];
  readonly services: ReturnType<typeof createServices>;
  readonly rewrites: SadRewrites;
}): Promise<void> {
  rewrites.stop();
  await auditStream?.stop();
  await jobs.close();
  keyOpener.close();
  await rejections.flush();
  await audit.flush(true);
  await pool.drain();
  await metering.flush().catch(() => undefined);
  await redis.close();
}
