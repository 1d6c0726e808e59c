/**
 * Writes the figures of the last benchmark and simulation into docs/performance.md, between its marks, and draws docs/performance.svg:
 * `bun run bench:page`. Nothing of either is typed by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { GrowthRow } from './growth.ts';
import type { OperationRow } from './phases.ts';
import { type Chart, renderPlot, type Series } from './plot.ts';
import { type BenchResult, renderMarkdown, type Table, tablesOf } from './report.ts';
import { median } from './stats.ts';

/** What `bun run bench:scale` made of the figures. */
interface Scale {
  /** Of the benchmark whose figures it is made of. */
  readonly time: string;
  readonly bottleneck: string;
  readonly needs: string;
  readonly one: Table;
  readonly many: Table;
}

const ROOT = resolve(import.meta.dir, '../..');
const PAGE = join(ROOT, 'docs/performance.md');
const MARK = /(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)/gs;

/** Rows of the charts, in the order of their colors. */
const DRAWN = [
  'store: no-op',
  'store: Cardvault',
  'capture: Cardvault',
  'decrypt: Cardvault',
  'decrypt: no-op',
];

function chartsOf({ operations, growth }: BenchResult): Chart[] {
  const seriesOf = (of: (row: OperationRow) => number): Series[] =>
    DRAWN.map((name) => ({
      name: name.replace(': Cardvault', '').replace(':', ''),
      points: operations
        .filter((row) => row.name === name)
        .map((row) => [row.connections, of(row)] as const)
        .toSorted(([a], [b]) => a - b),
    }));
  const grown = (name: string, of: (row: GrowthRow) => number): Series => ({
    name,
    points: growth.map((row) => [row.cards, of(row)] as const),
  });
  return [
    {
      title: 'Requests a second',
      xLabel: 'connections',
      yLabel: 'requests/s',
      series: seriesOf(({ rates }) => median(rates)),
    },
    {
      title: 'Latency, p99',
      xLabel: 'connections',
      yLabel: 'ms',
      series: seriesOf(({ p99Ms = Number.NaN }) => p99Ms),
    },
    {
      title: 'Growth',
      xLabel: 'cards under one key',
      yLabel: 'requests/s',
      series: [
        grown('stores', ({ storeRate }) => storeRate),
        grown('decrypts', ({ decryptRate }) => decryptRate),
      ],
    },
  ];
}

const result = JSON.parse(readFileSync(join(ROOT, 'bench-results/bench.json'), 'utf8')) as BenchResult;
const scale = JSON.parse(readFileSync(join(ROOT, 'bench-results/scale.json'), 'utf8')) as Scale;
if (!result.isWhole || scale.time !== result.time) {
  throw new Error(
    'only a whole run of bun run bench is published, with the bun run bench:scale that was made of it',
  );
}
const { time, machine, seconds, rounds } = result;
const parts: Readonly<Record<string, string>> = {
  machine: `${time.slice(0, 10)}: ${machine.cores} cores (${machine.processor}), Bun ${machine.bun}, load by ${machine.generator} on the same machine, ${rounds} rounds of ${seconds} s.`,
  ...Object.fromEntries(
    Object.entries(tablesOf(result)).map(([name, table]) => [name, renderMarkdown(table)]),
  ),
  charts:
    '![Three charts: requests a second and the 99th percentile of latency by connections, and requests a second by the number of stored cards](performance.svg)',
  scale: [
    scale.needs,
    'One process with one worker on one Redis:',
    renderMarkdown(scale.one),
    'What several rates need, with no thread busier than six tenths on average, and what the queues then come to:',
    renderMarkdown(scale.many),
    scale.bottleneck,
  ].join('\n\n'),
};
const page = readFileSync(PAGE, 'utf8').replaceAll(
  MARK,
  (_, begin: string, name: string, end: string) => `${begin}${parts[name] ?? ''}\n${end}`,
);
writeFileSync(PAGE, page);
writeFileSync(join(ROOT, 'docs/performance.svg'), renderPlot(chartsOf(result)));
