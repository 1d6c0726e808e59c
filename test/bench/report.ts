import type { CpuSplit } from './cpu.ts';
import type { GrowthRow } from './growth.ts';
import type { MemoryRow } from './memory.ts';
import { CONNECTIONS, type OperationRow } from './phases.ts';
import { AIM_AT_ONCE, type ProxiedRow } from './proxied.ts';
import { type Aim, type Figure, isReached, median } from './stats.ts';

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
  readonly operations: readonly OperationRow[];
  readonly figures: readonly Figure[];
  readonly proxied: readonly ProxiedRow[];
  readonly memory: readonly MemoryRow[];
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
  return value === undefined || Number.isNaN(value) ? UNMEASURED : formatNumber(value);
}

function aimCells(value: number, aim: Aim | undefined): string[] {
  if (aim === undefined) {
    return [UNMEASURED, UNMEASURED];
  }
  const bound = formatNumber(aim.least ?? aim.most ?? Number.NaN);
  return [`${aim.least === undefined ? '<=' : '>='} ${bound}`, isReached(value, aim) ? 'yes' : 'NO'];
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

/** What is compared, in the order of the table, and what it should come to. */
const RATIOS: readonly (readonly [operation: string, other: string, aim?: Aim])[] = [
  ['store', 'no-op', { least: 0.2 }],
  ['store', 'empty pipeline', { least: 0.85 }],
  ['decrypt', 'no-op', { least: 0.18 }],
  ['decrypt', 'empty pipeline', { least: 0.85 }],
  ['capture', 'no-op', { least: 0.15 }],
  ['store', 'pgcrypto'],
  ['decrypt', 'pgcrypto, key open'],
  ['store', 'plain script', { least: 0.4 }],
  ['decrypt', 'plain script'],
];

/** How often the first rate is the second: the middle of the rounds, each of which both have met side by side. */
function ratioOf(rates: readonly number[], others: readonly number[]): number {
  return median(rates.map((rate, round) => rate / (others[round] ?? Number.NaN)));
}

function find(rows: readonly OperationRow[], name: string, connections: number): OperationRow | undefined {
  return rows.find((row) => row.name === name && row.connections === connections);
}

/** Microseconds of CPU of one request, without the load generator. */
function cpuOf({ split, requests }: OperationRow): number | undefined {
  return split && ((split.main + split.workers + split.runtime + split.redis) * 1e6) / requests;
}

/** The rates of the vault over those of what it is compared with, and what the other uses of the vault's CPU time. */
function tableOfRatios(rows: readonly OperationRow[]): Table {
  return {
    head: [
      ...['Cardvault over', 'Requests/s', 'Cardvault', 'Ratio', 'Aim', 'Reached'],
      ...['CPU us', 'Cardvault', 'Ratio'],
    ],
    rows: RATIOS.flatMap(([operation, other, aim]) => {
      const ours = find(rows, `${operation}: Cardvault`, CONNECTIONS);
      const base = find(rows, `${operation}: ${other}`, CONNECTIONS);
      if (ours === undefined || base === undefined) {
        return [];
      }
      const ratio = ratioOf(ours.rates, base.rates);
      const numbers = [median(base.rates), median(ours.rates), ratio].map(formatNumber);
      const cpu = [cpuOf(base), cpuOf(ours)];
      const [used = Number.NaN, own = Number.NaN] = cpu;
      return [
        [
          `${operation}: ${other}`,
          ...numbers,
          ...aimCells(ratio, aim),
          ...[...cpu, used / own].map(optional),
        ],
      ];
    }),
  };
}

/** Servers of which each does one thing more than the one before, by operation. */
const STEPS: Readonly<Record<string, readonly (readonly [server: string, adds: string])[]>> = {
  store: [
    ['no-op', 'HTTP'],
    ['plain script, not synced', 'AES-GCM in the main thread, one write'],
    ['plain script', 'the write is synced'],
    ['scripts', 'token, indexes, fence and log entry in one script; no AES-GCM'],
    ['empty pipeline', 'a worker thread'],
    ['Cardvault', 'sign-in, encryption, counts'],
  ],
  decrypt: [
    ['no-op', 'HTTP'],
    ['plain script', 'one read, AES-GCM in the main thread'],
    ['scripts, not logged', 'fence and all parts of the item in one script; no AES-GCM'],
    ['scripts', 'the reading is logged, synced, before the reply'],
    ['empty pipeline', 'a worker thread'],
    ['Cardvault', 'sign-in, decryption, counts'],
  ],
};

/** What each promise costs: every row does what the row before does, and one thing more. */
function tableOfPrices(rows: readonly OperationRow[]): Table {
  const signed = (value: number | undefined, before: number | undefined): string =>
    value === undefined || before === undefined
      ? UNMEASURED
      : `${value >= before ? '+' : ''}${formatNumber(value - before)}`;
  const stepsOf = (operation: string, steps: readonly (readonly [string, string])[]): string[][] => {
    let before: OperationRow | undefined;
    return steps.flatMap(([server, adds]) => {
      const row = find(rows, `${operation}: ${server}`, CONNECTIONS);
      if (row === undefined) {
        return [];
      }
      const last = before;
      before = row;
      return [
        [
          `${operation}: ${adds}`,
          ...[median(row.rates), cpuOf(row)].map(optional),
          signed(cpuOf(row), last && cpuOf(last)),
          optional(row.p50Ms),
          signed(row.p50Ms, last?.p50Ms),
        ],
      ];
    });
  };
  return {
    head: ['With', 'Requests/s', 'CPU us', 'more', 'p50 ms', 'more'],
    rows: Object.entries(STEPS).flatMap(([operation, steps]) => stepsOf(operation, steps)),
  };
}

function splitCells(split: CpuSplit | undefined, requests: number, seconds: number): string[] {
  if (split === undefined) {
    return Array.from({ length: 6 }, () => UNMEASURED);
  }
  const { main, workers, runtime, redis, load } = split;
  const parts = [main, workers, runtime, redis, load];
  const busy = parts.reduce((sum, part) => sum + part, 0) / seconds;
  return [...parts.map((part) => (part * 1e6) / requests), busy].map(formatNumber);
}

/** All that was measured of requests: rate, latency, and where the CPU time went. */
function tableOfOperations(rows: readonly OperationRow[]): Table {
  return {
    head: [
      ...['Operation: server', 'Conn.', 'Requests/s', 'p50 ms', 'p99 ms', 'p99.9 ms'],
      ...['CPU us: main', 'workers', 'runtime', 'Redis', 'load', 'Cores busy'],
    ],
    rows: rows.map(({ name, connections, rates, p50Ms, p99Ms, p999Ms, split, requests, seconds }) => [
      name,
      String(connections),
      formatNumber(median(rates)),
      ...[p50Ms, p99Ms, p999Ms].map(optional),
      ...splitCells(split, requests, seconds),
    ]),
  };
}

/** Figures that are not about requests side by side. */
function tableOfFigures(figures: readonly Figure[]): Table {
  return {
    head: ['Figure', 'Measured', 'Unit', 'Aim', 'Reached'],
    rows: figures.map(({ name, value, unit, aim }) => [
      name,
      formatNumber(value),
      unit,
      ...aimCells(value, aim),
    ]),
  };
}

/** The most that a call which sends a stored card on should add at the median. */
const ADDED_AIM = { most: 3 };

function hasAddedAim({ kind, atOnce }: ProxiedRow): boolean {
  return atOnce === AIM_AT_ONCE && (kind === 'proxied' || kind === 'relayed');
}

/** Calls to a third party through the vault. */
function tableOfProxied(rows: readonly ProxiedRow[]): Table {
  return {
    head: [
      ...['Call', 'At once', 'Target waits, ms', 'Direct, p50 ms', 'p50 ms', 'p99 ms', 'More, p50 ms'],
      ...['Quietest block', 'Aim', 'Reached', 'Calls/s', 'CPU us'],
    ],
    rows: rows.map((row) => [
      ...[row.kind, String(row.atOnce), String(row.delayMs)],
      ...[row.directP50Ms, row.p50Ms, row.p99Ms, row.addedMs, row.addedLeastMs].map(formatNumber),
      ...aimCells(row.addedMs, hasAddedAim(row) ? ADDED_AIM : undefined),
      ...[row.rate, row.cpuUs].map(formatNumber),
    ]),
  };
}

/** The most that a card with nothing beside it should take. */
const PLAIN_AIM = { most: 1_450 };

/** What a card takes in Redis; the first row has nothing beside the card. */
function tableOfMemory(rows: readonly MemoryRow[]): Table {
  const plain = rows[0]?.bytes ?? Number.NaN;
  return {
    head: ['A card', 'Bytes', 'More than plain', 'Aim', 'Reached'],
    rows: rows.map(({ kind, bytes }, at) => [
      kind,
      formatNumber(bytes),
      at === 0 ? UNMEASURED : formatNumber(bytes - plain),
      ...aimCells(bytes, at === 0 ? PLAIN_AIM : undefined),
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
export function tablesOf({ operations, figures, proxied, memory, growth }: BenchResult) {
  return {
    ratios: tableOfRatios(operations),
    prices: tableOfPrices(operations),
    operations: tableOfOperations(operations),
    figures: tableOfFigures(figures),
    proxied: tableOfProxied(proxied),
    memory: tableOfMemory(memory),
    growth: tableOfGrowth(growth),
  };
}
