import { type Aggregator, Gauge, type Registry } from 'prom-client';

interface ThreadStats {
  /** Jobs that wait for a thread, by lane. */
  readonly queued: Readonly<Record<string, number>>;
  readonly coldRunning: number;
  readonly threadsAlive: number;
  readonly threadsBusy: number;
}

/** Figures of Redis. For a Cluster: memory of the fullest node, and flags that are true on all nodes. */
interface RedisStats {
  readonly memoryUsedBytes: number;
  /** 0: no limit. */
  readonly memoryMaxBytes: number;
  readonly isAofEnabled: boolean;
  /** True if the last write and the last rewrite of the append-only file succeeded. */
  readonly isAofWriteOk: boolean;
}

export interface JobStats {
  /** In the queue, over all servers; undefined on a server that does not process them. */
  readonly queued: () => Promise<number | undefined>;
  /** That this server processes now. */
  inFlight(): number;
}

/** How many things of a kind expire within a period, over all accounts. */
interface ExpiringCount {
  readonly kind: string;
  readonly within: string;
  readonly count: number;
}

/** Classes of the limiter: those of requests, and those of the lanes of the threads but the hot one. */
type GaugedClass = 'write' | 'read' | 'list' | 'open' | 'page' | 'unlock' | 'guess';
/** Units in use, and requests or jobs that wait, by class. */
type WorkStats = Readonly<Record<GaugedClass, { readonly used: number; readonly waiting: number }>>;

/** Sources of the gauges, read at a scrape. */
export interface GaugeSources {
  readonly threads: () => ThreadStats;
  readonly isRedisConnected: () => boolean;
  readonly redis: () => Promise<RedisStats>;
  /** The start of the newest complete backup, in ms since 1970; 0 if there was none. */
  readonly lastBackup: () => Promise<number>;
  /** Counted by one server for all; undefined while no server counts. */
  readonly expiring: () => Promise<readonly ExpiringCount[] | undefined>;
  readonly jobs: JobStats;
  readonly work: () => WorkStats;
  /** True if expired verification codes have left the append-only files; undefined while there are none. */
  readonly isSadRewritten: () => boolean | undefined;
  /** On the server that delivers access events: true if its last round has delivered all, and the number of waiting logs. */
  readonly sink: () => { readonly isOk?: boolean | undefined; readonly backlog?: number | undefined };
  /** Over all accounts; undefined before the first look. */
  readonly events: () => { readonly waiting: number; readonly paused: number } | undefined;
}

/** Values that only Redis knows; undefined while they are unknown. */
interface RedisSnapshot {
  readonly redis?: RedisStats | undefined;
  readonly jobsQueued?: number | undefined;
  readonly lastBackup?: number | undefined;
  readonly expiring?: readonly ExpiringCount[] | undefined;
}

/** The shortest time between two queries to Redis, however often the metrics are scraped. */
const REFRESH_MS = 5_000;

/** Registers a gauge, without a sample while `read` returns undefined. `aggregator` combines several processes. */
export function addGauge(
  registry: Registry,
  aggregator: Aggregator,
  name: string,
  help: string,
  read: () => number | boolean | undefined,
): void {
  new Gauge({
    ...{ name, help, aggregator },
    registers: [registry],
    collect() {
      const value = read();
      if (value === undefined) {
        this.remove();
      } else {
        this.set(Number(value));
      }
    },
  });
}

/** Registers a gauge with one label and a sample for each entry that `read` returns. */
function addLabelledGauge(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Readonly<Record<string, number>>,
): void {
  new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      for (const [value, count] of Object.entries(read())) {
        this.set({ [label]: value }, count);
      }
    },
  });
}

/** Gauges of this process; reading them costs nothing. */
function addProcessGauges(registry: Registry, sources: GaugeSources): void {
  const { threads, jobs, work, isRedisConnected, isSadRewritten, sink, events } = sources;
  const add = addGauge.bind(undefined, registry, 'sum');
  const addFlag = addGauge.bind(undefined, registry, 'min');
  add('vault_worker_threads_alive', 'Worker threads that accept jobs.', () => threads().threadsAlive);
  add('vault_worker_threads_busy', 'Worker threads that run a job.', () => threads().threadsBusy);
  add('vault_argon2_in_flight', 'Argon2id computations in flight.', () => threads().coldRunning);
  addFlag('vault_redis_connected', '1 while Redis is connected.', isRedisConnected);
  addFlag(
    'vault_sad_rewrite_ok',
    '0 while expired verification codes cannot be removed from the append-only file of Redis.',
    isSadRewritten,
  );
  addFlag('vault_audit_sink_ok', '0 while access events cannot be delivered to the sink.', () => sink().isOk);
  addGauge(
    registry,
    'max',
    'vault_audit_sink_backlog',
    'Logs with entries that the sink has not got.',
    () => sink().backlog,
  );
  addGauge(
    registry,
    'max',
    'vault_event_deliveries_waiting',
    'Events that wait for their receivers, over all accounts.',
    () => events()?.waiting,
  );
  addGauge(
    registry,
    'max',
    'vault_event_subscriptions_paused',
    'Subscriptions whose new events are left out, over all accounts.',
    () => events()?.paused,
  );
  add('vault_proxy_jobs_in_flight', 'Asynchronous requests that this server processes.', () =>
    jobs.inFlight(),
  );
  add('vault_work_running', 'Short operations that hold a concurrency slot.', () => {
    const { write, read } = work();
    return write.used + read.used;
  });
  addLabelledGauge(
    registry,
    'vault_work_in_flight',
    'Admitted operations in flight, by class.',
    'class',
    () => {
      const { write, read, list, open } = work();
      const inFlight = Object.entries({ write, read, list, open });
      return Object.fromEntries(inFlight.map(([name, { used, waiting }]) => [name, used + waiting]));
    },
  );
  addLabelledGauge(
    registry,
    'vault_worker_jobs_queued',
    'Jobs that wait for a worker thread, by lane; cold and guess are Argon2id.',
    'lane',
    () => {
      const { hot = 0, bulk = 0, cold = 0, guess = 0 } = threads().queued;
      const { page, unlock, guess: guesses } = work();
      return { hot, bulk: bulk + page.waiting, cold: cold + unlock.waiting, guess: guess + guesses.waiting };
    },
  );
}

/** Gauges whose values are read from Redis; `snapshot` returns the last ones. */
function addRedisGauges(registry: Registry, snapshot: () => RedisSnapshot): void {
  const add = addGauge.bind(undefined, registry, 'max');
  const addFlag = addGauge.bind(undefined, registry, 'min');
  add('vault_redis_memory_used_bytes', 'Memory that Redis uses.', () => snapshot().redis?.memoryUsedBytes);
  add(
    'vault_redis_memory_max_bytes',
    'Memory that Redis may use; 0 = no limit.',
    () => snapshot().redis?.memoryMaxBytes,
  );
  addFlag(
    'vault_redis_aof_enabled',
    '1 while Redis keeps an append-only file.',
    () => snapshot().redis?.isAofEnabled,
  );
  addFlag(
    'vault_redis_aof_write_ok',
    '1 while Redis can write and rewrite its append-only file.',
    () => snapshot().redis?.isAofWriteOk,
  );
  add(
    'vault_proxy_jobs_queued',
    'Asynchronous requests in the queue, over all servers.',
    () => snapshot().jobsQueued,
  );
  add('vault_last_backup_timestamp_seconds', 'When the newest complete backup began; 0 = none yet.', () => {
    const at = snapshot().lastBackup;
    return at === undefined ? undefined : at / 1_000;
  });
  new Gauge({
    name: 'vault_expiring',
    help: 'What expires within a period, over all accounts, by kind; certificates that have expired are included.',
    aggregator: 'max',
    labelNames: ['kind', 'within'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { kind, within, count } of snapshot().expiring ?? []) {
        this.set({ kind, within }, count);
      }
    },
  });
}

/** Reads the values of Redis. A value that cannot be read is undefined; never rejects. */
async function readSnapshot(sources: GaugeSources): Promise<RedisSnapshot> {
  if (!sources.isRedisConnected()) {
    return {};
  }
  const [redis, jobsQueued, lastBackup, expiring] = await Promise.all([
    sources.redis().catch(() => undefined),
    sources.jobs.queued().catch(() => undefined),
    sources.lastBackup().catch(() => undefined),
    sources.expiring().catch(() => undefined),
  ]);
  return { redis, jobsQueued, lastBackup, expiring };
}

/**
 * Registers all gauges. Call the returned function before each scrape: it queries Redis, at most every 5 s. A gauge whose
 * value is unknown has no sample; an old value is never shown.
 */
export function addGauges(registry: Registry, sources: GaugeSources): () => Promise<void> {
  let snapshot: RedisSnapshot = {};
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  addProcessGauges(registry, sources);
  addRedisGauges(registry, () => snapshot);
  const refresh = async (): Promise<void> => {
    snapshot = await readSnapshot(sources);
    refreshedAt = performance.now();
    refreshing = undefined;
  };
  return async () => {
    if (performance.now() - refreshedAt > REFRESH_MS) {
      refreshing ??= refresh();
    }
    await refreshing;
  };
}
