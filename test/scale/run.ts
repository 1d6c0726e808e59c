/**
 * How many processes and shards a load needs, from the CPU times and the memory that the last benchmark measured, and
 * what their queues then come to: `bun run bench:scale [--rate N] [--cards N]`. Needs `bench-results/bench.json` of a whole run.
 */
import {
  closeSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { NO_CPU } from '../bench/cpu.ts';
import { CONNECTIONS, type OperationRow } from '../bench/phases.ts';
import { type BenchResult, formatNumber, renderTable } from '../bench/report.ts';
import { SIGN_IN } from '../bench/sections.ts';
import { median } from '../bench/stats.ts';
import { chanceOf } from '../durability/chance.ts';
import { type Deployment, type Kind, type Outcome, simulate } from './simulate.ts';

/** How busy threads may be, so that one machine of three may go. */
const BUSY_MAX = 0.6;
/** Of a shard's machine; the rest is for the append-only file's rewrite and for the system. */
const SHARD_BYTES_MAX = 24e9;
const SECONDS = 3;
const BEFORE_REPLY = 0.6;
const RESULT = resolve(import.meta.dir, '../../bench-results/bench.json');

const { values } = parseArgs({
  options: { rate: { type: 'string', default: '50000' }, cards: { type: 'string', default: '1000000000' } },
});
const [rate, cards] = [Number(values.rate), Number(values.cards)];
const result = JSON.parse(readFileSync(RESULT, 'utf8')) as BenchResult;

/** Seconds that a small write takes to be on this machine's disk. */
function measureSync(): number {
  const file = join(tmpdir(), `cardvault-sync-${process.pid}`);
  const fd = openSync(file, 'w');
  const took = Array.from({ length: 200 }, () => {
    const begun = performance.now();
    writeSync(fd, Buffer.alloc(4_096, 1));
    fdatasyncSync(fd);
    return (performance.now() - begun) / 1_000;
  });
  closeSync(fd);
  unlinkSync(file);
  return median(took);
}

function rowOf(name: string): OperationRow {
  const row = result.operations.find((each) => each.name === name && each.connections === CONNECTIONS);
  if (row === undefined) {
    throw new Error(`bench.json has no "${name}": run bun run bench first`);
  }
  return row;
}

/** Stores and captures: seal, then write. Decryptions: read, open, and write the log. */
function kindOf(name: string, share: number): Kind {
  const { split = NO_CPU, requests } = rowOf(name);
  const main = (split.main + split.runtime) / requests;
  const [worker, redis] = [split.workers / requests, split.redis / requests];
  const seal = [
    { at: 'worker', seconds: worker },
    { at: 'redis', seconds: redis, isWrite: true },
  ] as const;
  const open = [
    { at: 'redis', seconds: redis / 2 },
    { at: 'worker', seconds: worker },
    { at: 'redis', seconds: redis / 2, isWrite: true },
  ] as const;
  return {
    share,
    steps: [
      { at: 'main', seconds: main * BEFORE_REPLY },
      ...(name === 'decrypt: Cardvault' ? open : seal),
      { at: 'main', seconds: main * (1 - BEFORE_REPLY) },
    ],
  };
}

const KINDS = [
  kindOf('store: Cardvault', 0.2),
  kindOf('capture: Cardvault', 0.3),
  kindOf('decrypt: Cardvault', 0.5),
];
function secondsAt(place: 'main' | 'worker' | 'redis'): number {
  return KINDS.reduce(
    (sum, { share, steps }) =>
      sum + share * steps.filter(({ at }) => at === place).reduce((part, { seconds }) => part + seconds, 0),
    0,
  );
}

function bytesACard(): number {
  return result.figures.find(({ name }) => name === 'Redis memory a card with code')?.value ?? Number.NaN;
}

function random(seed: number): () => number {
  let drawn = 0;
  return () => {
    drawn += 1;
    return chanceOf(seed, String(drawn));
  };
}

const syncSeconds = measureSync();

/** What a rate needs, each kind of thread no busier than it may be. */
function deploymentFor(perSecond: number, cardsStored: number): Deployment {
  return {
    processes: Math.ceil((perSecond * secondsAt('main')) / BUSY_MAX),
    workersEach: Math.ceil(secondsAt('worker') / secondsAt('main')),
    shards: Math.ceil(
      Math.max((perSecond * secondsAt('redis')) / BUSY_MAX, (cardsStored * bytesACard()) / SHARD_BYTES_MAX),
    ),
    syncSeconds,
  };
}

function rowFor(perSecond: number, cardsStored: number): string[] {
  const place = deploymentFor(perSecond, cardsStored);
  const outcome: Outcome = simulate(place, KINDS, perSecond, SECONDS, random(1));
  const percent = (share: number): string => `${Math.round(share * 100)} %`;
  return [
    perSecond.toLocaleString('en-US'),
    cardsStored.toLocaleString('en-US'),
    String(place.processes),
    String(place.workersEach),
    String(place.shards),
    `${formatNumber((cardsStored * bytesACard()) / 1e9)} GB`,
    ...[outcome.busy.main, outcome.busy.worker, outcome.busy.redis].map(percent),
    formatNumber(outcome.p50Ms),
    formatNumber(outcome.p99Ms),
  ];
}

/** The most that one process on one Redis does before its queues grow. */
function mostOfOne(): string[][] {
  const place: Deployment = { processes: 1, workersEach: 1, shards: 1, syncSeconds };
  const limit = 1 / Math.max(secondsAt('main'), secondsAt('worker'), secondsAt('redis'));
  return [0.3, 0.6, 0.8, 0.9].map((part) => {
    const { p50Ms, p99Ms } = simulate(place, KINDS, limit * part, SECONDS, random(2));
    return [
      `${Math.round(part * 100)} %`,
      formatNumber(limit * part),
      formatNumber(p50Ms),
      formatNumber(p99Ms),
    ];
  });
}

function us(seconds: number): string {
  return `${formatNumber(seconds * 1e6)} us`;
}
/** A sign-in reads one hash of all accounts, and each request counts in one of its account: no shard divides either. */
const signInSeconds = (({ split = NO_CPU, requests }) => split.redis / requests)(rowOf(SIGN_IN));
const tables = {
  time: result.time,
  bottleneck:
    `What stops first past one machine: a sign-in and its count need ${us(signInSeconds)} of the one Redis thread that has the ` +
    `accounts, which shards do not divide. At ${rate.toLocaleString('en-US')} requests a second that is ` +
    `${formatNumber(rate * signInSeconds)} of it; at six tenths it lets ${formatNumber(BUSY_MAX / signInSeconds)} requests a second ` +
    'through. Captures and retrievals by endpoint sign nobody in, yet read the account that they belong to.',
  needs:
    `Half decryptions, three tenths captures, two tenths stores. A request needs ${us(secondsAt('main'))} of a first thread and the runtime, ` +
    `${us(secondsAt('worker'))} of a worker, ${us(secondsAt('redis'))} of Redis; a card ${formatNumber(bytesACard())} bytes; ` +
    `a sync of the disk ${formatNumber(syncSeconds * 1e3)} ms.`,
  one: { head: ['Of its limit', 'Requests/s', 'p50 ms', 'p99 ms'], rows: mostOfOne() },
  many: {
    head: [
      ...['Requests/s', 'Cards', 'Processes', 'Workers each', 'Shards', 'Memory'],
      ...['Main busy', 'Workers', 'Redis', 'p50 ms', 'p99 ms'],
    ],
    rows: [rowFor(1_000, 1e6), rowFor(10_000, 1e8), rowFor(rate, cards)],
  },
};
mkdirSync(dirname(RESULT), { recursive: true });
writeFileSync(join(dirname(RESULT), 'scale.json'), `${JSON.stringify(tables, undefined, 2)}\n`);
process.stdout.write(
  `${tables.needs}\n\nOne process with one worker on one Redis:\n\n${renderTable(tables.one)}\n\n${renderTable(tables.many)}\n\n${tables.bottleneck}\n`,
);
