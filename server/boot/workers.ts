import { randomBytes } from 'node:crypto';
import { availableParallelism, freemem } from 'node:os';
import type { ThreadData } from '../../workers/jobs/context.ts';
import { createRootCell, writeRootCell } from '../../workers/jobs/root-keys.ts';
import { Pool } from '../../workers/pool/pool.ts';
import { StartError } from '../core/errors.ts';
import { type Crypto, createCrypto } from '../crypto/client.ts';
import type { Installation, InstallationStore } from '../installation/store.ts';
import type { Capacity } from '../limits/classes.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { ObservedOptions } from './options.ts';

/** The number of partitions of a key in a new installation. */
const BUCKETS = 16;
/** Longer queues of short jobs are rejected as `overloaded`. */
const HOT_QUEUE_MAX = 2_000;
const entry = new URL('../../workers/worker.ts', import.meta.url);

/** The error for a Redis with an unfinished restore. */
export const HALF_RESTORED =
  'This Redis holds an unfinished restore. Run the restore again with the same file, or empty this Redis.';

/** Guesses run on one of so many places for Argon2id. */
const GUESS_PART = 4;

/**
 * Returns the capacity of one of `processes`. Its Argon2id runs are its share of as many as fit into free memory while one core
 * is left for other work.
 */
export function capacityOf({ argon2, workers, processes = 1 }: ObservedOptions): Capacity {
  const all = Math.min(availableParallelism() - 1, Math.floor(freemem() / (argon2.memoryKiB * 1_024)));
  const unlocks = Math.max(1, Math.floor(all / processes));
  return { threads: workers, unlocks, guesses: Math.max(1, Math.floor(unlocks / GUESS_PART)) };
}

/** The error of a command for a Redis without a vault. */
const NO_VAULT =
  'There is no vault in this Redis. Check VAULT_REDIS_URL and VAULT_DATA_DIR. Only a server or a restore makes a vault.';

/**
 * Reads the installation record, creates it in an empty Redis unless one must exist, and checks that the master key opens it.
 * Rejects with a `StartError` if it does not, if there is none, or if a restore is unfinished.
 */
async function openInstallation(
  store: InstallationStore,
  crypto: Crypto,
  isExisting: boolean,
): Promise<Installation> {
  const found = await store.read();
  if (found === undefined && isExisting) {
    throw new StartError(NO_VAULT);
  }
  const installation =
    found ?? (await store.claim({ buckets: BUCKETS, root: Buffer.from(await crypto.createRoot()) }));
  if (installation === undefined) {
    throw new StartError(HALF_RESTORED);
  }
  await crypto.checkRoot({ root: installation.root }).catch(() => {
    throw new StartError(
      'The master key (or VAULT_ENV) does not fit the data in this Redis. Start with the key that the vault was created with.',
    );
  });
  return installation;
}

/**
 * Starts the worker threads with the keys of this vault, and resolves when all of them accept jobs. Rejects with a
 * `StartError` when the master key does not open the data in this Redis, there is no vault that must exist, or a restore is
 * unfinished.
 */
export async function openWorkers(
  store: InstallationStore,
  { settings, ring, argon2, argon2Divisor, isExisting = false, observer, recordEvent }: ObservedOptions,
  { threads, unlocks, guesses }: Capacity,
  limiter: Limiter,
) {
  const cell = createRootCell();
  const workerData: ThreadData = {
    env: settings.environment,
    writeId: ring.writeId,
    keys: [...ring.keys],
    processKey: randomBytes(32),
    argon2,
    ...(argon2Divisor === undefined ? {} : { argon2Divisor }),
    root: cell,
  };
  const pool = new Pool({
    entry,
    threads,
    workerData,
    queueMax: HOT_QUEUE_MAX,
    coldConcurrency: unlocks,
    guessConcurrency: guesses,
    onEvent: ({ type, ...fields }) => recordEvent(type, fields),
    onJob: observer.threadJob,
  });
  try {
    await pool.ready();
    const crypto = createCrypto(pool, limiter, observer.threadCall);
    const { root, buckets } = await openInstallation(store, crypto, isExisting);
    writeRootCell(cell, root);
    return { pool, crypto, buckets, cell, root };
  } catch (error) {
    await pool.drain();
    throw error;
  }
}
