/** CPU time and memory of other processes, as Linux tells them. */
import { readdirSync, readFileSync } from 'node:fs';

/** Seconds of CPU by who used them. */
export interface CpuSplit {
  /** The server's first thread. */
  readonly main: number;
  /** The server's worker threads. */
  readonly workers: number;
  /** The server's other threads: garbage collection, compilation, the runtime's pool (Argon2id runs there). */
  readonly runtime: number;
  readonly redis: number;
  readonly load: number;
}

/** Nothing used. */
export const NO_CPU: CpuSplit = { main: 0, workers: 0, runtime: 0, redis: 0, load: 0 };

function readOr(path: string, fallback: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return fallback;
  }
}

interface ThreadCpu {
  readonly name: string;
  readonly seconds: number;
}

/** CPU time of each thread that a process has now, by its id; the first number of `schedstat` is in nanoseconds. */
function threadCpu(pid: number): Map<string, ThreadCpu> {
  const tasks = `/proc/${pid}/task`;
  return new Map(
    readdirSync(tasks).map((tid) => {
      const [nanoseconds = '0'] = readOr(`${tasks}/${tid}/schedstat`, '0').split(' ');
      return [tid, { name: readOr(`${tasks}/${tid}/comm`, ''), seconds: Number(nanoseconds) / 1e9 }] as const;
    }),
  );
}

/** What threads have used since `before`; those that ended meanwhile are left out. */
function usedSince(before: Map<string, ThreadCpu>, pid: number): [tid: string, ThreadCpu][] {
  return [...threadCpu(pid)].map(([tid, { name, seconds }]) => [
    tid,
    { name, seconds: seconds - (before.get(tid)?.seconds ?? 0) },
  ]);
}

function sumOf(used: readonly (readonly [string, ThreadCpu])[]): number {
  return used.reduce((sum, [, { seconds }]) => sum + seconds, 0);
}

/** The sum of several splits. */
export function addSplits(splits: readonly CpuSplit[]): CpuSplit {
  const sum = (part: keyof CpuSplit): number => splits.reduce((total, split) => total + split[part], 0);
  return {
    main: sum('main'),
    workers: sum('workers'),
    runtime: sum('runtime'),
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
  const threadsBefore = threadCpu(serverPid);
  const redisBefore = redisPid === undefined ? new Map() : threadCpu(redisPid);
  const result = await work();
  const used = usedSince(threadsBefore, serverPid);
  const main = used.filter(([tid]) => tid === String(serverPid));
  const workers = used.filter(([, { name }]) => name.startsWith('Worker'));
  const split = {
    main: sumOf(main),
    workers: sumOf(workers),
    runtime: sumOf(used) - sumOf(main) - sumOf(workers),
    redis: redisPid === undefined ? 0 : sumOf(usedSince(redisBefore, redisPid)),
    load: 0,
  };
  return { result, split };
}

/** Bytes of memory that a process has in RAM now. */
export function residentBytes(pid: number): number {
  return 1_024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readOr(`/proc/${pid}/status`, ''))?.[1] ?? 0);
}

const SAMPLE_MS = 10;

/** Runs work; also the most by which the memory of a process has grown meanwhile, in bytes. */
export async function withGrowth<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly grown: number }> {
  const before = residentBytes(pid);
  let most = before;
  const sampler = setInterval(() => {
    most = Math.max(most, residentBytes(pid));
  }, SAMPLE_MS);
  try {
    return { result: await work(), grown: Math.max(most, residentBytes(pid)) - before };
  } finally {
    clearInterval(sampler);
  }
}
