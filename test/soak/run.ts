/**
 * A vault under mixed load for half an hour, at six tenths of what it can do: memory, descriptors, connections and
 * latency, minute by minute. `bun run test:soak [--minutes N]`.
 */
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { residentBytes } from '../bench/cpu.ts';
import { makeFolder } from '../bench/processes.ts';
import { renderTable } from '../bench/report.ts';
import { startVault, type Vault } from '../bench/servers.ts';
import { median, percentile } from '../bench/stats.ts';
import { prepareMix } from './mix.ts';

const LOAD_SHARE = 0.6;
const SATURATION_SECONDS = 10;
/** Until then caches fill and the runtime compiles. */
const SETTLED_MINUTE = 10;
const SLOPE_MB_MAX = 1;
const DRIFT_MAX = 1.5;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
const minutes = Number(values.minutes);
function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

interface Row {
  readonly minute: number;
  readonly requests: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverMb: number;
  readonly redisMb: number;
  readonly descriptors: number;
  readonly connections: number;
}

async function look({ pid, redis, redisPid }: Vault) {
  return {
    serverMb: residentBytes(pid) / 1e6,
    redisMb: residentBytes(redisPid) / 1e6,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    connections: Number(/^connected_clients:(\d+)/m.exec(await redis.info('clients'))?.[1]),
  };
}

/** Least squares: how much a figure grows from one row to the next. */
function slope(ys: readonly number[]): number {
  const middle = (ys.length - 1) / 2;
  const mean = ys.reduce((sum, y) => sum + y, 0) / ys.length;
  const [over, under] = ys.reduce(
    ([a, b], y, x) => [a + (x - middle) * (y - mean), b + (x - middle) ** 2] as const,
    [0, 0] as readonly [number, number],
  );
  return under === 0 ? 0 : over / under;
}

function faultsOf(rows: readonly Row[]): string[] {
  const settled = rows.filter(({ minute }) => minute > Math.min(SETTLED_MINUTE, minutes / 3));
  const half = Math.ceil(settled.length / 2);
  const [early, late] = [settled.slice(0, half), settled.slice(-half)];
  const p99 = (some: readonly Row[]): number => median(some.map(({ p99Ms }) => p99Ms));
  const p50 = (some: readonly Row[]): number => median(some.map(({ p50Ms }) => p50Ms));
  const grown = slope(settled.map(({ serverMb }) => serverMb));
  const spread = (of: (row: Row) => number): number =>
    Math.max(...settled.map(of)) - Math.min(...settled.map(of));
  const faults: readonly (readonly [boolean, string])[] = [
    [grown >= SLOPE_MB_MAX, `the server grows by ${grown.toFixed(2)} MB a minute`],
    [
      p99(late) > DRIFT_MAX * p99(early),
      `p99 went from ${p99(early).toFixed(1)} to ${p99(late).toFixed(1)} ms`,
    ],
    [spread(({ descriptors }) => descriptors) > 10, 'descriptors are not flat'],
    [spread(({ connections }) => connections) > 2, 'connections to Redis are not flat'],
    [rows.some(({ failed }) => failed > 0), 'requests failed'],
    [
      p50(late) > DRIFT_MAX * p50(early),
      `p50 went from ${p50(early).toFixed(1)} to ${p50(late).toFixed(1)} ms`,
    ],
  ];
  return faults.flatMap(([isSo, text]) => (isSo ? [text] : []));
}

function cellsOf(row: Row): string[] {
  return [
    String(row.minute),
    String(row.requests),
    String(row.failed),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    row.serverMb.toFixed(0),
    row.redisMb.toFixed(0),
    String(row.descriptors),
    String(row.connections),
  ];
}

async function main(): Promise<number> {
  const vault = await startVault(makeFolder());
  const mix = await prepareMix(vault);
  await mix.saturate(SATURATION_SECONDS / 2);
  const most = await mix.saturate(SATURATION_SECONDS);
  const perSecond = Math.round(most * LOAD_SHARE);
  say(`${Math.round(most)} requests/s at most; ${perSecond} for ${minutes} minutes.`);
  const rows: Row[] = [];
  for (let minute = 1; minute <= minutes; minute += 1) {
    const { latenciesMs, failed } = await mix.run(60, perSecond);
    rows.push({
      ...{ minute, failed, requests: latenciesMs.length },
      ...{ p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) },
      ...(await look(vault)),
    });
    say(cellsOf(rows.at(-1) as Row).join('  '));
  }
  const head = [
    'Minute',
    'Requests',
    'Failed',
    'p50 ms',
    'p99 ms',
    'Server MB',
    'Redis MB',
    'Descriptors',
    'Connections',
  ];
  say(`\n${renderTable({ head, rows: rows.map(cellsOf) })}\n`);
  const faults = faultsOf(rows);
  say(faults.length === 0 ? 'Flat.' : faults.map((fault) => `Not flat: ${fault}.`).join('\n'));
  await vault.stop();
  return faults.length;
}

process.exit((await main()) === 0 ? 0 : 1);
