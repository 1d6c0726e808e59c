import type { CpuSplit } from './cpu.ts';
import type { GrowthRow } from './growth.ts';
import type { LatencyRow } from './latency.ts';
import { type Figure, isReached } from './stats.ts';

/** What one kind of request used of the machine while it was measured. */
export interface CpuRow {
  readonly name: string;
  readonly seconds: number;
  readonly requests: number;
  readonly split: CpuSplit;
}

/** What a run of the benchmark leaves in bench-results/bench.json. */
export interface BenchResult {
  readonly time: string;
  /** Every section in full length: what may be published. */
  readonly isWhole: boolean;
  readonly machine: {
    readonly cores: number;
    readonly processor: string;
    readonly bun: string;
    readonly generator: string;
    readonly loadAverage: readonly number[];
  };
  readonly seconds: number;
  readonly rounds: number;
  readonly repeats: number;
  readonly figures: readonly Figure[];
  readonly cpu: readonly CpuRow[];
  readonly latency: readonly LatencyRow[];
  readonly growth: readonly GrowthRow[];
}

const UNMEASURED = '';

/** A number with the digits that mean something: 12,345 / 123.4 / 1.23 / 0.123 / 0.00012. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (size < 0.01) {
    return value.toLocaleString('en-US', { maximumSignificantDigits: 2 });
  }
  const digits = size >= 1_000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function optional(value: number | undefined): string {
  return value === undefined ? UNMEASURED : formatNumber(value);
}

function formatAim({ aim, unit }: Figure): string {
  if (aim === undefined) {
    return UNMEASURED;
  }
  const bound = aim.least ?? aim.most ?? Number.NaN;
  const suffix = aim.of === 'ratio' ? '' : ` ${unit}`;
  return `${aim.least === undefined ? '<=' : '>='} ${formatNumber(bound)}${suffix}`;
}

function formatReached(figure: Figure): string {
  const reached = isReached(figure);
  return reached === undefined ? UNMEASURED : reached ? 'yes' : 'NO';
}

/** What was measured, as text in cells. The first column has names, the others have values. */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A table as Markdown. */
export function renderMarkdown({ head, rows }: Table): string {
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  return [head, head.map((_, at) => (at === 0 ? '---' : '---:')), ...rows].map(line).join('\n');
}

/** A table for a terminal: columns as wide as their widest cell, the names left-aligned, the values right-aligned. */
export function renderTable({ head, rows }: Table): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/** The figures with their ratios and aims. */
export function tableOfFigures(figures: readonly Figure[]): Table {
  return {
    head: ['Figure', 'Measured', 'Unit', 'p50 ms', 'p99 ms', 'Ratio', 'to', 'Aim', 'Reached'],
    rows: figures.map((figure) => [
      figure.name,
      formatNumber(figure.value),
      figure.unit,
      optional(figure.p50Ms),
      optional(figure.p99Ms),
      optional(figure.ratio?.value),
      figure.ratio?.to ?? UNMEASURED,
      formatAim(figure),
      formatReached(figure),
    ]),
  };
}

function microseconds(used: number, requests: number): number {
  return (used * 1e6) / requests;
}

/** Where the CPU time went: microseconds a request, and how busy the machine was over all. */
export function tableOfCpu(rows: readonly CpuRow[]): Table {
  return {
    head: ['CPU, us a request', 'Server main', 'Workers', 'Server other', 'Redis', 'Load', 'Cores busy'],
    rows: rows.map(({ name, seconds, requests, split }) => {
      const { main, workers, others, redis, load } = split;
      const each = [main, workers, others, redis, load].map((used) => microseconds(used, requests));
      const busy = (main + workers + others + redis + load) / seconds;
      return [name, ...each.map(formatNumber), formatNumber(busy)];
    }),
  };
}

/** Requests that differ by one stage each: nothing but HTTP, and HTTP with a sign-in that is counted. */
export const HTTP_ALONE = 'GET /health/live';
export const SIGNED_IN = 'GET /v1/whoami';
/** Paths whose time is told apart by stage, and whether they begin with a sign-in. */
const STAGED: readonly (readonly [name: string, signsIn: boolean])[] = [
  ['warm store', true],
  ['warm decrypt', true],
  ['capture', false],
];

/** CPU time by stage: the first thread's is split by what the requests use that have fewer stages. */
export function tableOfStages(rows: readonly CpuRow[]): Table {
  const find = (name: string): CpuRow | undefined => rows.find((row) => row.name === name);
  const mainOf = ({ split, requests }: CpuRow): number => microseconds(split.main, requests);
  const [http, signedIn] = [HTTP_ALONE, SIGNED_IN].map(find);
  const row = (name: string, signsIn: boolean): string[][] => {
    const path = find(name);
    if (!http || !signedIn || !path) {
      return [];
    }
    const before = signsIn ? mainOf(signedIn) : mainOf(http);
    const { workers, others, redis } = path.split;
    const rest = [workers, others, redis].map((used) => microseconds(used, path.requests));
    return [
      [
        name,
        formatNumber(mainOf(http)),
        signsIn ? formatNumber(before - mainOf(http)) : UNMEASURED,
        ...[mainOf(path) - before, ...rest].map(formatNumber),
        formatNumber(mainOf(path) + rest.reduce((sum, part) => sum + part, 0)),
      ],
    ];
  };
  return {
    head: ['Stage, us a request', 'HTTP', 'Sign-in', 'Route', 'Workers', 'Runtime', 'Redis', 'All'],
    rows: STAGED.flatMap(([name, signsIn]) => row(name, signsIn)),
  };
}

/**
 * How often a path could go through if nothing ever waited and every core did nothing else: with all that it needs, and
 * with nothing but what seals, opens and keeps the cards. The ratio is to what the no-op server did.
 */
export function tableOfCeilings(rows: readonly CpuRow[], figures: readonly Figure[], cores: number): Table {
  return {
    head: [
      ...['Ceiling', 'All, us', 'a second', 'Ratio'],
      ...['Workers and Redis, us', 'a second', 'Ratio', 'Aim'],
    ],
    rows: figures.flatMap((figure) => {
      const row = rows.find(({ name }) => name === figure.name || name === `${figure.name}, a card`);
      if (row === undefined || figure.aim === undefined) {
        return [];
      }
      const { main, workers, others, redis, load } = row.split;
      const base = figures.find(({ name }) => name === figure.ratio?.to)?.value;
      const cellsOf = (used: number): string[] => {
        const most = (cores * row.requests) / used;
        const ratio = base === undefined ? UNMEASURED : formatNumber(most / base);
        return [formatNumber(microseconds(used, row.requests)), formatNumber(most), ratio];
      };
      return [
        [
          figure.name,
          ...cellsOf(main + workers + others + redis + load),
          ...cellsOf(workers + redis),
          formatAim(figure),
        ],
      ];
    }),
  };
}

/** How long requests take, by how many are under way at once. */
function tableOfLatency(rows: readonly LatencyRow[]): Table {
  return {
    head: ['Latency', 'Connections', 'Requests/s', 'p50 ms', 'p99 ms', 'p99.9 ms'],
    rows: rows.map(({ name, connections, rate, p50Ms, p99Ms, p999Ms }) => [
      name,
      String(connections),
      ...[rate, p50Ms, p99Ms, p999Ms].map(formatNumber),
    ]),
  };
}

/** What the number of stored cards changes. */
function tableOfGrowth(rows: readonly GrowthRow[]): Table {
  return {
    head: [
      ...['Cards', 'Stores/s', 'Decrypts/s', 'p99 ms', 'Page of 1,000, p50 ms', 'p99 ms'],
      ...['Redis MB', 'Bytes a card', 'Server MB'],
    ],
    rows: rows.map((row) => [
      row.cards.toLocaleString('en-US'),
      ...[row.storeRate, row.decryptRate, row.decryptP99Ms, row.pageP50Ms, row.pageP99Ms].map(formatNumber),
      ...[row.redisBytes / 1e6, row.redisBytes / row.cards, row.serverBytes / 1e6].map(formatNumber),
    ]),
  };
}

/** All tables of a run, by the names of their places on the page. */
export function tablesOf({ machine, figures, cpu, latency, growth }: BenchResult) {
  return {
    figures: tableOfFigures(figures),
    cpu: tableOfCpu(cpu),
    stages: tableOfStages(cpu),
    ceilings: tableOfCeilings(cpu, figures, machine.cores),
    latency: tableOfLatency(latency),
    growth: tableOfGrowth(growth),
  };
}
