/**
 * Measures the vault against what it is built on, in one run and in turns: a server that does nothing, a plain script, the
 * vault's scripts and threads without its cryptography, and pgcrypto. Prints tables, ratios first, and writes
 * `bench-results/bench.json`. `--help` lists the options.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { CARDS_TIMES, measureBatches } from './batch.ts';
import { addressesOf, PLAIN, PROXIED } from './cards.ts';
import { startCompared } from './compared.ts';
import { createLoad } from './load.ts';
import { weighCards } from './memory.ts';
import { parseOptions, SECTIONS, type Section, USAGE } from './options.ts';
import { hasPostgres, startPgcrypto } from './pgcrypto.ts';
import { makeFolder, runMain, say } from './processes.ts';
import { inboundFigure, measureProxied } from './proxied.ts';
import { type BenchResult, renderTable, tablesOf } from './report.ts';
import {
  type Bench,
  compareCaptures,
  compareDecrypts,
  compareStores,
  measureBulk,
  measureColdUnlock,
  measureGrown,
  measureList,
  storeCards,
  type World,
} from './sections.ts';
import { startVault } from './servers.ts';

const RESULTS = resolve(import.meta.dir, '../../bench-results');

/** What is measured while the servers run side by side. */
const SIDE_BY_SIDE: readonly (readonly [Section, string, (bench: Bench, world: World) => Promise<void>])[] = [
  ['store', 'storing', compareStores],
  ['decrypt', 'decrypting', compareDecrypts],
  ['capture', 'capturing', compareCaptures],
  ['list', 'listing', measureList],
  ['decrypt_all', 'decrypting all', measureBulk],
  ['batch', 'storing and decrypting batches', (bench, { vault }) => measureBatches(bench, vault)],
];

async function measureSideBySide(bench: Bench): Promise<void> {
  const { sections } = bench.options;
  const wanted = SIDE_BY_SIDE.filter(([section]) => sections.has(section));
  if (wanted.length === 0 && !sections.has('cold')) {
    return;
  }
  const vault = await startVault(bench.folder);
  let address = '';
  try {
    say('storing the first cards');
    await storeCards(bench, vault);
    [address = ''] = await addressesOf(vault, PLAIN);
    const compared = await startCompared(join(bench.folder, 'compared'), vault);
    const isWanted = sections.has('pgcrypto') && (sections.has('store') || sections.has('decrypt'));
    if (isWanted && !hasPostgres()) {
      say('leaving out pgcrypto: PostgreSQL, its contrib modules or gnupg are not installed');
    }
    const pgcrypto =
      isWanted && hasPostgres() ? await startPgcrypto(join(bench.folder, 'postgres'), bench.load) : undefined;
    try {
      for (const [, doing, measure] of wanted) {
        say(doing);
        await measure(bench, { ...compared, vault, pgcrypto });
      }
    } finally {
      await pgcrypto?.stop();
      await compared.stop();
    }
  } finally {
    await vault.stop();
  }
  if (sections.has('cold')) {
    say('unlocking from cold');
    await measureColdUnlock(bench, address);
  }
}

/** Weighs cards in a vault of their own: among a million others the heads of logs would take longer to be written. */
async function measureMemory(bench: Bench): Promise<void> {
  const folder = join(bench.folder, 'weighed');
  mkdirSync(folder);
  const vault = await startVault(folder);
  try {
    await weighCards(bench, vault, CARDS_TIMES * bench.options.stored);
  } finally {
    await vault.stop();
  }
}

async function measure(bench: Bench): Promise<void> {
  const { sections, repeats } = bench.options;
  await measureSideBySide(bench);
  if (sections.has('proxy')) {
    say('calling a third party');
    const rows = await measureProxied(join(bench.folder, 'proxied'), PROXIED, repeats);
    bench.proxied.push(...rows);
    bench.figures.push(inboundFigure(rows));
  }
  if (sections.has('memory')) {
    say('weighing cards');
    await measureMemory(bench);
  }
  if (sections.has('growth')) {
    await measureGrown(bench);
  }
}

const HEADS: Readonly<Record<keyof ReturnType<typeof tablesOf>, string>> = {
  ratios:
    'Ratios of requests a second and of CPU time, measured in turns with 32 connections. On a busy machine only those of\nCPU time are steady. What is compared:\n  no-op           answers JSON and does nothing\n  empty pipeline  the same scripts in Redis and the same threads, which answer at once: the most that is possible\n  plain script    AES-GCM and one synced write, without anything that makes a vault\n  pgcrypto        an HTTP service on PostgreSQL with a public key, every commit synced',
  prices: 'What each promise costs: every row does what the row above it does, and one thing more',
  operations: 'All requests: rate, latency, and microseconds of CPU of one request by thread',
  figures: 'Other figures',
  proxied: 'Calls to a third party beside direct ones; CPU time of server and Redis',
  memory: 'Memory of Redis for a card, by what is kept beside it',
  growth: 'The same requests among more cards',
};

function report({ load, options, operations, figures, proxied, memory, growth }: Bench): void {
  const measured = { operations, figures, proxied, memory, growth };
  const machine = {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? 'unknown',
    bun: Bun.version,
    generator: load.generator,
    loadAverage: loadavg(),
  };
  const { seconds, rounds } = options;
  mkdirSync(RESULTS, { recursive: true });
  const isWhole = options.sections.size === SECTIONS.length && !options.isQuick;
  const time = new Date().toISOString();
  const result: BenchResult = { time, isWhole, machine, seconds, rounds, ...measured };
  writeFileSync(join(RESULTS, 'bench.json'), `${JSON.stringify(result, undefined, 2)}\n`);
  process.stdout.write(
    `\n${machine.cores} cores, ${machine.processor}, Bun ${machine.bun}, load by ${machine.generator}, ` +
      `rounds: ${rounds} of ${seconds} s, load average ${machine.loadAverage[0]?.toFixed(2)}\n`,
  );
  const tables = tablesOf(result);
  for (const [name, head] of Object.entries(HEADS) as [keyof typeof HEADS, string][]) {
    if (tables[name].rows.length > 0) {
      process.stdout.write(`\n${head}\n\n${renderTable(tables[name])}\n`);
    }
  }
  if (options.isQuick) {
    process.stdout.write('\nA quick run: a ratio may be off by a fifth. Nothing of it is for publishing.\n');
  }
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const options = parseOptions(args);
  const folder = makeFolder();
  const load = createLoad(folder);
  const measured = { operations: [], figures: [], proxied: [], memory: [], growth: [] };
  const bench: Bench = { options, folder, load, ...measured };
  try {
    await measure(bench);
  } finally {
    // A section that fails must not take with it what was measured before.
    report(bench);
  }
}

runMain('bench', main);
