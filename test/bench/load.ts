/** The load generator: wrk, or a client of our own where there is none. One for all that is compared. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ClientOrder } from './client.ts';
import { type Plan, requestText } from './plan.ts';
import { startPiped } from './processes.ts';

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

/** Prepares the load; plans are written into `folder` for the generator to read. */
export function createLoad(folder: string): Load {
  const wrk = findWrk();
  let runs = 0;

  const prepare = (plan: Plan) => {
    runs += 1;
    const requestFile = join(folder, `request-${runs}.txt`);
    writeFileSync(requestFile, requestText(plan));
    const linesFile = plan.lines && join(folder, `lines-${runs}.txt`);
    if (linesFile !== undefined) {
      writeFileSync(linesFile, `${plan.lines?.join('\n')}\n`);
    }
    return { requestFile, linesFile, first: runs * SEQUENCE_STEP };
  };

  const collect = async (command: string[]): Promise<LoadResult> => {
    const child = startPiped(command);
    const output = await new Response(child.stdout).text();
    await child.exited;
    const line = /^RESULT (.*)$/m.exec(output)?.[1];
    if (line === undefined) {
      throw new Error(`the load generator failed: ${output.slice(-500)}`);
    }
    const cpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
    const result: LoadResult = { ...(JSON.parse(line) as Omit<LoadResult, 'cpuSeconds'>), cpuSeconds };
    if (result.errors > 0) {
      throw new Error(`${result.errors} of ${result.requests} requests failed`);
    }
    return result;
  };

  const ownClient = (order: ClientOrder): Promise<LoadResult> =>
    collect([process.execPath, join(import.meta.dir, 'client.ts'), JSON.stringify(order)]);

  return {
    generator: wrk === null ? 'own client' : 'wrk',
    forSeconds(port, plan, seconds, connections) {
      const { requestFile, linesFile, first } = prepare(plan);
      if (wrk === null) {
        return ownClient({ port, connections, requestFile, linesFile, first, seconds });
      }
      return collect([
        wrk,
        ...['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '20s'],
        ...['-s', join(import.meta.dir, 'load.lua'), `http://127.0.0.1:${port}`, '--'],
        ...[requestFile, linesFile ?? '-', String(first)],
      ]);
    },
    times: (port, plan, count) => ownClient({ port, connections: STORING, ...prepare(plan), count }),
  };
}
