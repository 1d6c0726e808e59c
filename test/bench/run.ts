/**
 * Measures the vault against what it is built on, in one run: a server that does nothing, a bare Redis, bare
 * cryptography. Prints tables and writes `bench-results/bench.json`. Options: `--quick`, `--only a,b`, `--cards N`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { measureCrypto } from './bare-crypto.ts';
import { measureRedis } from './bare-redis.ts';
import { measureDecryptAll } from './bulk.ts';
import {
  addressesOf,
  CAPTURING,
  CODED,
  capturePlan,
  decryptPlan,
  fixedPlan,
  GROWING,
  getPlan,
  type Holding,
  listPlan,
  MASKED,
  PLAIN,
  PROXIED,
  seed,
  storePlan,
  TIMED,
} from './cards.ts';
import { measureCold } from './cold.ts';
import { type GrowthRow, measureGrowth } from './growth.ts';
import { type LatencyRow, measureLatency } from './latency.ts';
import { createLoad, type Load } from './load.ts';
import { type BenchOptions, parseOptions, SECTIONS, type Section } from './options.ts';
import { hasPostgres, measurePgcrypto } from './pgcrypto.ts';
import { comparePhases, type Measured, type Phase } from './phases.ts';
import { makeFolder } from './processes.ts';
import { measureProxied } from './proxied.ts';
import { type BenchResult, type CpuRow, HTTP_ALONE, renderTable, SIGNED_IN, tablesOf } from './report.ts';
import {
  addMaskedAccount,
  makeKey,
  type Server,
  STALL_MS,
  startNoop,
  startVault,
  type Vault,
} from './servers.ts';
import type { Figure } from './stats.ts';

const RESULTS = resolve(import.meta.dir, '../../bench-results');
const STORE_AIM = { of: 'ratio', least: 0.35 } as const;
const CAPTURE_AIM = { of: 'ratio', least: 0.2 } as const;
const DECRYPT_AIM = { of: 'ratio', least: 0.45 } as const;
const SPREAD_AIM = 3;
const PAGE_GROWTH_AIM = 1.3;
const CARD_BYTES_AIM = 2_000;
const CODED_CARD_BYTES_AIM = 2_800;

interface Bench {
  readonly options: BenchOptions;
  readonly folder: string;
  readonly load: Load;
  readonly figures: Figure[];
  readonly cpu: CpuRow[];
  readonly latency: LatencyRow[];
  readonly growth: GrowthRow[];
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** How far the slow requests of a path are from its usual ones, where it has an aim. */
function spreadOf({ name, aim, p50Ms, p99Ms }: Figure): Figure[] {
  return aim === undefined || p50Ms === undefined || p99Ms === undefined
    ? []
    : [
        {
          name: `${name}, p99 over p50`,
          value: p99Ms / p50Ms,
          unit: 'times',
          aim: { of: 'value', most: SPREAD_AIM },
        },
      ];
}

function keep(bench: Bench, measured: readonly Measured[]): void {
  bench.figures.push(...measured.flatMap(({ figure }) => [figure, ...spreadOf(figure)]));
  bench.cpu.push(...measured.map(({ cpu }) => cpu));
}

async function compare(bench: Bench, base: Phase, phases: readonly Phase[]): Promise<void> {
  return keep(bench, await comparePhases(bench.load, [base, ...phases], bench.options));
}

function bytesFigure(name: string, value: number, most: number): Figure {
  return {
    name,
    value,
    unit: 'bytes',
    aim: { of: 'value', most },
  };
}

function stallFigure(name: string, vault: Vault): Figure {
  return {
    name,
    value: vault.stalls(),
    unit: 'stalls',
    aim: { of: 'value', most: 0 },
  };
}

/** Stores the cards that all later sections are about, and weighs them when that is asked for. */
async function measureMemory(bench: Bench, vault: Vault): Promise<void> {
  const plain = await seed(vault, bench.load, PLAIN);
  if (!bench.options.sections.has('memory')) {
    return;
  }
  const coded = await seed(vault, bench.load, CODED, true);
  bench.figures.push(
    bytesFigure('Redis memory a card', plain, CARD_BYTES_AIM),
    bytesFigure('Redis memory a card with code', coded, CODED_CARD_BYTES_AIM),
  );
}

async function measureReads(bench: Bench, noop: Server, vault: Vault): Promise<void> {
  const { sections } = bench.options;
  if (!sections.has('decrypt') && !sections.has('list')) {
    return;
  }
  const decrypt = async (name: string, holding: Holding): Promise<Phase> => ({
    name,
    server: vault,
    plan: decryptPlan(holding, await addressesOf(vault, holding)),
    aim: DECRYPT_AIM,
  });
  const phases: Phase[] = [];
  if (sections.has('decrypt')) {
    await addMaskedAccount(vault);
    await seed(vault, bench.load, MASKED);
    phases.push(
      await decrypt('warm decrypt', PLAIN),
      await decrypt('warm decrypt, masked', MASKED),
      { name: HTTP_ALONE, server: vault, plan: getPlan(PLAIN, '/health/live') },
      { name: SIGNED_IN, server: vault, plan: getPlan(PLAIN, '/v1/whoami') },
    );
  }
  if (sections.has('list')) {
    phases.push({ name: 'list a page of 1,000', server: vault, plan: listPlan(PLAIN) });
  }
  const plan = phases[0]?.plan ?? listPlan(PLAIN);
  await compare(bench, { name: 'no-op GET', server: noop, plan }, phases);
}

async function measureStores(bench: Bench, noop: Server, vault: Vault): Promise<void> {
  await makeKey(vault, GROWING.credentials, GROWING.user);
  const plan = storePlan(GROWING);
  const base: Phase = { name: 'no-op POST', server: noop, plan };
  await compare(bench, base, [
    { name: 'warm store', server: vault, plan, aim: STORE_AIM },
    { name: 'warm store of one card', server: vault, plan: fixedPlan(GROWING) },
  ]);
}

async function measureCaptures(bench: Bench, noop: Server, vault: Vault): Promise<void> {
  await makeKey(vault, CAPTURING.credentials, CAPTURING.user);
  const plan = await capturePlan(vault, CAPTURING);
  const base: Phase = { name: 'no-op capture', server: noop, plan };
  await compare(bench, base, [{ name: 'capture', server: vault, plan, aim: CAPTURE_AIM }]);
}

/** Every main path with few and with many requests under way. */
async function measureLatencies(bench: Bench, noop: Server, vault: Vault): Promise<void> {
  await makeKey(vault, TIMED.credentials, TIMED.user);
  const store = storePlan(TIMED);
  const phases = [
    { name: 'no-op', server: noop, plan: store },
    { name: 'store', server: vault, plan: store },
    { name: 'capture', server: vault, plan: await capturePlan(vault, TIMED) },
    { name: 'warm decrypt', server: vault, plan: decryptPlan(PLAIN, await addressesOf(vault, PLAIN)) },
    { name: 'list a page of 1,000', server: vault, plan: listPlan(PLAIN) },
  ];
  bench.latency.push(...(await measureLatency(bench.load, phases, bench.options.seconds)));
}

/** A vault of its own, which other cards would make larger than its rows say. */
async function measureGrown(bench: Bench): Promise<void> {
  const { seconds, cards } = bench.options;
  const folder = join(bench.folder, 'grown');
  mkdirSync(folder);
  const vault = await startVault(folder);
  try {
    bench.growth.push(...(await measureGrowth(vault, bench.load, { seconds, most: cards, say })));
  } finally {
    await vault.stop();
  }
  const [first, last] = [bench.growth.at(0), bench.growth.at(-1)];
  if (first && last) {
    bench.figures.push({
      name: `A page among ${last.cards.toLocaleString('en-US')} cards over one among ${first.cards.toLocaleString('en-US')}`,
      value: last.pageP50Ms / first.pageP50Ms,
      unit: 'times',
      aim: { of: 'value', most: PAGE_GROWTH_AIM },
    });
  }
  bench.figures.push(stallFigure(`Event loop late by over ${STALL_MS} ms, as cards grow`, vault));
}

async function measureWarm(bench: Bench, noop: Server): Promise<string | undefined> {
  const has = (...sections: readonly Section[]): boolean =>
    sections.some((section) => bench.options.sections.has(section));
  const vault = await startVault(bench.folder);
  try {
    let address: string | undefined;
    if (has('memory', 'decrypt', 'list', 'decrypt_all', 'cold', 'latency')) {
      say('storing cards');
      await measureMemory(bench, vault);
      [address] = await addressesOf(vault, PLAIN);
      say('reading cards');
      await measureReads(bench, noop, vault);
    }
    if (has('decrypt_all')) {
      say('decrypting all cards');
      const { figures, cpu } = await measureDecryptAll(vault, bench.options.repeats);
      bench.figures.push(...figures);
      bench.cpu.push(cpu);
    }
    if (has('store')) {
      say('measuring stores');
      await measureStores(bench, noop, vault);
    }
    if (has('capture')) {
      say('measuring captures');
      await measureCaptures(bench, noop, vault);
    }
    if (has('latency')) {
      say('measuring latencies');
      await measureLatencies(bench, noop, vault);
    }
    return address;
  } finally {
    await vault.stop();
    bench.figures.push(stallFigure(`Event loop late by over ${STALL_MS} ms`, vault));
  }
}

async function measureColdUnlock(bench: Bench, address: string): Promise<void> {
  say('unlocking from cold');
  const vault = await startVault(bench.folder, { VAULT_WARM_UNLOCK_SECONDS: '0' });
  try {
    bench.figures.push(...(await measureCold(vault, PLAIN, address, bench.options.repeats)));
  } finally {
    await vault.stop();
  }
}

async function measure(bench: Bench): Promise<void> {
  const { sections, seconds, repeats } = bench.options;
  if (sections.has('crypto')) {
    bench.figures.push(...(await measureCrypto()));
  }
  if (sections.has('redis')) {
    bench.figures.push(await measureRedis(bench.folder, seconds));
  }
  if (sections.has('proxy')) {
    say('calling a third party');
    bench.figures.push(...(await measureProxied(join(bench.folder, 'proxied'), PROXIED, repeats)));
  }
  if (sections.has('pgcrypto') && hasPostgres()) {
    say('asking PostgreSQL');
    bench.figures.push(...(await measurePgcrypto(join(bench.folder, 'postgres'), 2 * seconds)));
  }
  if (sections.has('growth')) {
    await measureGrown(bench);
  }
  if (sections.isSubsetOf(new Set<Section>(['crypto', 'redis', 'proxy', 'pgcrypto', 'growth']))) {
    return;
  }
  const noop = await startNoop();
  try {
    const address = await measureWarm(bench, noop);
    if (sections.has('cold') && address !== undefined) {
      await measureColdUnlock(bench, address);
    }
  } finally {
    await noop.stop();
  }
}

function report({ figures, cpu, latency, growth, load, options }: Bench): void {
  const machine = {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? 'unknown',
    bun: Bun.version,
    generator: load.generator,
    loadAverage: loadavg(),
  };
  const { seconds, rounds, repeats } = options;
  mkdirSync(RESULTS, { recursive: true });
  const result: BenchResult = {
    time: new Date().toISOString(),
    isWhole: options.sections.size === SECTIONS.length && !options.isQuick,
    machine,
    seconds,
    rounds,
    repeats,
    figures,
    cpu,
    latency,
    growth,
  };
  writeFileSync(join(RESULTS, 'bench.json'), `${JSON.stringify(result, undefined, 2)}\n`);
  const { cores, processor, generator } = machine;
  process.stdout.write(
    `\n${cores} cores, ${processor}, Bun ${machine.bun}, load by ${generator}, ` +
      `${rounds} rounds of ${seconds} s a phase, load average ${machine.loadAverage[0]?.toFixed(2)}\n\n`,
  );
  const measured = Object.values(tablesOf(result)).filter(({ rows }) => rows.length > 0);
  process.stdout.write(`${measured.map(renderTable).join('\n\n')}\n`);
}

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2));
  const folder = makeFolder();
  const bench: Bench = {
    options,
    folder,
    load: createLoad(folder),
    figures: [],
    cpu: [],
    latency: [],
    growth: [],
  };
  await measure(bench);
  report(bench);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    say(`bench: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  },
);
