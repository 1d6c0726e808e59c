/** CPU time and memory of other processes, as Linux tells them. */
import { readdirSync, readFileSync } from 'node:fs';

/** Seconds of CPU by who used them. */
export interface CpuSplit {
  /** The server's first thread. */
  readonly main: number;
  /** The server's worker threads. */
  readonly workers: number;
  /** The server's other threads: garbage collection, compilation, the runtime's pool (Argon2id runs there). */
  readonly others: number;
  readonly redis: number;
  readonly load: number;
}

type ServerCpu = Pick<CpuSplit, 'main' | 'workers' | 'others'>;

/** USER_HZ: the unit of /proc's times, 1/100 s on every Linux that Bun runs on. */
const TICKS_PER_SECOND = 100;
const UTIME_FIELD = 11;

function readOr(path: string, fallback: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return fallback;
  }
}

/** Name and CPU seconds out of a `stat` file; the name stands in parentheses and may hold any character. */
export function parseStat(stat: string): { readonly name: string; readonly seconds: number } {
  const end = stat.lastIndexOf(')');
  const fields = stat.slice(end + 2).split(' ');
  const ticks = Number(fields[UTIME_FIELD]) + Number(fields[UTIME_FIELD + 1]);
  return { name: stat.slice(stat.indexOf('(') + 1, end), seconds: ticks / TICKS_PER_SECOND };
}

/** CPU seconds of each thread that a process has now, by its id. */
function threadSeconds(pid: number): Map<string, { readonly name: string; readonly seconds: number }> {
  const stats = readdirSync(`/proc/${pid}/task`).map(
    (tid) => [tid, readOr(`/proc/${pid}/task/${tid}/stat`, '')] as const,
  );
  return new Map(stats.filter(([, stat]) => stat !== '').map(([tid, stat]) => [tid, parseStat(stat)]));
}

/** What a server's threads have used since `before`, by kind; threads that ended meanwhile are left out. */
function serverCpuSince(pid: number, before: ReturnType<typeof threadSeconds>): ServerCpu {
  const used = { main: 0, workers: 0, others: 0 };
  for (const [tid, { name, seconds }] of threadSeconds(pid)) {
    const kind = tid === String(pid) ? 'main' : name.startsWith('Worker') ? 'workers' : 'others';
    used[kind] += seconds - (before.get(tid)?.seconds ?? 0);
  }
  return used;
}

/** CPU seconds that a whole process has used since its start, ended threads included. */
export function processCpu(pid: number): number {
  return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).seconds;
}

/** Adds up splits of several rounds. */
export function addSplits(splits: readonly CpuSplit[]): CpuSplit {
  const sum = (part: keyof CpuSplit): number => splits.reduce((total, split) => total + split[part], 0);
  return {
    main: sum('main'),
    workers: sum('workers'),
    others: sum('others'),
    redis: sum('redis'),
    load: sum('load'),
  };
}

/** The processes whose CPU time is told apart. */
export interface Watched {
  readonly serverPid: number;
  readonly redisPid?: number | undefined;
}

/** What the watched processes used while `work` ran; the load generator's own part is left to be added. */
export async function withCpu<T>(
  { serverPid, redisPid }: Watched,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly split: CpuSplit }> {
  const redisNow = (): number => (redisPid === undefined ? 0 : processCpu(redisPid));
  const threadsBefore = threadSeconds(serverPid);
  const redisBefore = redisNow();
  const result = await work();
  const server = serverCpuSince(serverPid, threadsBefore);
  return { result, split: { ...server, redis: redisNow() - redisBefore, load: 0 } };
}

/** Bytes of memory that a process has in RAM now. */
export function residentBytes(pid: number): number {
  return 1_024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readOr(`/proc/${pid}/status`, ''))?.[1] ?? 0);
}
