import type { Config } from '../../config/config.ts';
import { preparePlace } from '../redis/process.ts';

/**
 * The configuration of one of several processes, by its place from 0: its share of the worker threads, at least one, and
 * the embedded Redis as one that its supervisor runs.
 */
export function ownShare(config: Config, slot: number): Config {
  const { processes, workers, redis, dataDir } = config;
  return Object.freeze({
    ...config,
    workers: Math.max(1, Math.floor((workers + slot) / processes)),
    redis:
      redis.kind === 'embedded' ? { kind: 'socket' as const, path: preparePlace(dataDir).socketPath } : redis,
  });
}
