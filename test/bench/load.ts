/** The load generator: wrk, or a client of our own where there is none. One for all that is compared. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Plan, requestsOf, requestText } from './plan.ts';
import { resultOf } from './processes.ts';
import type { SendOrder, Sent } from './sender.ts';

const ROOT = resolve(import.meta.dir, '../..');
/** Connections that store a given number of cards. */
const STORING = 32;

/** Numbers that one run of a plan has for itself; more than it can send. */
const SEQUENCE_STEP = 10_000_000;

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Replies other than 200, and requests without a reply. */
  readonly errors: number;
  /** CPU seconds of the generator. */
  readonly cpuSeconds: number;
}

/** Sends the requests of plans. Rejects when any of them was answered with an error, or not at all. */
export interface Load {
  readonly generator: string;
  forSeconds(port: number, plan: Plan, seconds: number, connections: number): Promise<LoadResult>;
  times(port: number, plan: Plan, count: number): Promise<LoadResult>;
}

/** wrk on PATH, or the one that the script fetches; null where there is none to be had. */
function findWrk(): string | null {
  Bun.spawnSync(['sh', join(ROOT, 'scripts/wrk-vendor.sh')], { stdio: ['ignore', 2, 2] });
  return Bun.which('wrk') ?? Bun.which(join(ROOT, '.vendor/wrk/wrk'));
}

let runs = 0;

/** The first number of the sequence of a new run, and the files of it in `folder`. */
function newRun(folder: string) {
  runs += 1;
  const fileOf = (name: string): string => join(folder, `${name}-${runs}.txt`);
  return { first: runs * SEQUENCE_STEP, fileOf };
}

/** Sends requests in a process of its own; resolves when it is done. */
export async function send(
  folder: string,
  order: Omit<SendOrder, 'first'>,
): Promise<Sent & { readonly cpuSeconds: number }> {
  const { first, fileOf } = newRun(folder);
  writeFileSync(fileOf('order'), JSON.stringify({ ...order, first }));
  const command = [process.execPath, join(import.meta.dir, 'sender.ts'), fileOf('order')];
  const { result, cpuSeconds } = await resultOf<Sent>(command);
  return { ...result, cpuSeconds };
}

function checked(result: LoadResult): LoadResult {
  if (result.errors > 0) {
    throw new Error(`${result.errors} of ${result.requests} requests failed`);
  }
  return result;
}

/** Prepares the load; plans are written into `folder` for the generator to read. */
export function createLoad(folder: string): Load {
  const wrk = findWrk();

  const runWrk = async (wrkPath: string, port: number, plan: Plan, seconds: number, connections: number) => {
    const { first, fileOf } = newRun(folder);
    writeFileSync(fileOf('request'), requestText(plan));
    if (plan.lines !== undefined) {
      writeFileSync(fileOf('lines'), `${plan.lines.join('\n')}\n`);
    }
    const { result, cpuSeconds } = await resultOf<Omit<LoadResult, 'cpuSeconds'>>([
      wrkPath,
      ...['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '20s'],
      ...['-s', join(import.meta.dir, 'load.lua'), `http://127.0.0.1:${port}`, '--'],
      ...[fileOf('request'), plan.lines === undefined ? '-' : fileOf('lines'), String(first)],
    ]);
    return checked({ ...result, cpuSeconds });
  };

  const ownClient = async (plan: Plan, order: Omit<SendOrder, 'first' | 'requests'>): Promise<LoadResult> => {
    const { statuses, ...sent } = await send(folder, { ...order, requests: requestsOf(plan) });
    const requests = Object.values(statuses).reduce((sum, each) => sum + each, 0);
    return checked({ ...sent, requests, errors: requests - (statuses['200'] ?? 0) });
  };

  return {
    generator: wrk === null ? 'own client' : 'wrk',
    forSeconds: (port, plan, seconds, connections) =>
      wrk === null
        ? ownClient(plan, { port, connections, seconds })
        : runWrk(wrk, port, plan, seconds, connections),
    times: (port, plan, count) => ownClient(plan, { port, connections: STORING, count }),
  };
}
