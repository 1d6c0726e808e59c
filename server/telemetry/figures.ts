import { Gauge, type Registry } from 'prom-client';

/** How much the threads have to do. */
export interface ThreadFigures {
  readonly queued: Readonly<Record<'hot' | 'bulk' | 'cold', number>>;
  readonly coldRunning: number;
  readonly threadsAlive: number;
  readonly threadsBusy: number;
}

/** What Redis tells of itself; of a Cluster the fullest node, and `isAppendOnly` only when all are. */
export interface RedisFigures {
  readonly memoryUsedBytes: number;
  /** 0 = no limit. */
  readonly memoryMaxBytes: number;
  readonly isAppendOnly: boolean;
  /** Whether the last write and the last rewrite of the append-only file went well. */
  readonly isAppendOnlyWell: boolean;
}

/** Asynchronous requests: in the queue of all servers, and in the hands of this one. */
export interface JobFigures {
  /** Undefined on a server that has no part in them. */
  readonly waiting: () => Promise<number | undefined>;
  readonly inHand: () => number;
}

/** Work that was let in: short works that have had their turn, and all that is in hand, by class. */
export interface WorkFigures {
  readonly running: number;
  readonly inHand: Readonly<Record<string, number>>;
}

/** Where the figures come from that are asked for, not told. */
export interface Figures {
  readonly threads: () => ThreadFigures;
  readonly isRedisConnected: () => boolean;
  readonly redis: () => Promise<RedisFigures>;
  readonly jobs: JobFigures;
  readonly work: () => WorkFigures;
}

/** How often Redis is asked at most, however often the metrics are. */
const ASK_MS = 5_000;
const LANES = ['hot', 'bulk', 'cold'] as const;

/** The threads and the connection, which tell at once. */
function addOwn(registry: Registry, { threads, jobs, work, isRedisConnected }: Figures): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge('vault_worker_threads_alive', 'Threads that take jobs.', () => threads().threadsAlive);
  gauge('vault_worker_threads_busy', 'Threads that have a job in hand.', () => threads().threadsBusy);
  gauge('vault_argon2_running', 'Argon2id runs under way.', () => threads().coldRunning);
  gauge('vault_redis_connected', '1 while Redis is connected.', () => (isRedisConnected() ? 1 : 0));
  gauge('vault_proxy_jobs_in_hand', 'Asynchronous requests that this server works on.', jobs.inHand);
  gauge('vault_work_running', 'Short works that have had their turn.', () => work().running);
  new Gauge({
    name: 'vault_work_in_hand',
    help: 'Work that was let in and is not over, by class.',
    labelNames: ['class'],
    registers: [registry],
    collect() {
      for (const [name, inHand] of Object.entries(work().inHand)) {
        this.set({ class: name }, inHand);
      }
    },
  });
  new Gauge({
    name: 'vault_worker_jobs_waiting',
    help: 'Jobs that wait for a thread, by lane; cold is Argon2id.',
    labelNames: ['lane'],
    registers: [registry],
    collect() {
      const { queued } = threads();
      for (const lane of LANES) {
        this.set({ lane }, queued[lane]);
      }
    },
  });
}

/** What only Redis knows. A figure that could not be had is left out, and never told as it once was. */
export function addFigures(registry: Registry, figures: Figures): () => Promise<void> {
  addOwn(registry, figures);
  let redis: RedisFigures | undefined;
  let waiting: number | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  const told = (name: string, help: string, read: () => number | undefined): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        const value = read();
        if (value === undefined) {
          this.remove();
        } else {
          this.set(value);
        }
      },
    });
  };
  told('vault_redis_memory_used_bytes', 'Memory that Redis uses.', () => redis?.memoryUsedBytes);
  told('vault_redis_memory_max_bytes', 'What it may use; 0 = no limit.', () => redis?.memoryMaxBytes);
  told('vault_redis_append_only', '1 while Redis keeps an append-only file.', () =>
    redis === undefined ? undefined : Number(redis.isAppendOnly),
  );
  told('vault_redis_append_only_well', '1 while writing that file goes well.', () =>
    redis === undefined ? undefined : Number(redis.isAppendOnlyWell),
  );
  told('vault_proxy_jobs_waiting', 'Asynchronous requests in the queue of all servers.', () => waiting);

  const ask = async (): Promise<void> => {
    // Who asks while Redis is away is told so at once.
    [redis, waiting] = figures.isRedisConnected()
      ? await Promise.all([
          figures.redis().catch(() => undefined),
          figures.jobs.waiting().catch(() => undefined),
        ])
      : [];
    askedAt = performance.now();
    asking = undefined;
  };
  return async () => {
    if (performance.now() - askedAt > ASK_MS) {
      asking ??= ask();
    }
    await asking;
  };
}
