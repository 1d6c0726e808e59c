/**
 * Counts what each operation costs, and prints it as one line of JSON. A program of its own, since objects can only be
 * counted in a process that collects no garbage and optimises no code: `budget.long.ts` starts it with such settings.
 */
import { heapStats } from 'bun:jsc';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { FrameReader } from '../../workers/pool/frame.ts';
import { type Server, startProgram } from '../bench/servers.ts';
import { median } from '../bench/stats.ts';
import { localProxy } from '../helpers/proxy.ts';
import { launchRedis, newRedisFolder, socketIn } from '../helpers/redis-process.ts';
import { thirdPartyTrust } from '../helpers/third-party.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { type HeldRedis, openHeldRedis } from './held-redis.ts';
import { OPERATIONS, type Operation, PAGE_ITEMS, prepare, type Requests } from './operations.ts';

/** The cost of one request. For a page, `promises` is per item. */
export interface Cost {
  /** Commands that are sent to Redis. */
  readonly commands: number;
  /** Commands that Redis executes, those inside of scripts included. */
  readonly executed: number;
  /** How often the request waits for Redis. */
  readonly roundTrips: number;
  /** Messages to a worker thread, and the jobs in them. */
  readonly frames: number;
  readonly jobs: number;
  /** The same for 32 requests that arrive at one instant; not counted of pages. */
  readonly commands32?: number;
  readonly executed32?: number;
  readonly roundTrips32?: number;
  readonly frames32?: number;
  /** Promises, and objects of all types, allocated by the main thread. */
  readonly promises: number;
  readonly objects: number;
}

/** Costs by operation, each with the commands sent to Redis. */
export type Counted = Readonly<
  Record<Operation, { readonly cost: Cost; readonly commands: readonly string[] }>
>;

const WARM_UP = 30;
const RUNS_TOGETHER = 8;
/** How often a request is watched; of what is counted in several runs, how often in each of them. */
const WATCHED = 5;
const WATCHED_A_RUN = 2;
const TOGETHER = 32;
/** Longer than what the vault does only once in a while: it counts for every request. */
const PAUSE_MS = 30;
/** Batches of requests; one that meets the garbage collection counts too little, the middle one does not. */
const BATCHES = 5;
const SINGLES = 20;
const PAGES = 1;
/** Commands of the counting itself. */
const OWN_COMMANDS = ['echo', 'info', 'config|resetstat'];

let frames = 0;
let jobs = 0;

function countFrames(): void {
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message: ArrayBuffer, ...rest: never[]) {
    frames += 1;
    for (const reader = new FrameReader(message); reader.next(); ) {
      jobs += 1;
    }
    return postMessage.call(this, message, ...rest);
  };
}

async function send({ app }: Pick<TestVault, 'app'>, request: Request): Promise<void> {
  const response = await app.handle(request);
  const bytes = await response.bytes();
  if (!response.ok) {
    throw new Error(`${request.url}: ${response.status} ${Buffer.from(bytes).toString()}`);
  }
}

async function executedCommands({ raw }: TestVault): Promise<number> {
  const info = await raw.info('commandstats');
  return [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)]
    .filter(([, name = '']) => !OWN_COMMANDS.includes(name))
    .reduce((sum, [, , calls]) => sum + Number(calls), 0);
}

type Hops = Pick<Cost, 'commands' | 'executed' | 'roundTrips' | 'frames' | 'jobs'>;

/**
 * Counts commands to Redis and messages to threads, with `atOnce` requests at a time. Returns the largest counts of
 * `watched` equal runs.
 */
async function countHops(
  vault: TestVault,
  held: HeldRedis,
  next: () => Request,
  atOnce: number,
  watched: number,
) {
  const isIdle = (): boolean => {
    const { running, queued } = vault.opened.pool.stats();
    return running + queued.hot + queued.bulk + queued.cold === 0;
  };
  const hops: Hops = { commands: 0, executed: 0, roundTrips: 0, frames: 0, jobs: 0 };
  let names: readonly string[] = [];
  for (let i = 0; i < watched; i += 1) {
    await Bun.sleep(PAUSE_MS);
    await vault.raw.config('RESETSTAT');
    [frames, jobs] = [0, 0];
    const requests = Array.from({ length: atOnce }, next);
    const sent = await held.watch(isIdle, () => Promise.all(requests.map((request) => send(vault, request))));
    const found: Hops = {
      ...{ commands: sent.commands.length, roundTrips: sent.roundTrips, frames, jobs },
      executed: await executedCommands(vault),
    };
    for (const name of Object.keys(hops) as (keyof Hops)[]) {
      Reflect.set(hops, name, Math.max(hops[name], found[name]));
    }
    names = sent.commands.length >= names.length ? sent.commands : names;
  }
  return { hops, names };
}

/**
 * Counts the cost of simultaneous requests. Returns the smallest of several runs: two writes to one bucket in the same
 * millisecond need two more commands each, and their number varies.
 */
async function countTogether(vault: TestVault, held: HeldRedis, next: () => Request) {
  const runs: Awaited<ReturnType<typeof countHops>>['hops'][] = [];
  for (let run = 0; run < RUNS_TOGETHER; run++) {
    runs.push((await countHops(vault, held, next, TOGETHER, WATCHED_A_RUN)).hops);
  }
  const fewest = (of: (hops: (typeof runs)[number]) => number): number => Math.min(...runs.map(of));
  return {
    commands32: fewest(({ commands }) => commands),
    executed32: fewest(({ executed }) => executed),
    roundTrips32: fewest(({ roundTrips }) => roundTrips),
    frames32: fewest(({ frames }) => frames),
  };
}

function allocatedNow() {
  const counts = heapStats().objectTypeCounts;
  return {
    promises: counts['Promise'] ?? 0,
    objects: Object.values(counts).reduce((sum, count) => sum + count, 0),
  };
}

/** Counts what the main thread allocates per request, or per item of a page: the median of several batches. */
async function countAllocated(vault: TestVault, next: () => Request, isPage: boolean) {
  const items = isPage ? PAGE_ITEMS : 1;
  const batches: ReturnType<typeof allocatedNow>[] = [];
  for (let i = 0; i < BATCHES; i += 1) {
    const requests = Array.from({ length: isPage ? PAGES : SINGLES }, next);
    const before = allocatedNow();
    for (const request of requests) {
      await send(vault, request);
    }
    const after = allocatedNow();
    const count = requests.length * items;
    batches.push({
      promises: (after.promises - before.promises) / count,
      objects: Math.round((after.objects - before.objects) / count),
    });
  }
  return {
    promises: median(batches.map(({ promises }) => promises)),
    objects: median(batches.map(({ objects }) => objects)),
  };
}

async function countOne(
  operation: Operation,
  { watched, direct }: Readonly<Record<'watched' | 'direct', TestVault>>,
  held: HeldRedis,
  requests: Requests,
) {
  const next = requests[operation];
  const isPage = operation === 'list' || operation === 'decrypt_all';
  for (let i = 0; i < WARM_UP; i += 1) {
    await send(watched, next());
    await send(direct, next());
  }
  const times = isPage ? WATCHED_A_RUN : WATCHED;
  let { hops, names } = await countHops(watched, held, next, 1, times);
  for (let run = 1; isPage && run < RUNS_TOGETHER; run++) {
    const again = await countHops(watched, held, next, 1, times);
    // How many steps a page is read in is chance: those of the run with the fewest count.
    if (again.hops.roundTrips < hops.roundTrips) {
      ({ hops, names } = again);
    }
  }
  const together = isPage ? {} : await countTogether(watched, held, next);
  const allocated = await countAllocated(direct, next, isPage);
  return { cost: { ...hops, ...together, ...allocated }, commands: names };
}

/** A third party in a process of its own: what it allocates is not counted. */
async function startTarget(folder: string): Promise<Server> {
  const { certPem, keyPem } = (await thirdPartyTrust()).credential;
  const files = [join(folder, 'target.crt'), join(folder, 'target.key')] as const;
  writeFileSync(files[0], certPem, { mode: 0o600 });
  writeFileSync(files[1], keyPem, { mode: 0o600 });
  return startProgram('target.ts', files);
}

async function countAll(): Promise<Counted> {
  const folder = newRedisFolder();
  const redis = await launchRedis(folder, false);
  const target = await startTarget(folder);
  const direct = { socketPath: socketIn(folder) };
  const through = { socketPath: join(folder, 'held') };
  const held = await openHeldRedis(direct.socketPath, through.socketPath);
  try {
    const common = { alone: true, proxy: await localProxy(), jobs: false };
    const watched = await openTestVault({ ...common, redis: through });
    // Without a limit of attempts there is nothing that only some requests do, by the clock.
    const settings = { ...common, redis: direct, join: true, authFailuresMax: 0 };
    const vaults = { watched, direct: await openTestVault(settings) };
    const requests = await prepare(watched, await watched.account(), `https://127.0.0.1:${target.port}`);
    const counted: [Operation, Counted[Operation]][] = [];
    for (const operation of OPERATIONS) {
      counted.push([operation, await countOne(operation, vaults, held, requests)]);
    }
    await vaults.direct.close();
    await watched.close();
    return Object.fromEntries(counted) as Counted;
  } finally {
    held.close();
    await target.stop();
    redis.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  countFrames();
  process.stdout.write(`${JSON.stringify(await countAll())}\n`);
  process.exit(0);
}
