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

const UNMEASURED = '';

/** A number with the digits that mean something: 12,345 / 123.4 / 1.23 / 0.123 / 0.00012. */
export const formatNumber = (value: number): string => {
  const size = Math.abs(value);
  if (size < 0.01) {
    return value.toLocaleString('en-US', { maximumSignificantDigits: 2 });
  }
  const digits = size >= 1_000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
};

const optional = (value: number | undefined): string =>
  value === undefined ? UNMEASURED : formatNumber(value);

const formatAim = ({ aim, unit }: Figure): string => {
  if (aim === undefined) {
    return UNMEASURED;
  }
  const bound = aim.least ?? aim.most ?? Number.NaN;
  const suffix = aim.of === 'ratio' ? '' : ` ${unit}`;
  return `${aim.least === undefined ? '<=' : '>='} ${formatNumber(bound)}${suffix}`;
};

const formatReached = (figure: Figure): string => {
  const reached = isReached(figure);
  return reached === undefined ? UNMEASURED : reached ? 'yes' : 'NO';
};

/** Columns as wide as their widest cell, the first one left-aligned, the others right-aligned. */
export const renderTable = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
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
};

/** The figures with their ratios and aims. */
export const renderFigures = (figures: readonly Figure[]): string =>
  renderTable(
    ['Figure', 'Measured', 'Unit', 'p50 ms', 'p99 ms', 'Ratio', 'to', 'Aim', 'Reached'],
    figures.map((figure) => [
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
  );

/** Where the CPU time went: microseconds a request, and how busy the machine was over all. */
export const renderCpu = (rows: readonly CpuRow[]): string =>
  renderTable(
    ['CPU, us a request', 'Server main', 'Workers', 'Server other', 'Redis', 'Load', 'Cores busy'],
    rows.map(({ name, seconds, requests, split }) => {
      const each = (used: number): string => formatNumber((used * 1e6) / requests);
      const { main, workers, others, redis, load } = split;
      const busy = (main + workers + others + redis + load) / seconds;
      return [name, each(main), each(workers), each(others), each(redis), each(load), formatNumber(busy)];
    }),
  );

/** How long requests take, by how many are under way at once. */
export const renderLatency = (rows: readonly LatencyRow[]): string =>
  renderTable(
    ['Latency', 'Connections', 'Requests/s', 'p50 ms', 'p99 ms', 'p99.9 ms'],
    rows.map(({ name, connections, rate, p50Ms, p99Ms, p999Ms }) => [
      name,
      String(connections),
      ...[rate, p50Ms, p99Ms, p999Ms].map(formatNumber),
    ]),
  );

/** What the number of stored cards changes. */
export const renderGrowth = (rows: readonly GrowthRow[]): string =>
  renderTable(
    [
      ...['Cards', 'Stores/s', 'Decrypts/s', 'p99 ms', 'Page of 1,000, p50 ms', 'p99 ms'],
      ...['Redis MB', 'Bytes a card', 'Server MB'],
    ],
    rows.map((row) => [
      row.cards.toLocaleString('en-US'),
      ...[row.storeRate, row.decryptRate, row.decryptP99Ms, row.pageP50Ms, row.pageP99Ms].map(formatNumber),
      ...[row.redisBytes / 1e6, row.redisBytes / row.cards, row.serverBytes / 1e6].map(formatNumber),
    ]),
  );
