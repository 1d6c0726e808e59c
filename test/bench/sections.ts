/** The sections of the benchmark: each measures something on servers that are running. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { measureDecryptAll } from './bulk.ts';
import {
  addressesOf,
  CAPTURING,
  CODED,
  capturePlan,
  decryptPlan,
  GROWING,
  getPlan,
  listPlan,
  PLAIN,
  seed,
  storeAddresses,
  storePlan,
} from './cards.ts';
import { measureCold } from './cold.ts';
import type { Compared } from './compared.ts';
import { type GrowthRow, measureGrowth } from './growth.ts';
import type { Load } from './load.ts';
import type { MemoryRow } from './memory.ts';
import type { BenchOptions } from './options.ts';
import type { Pgcrypto } from './pgcrypto.ts';
import { comparePhases, httpPhase, type OperationRow, type Phase } from './phases.ts';
import type { ProxiedRow } from './proxied.ts';
import { makeKey, type Server, startVault, type Vault } from './servers.ts';
import type { Figure } from './stats.ts';

const PAGE_GROWTH_AIM = 1.3;
const CARD_BYTES_AIM = 2_000;
const CODED_CARD_BYTES_AIM = 2_800;

/** A request that signs in and does nothing else: `bun run bench:scale` needs its costs. */
export const SIGN_IN = 'sign-in: Cardvault';

/** A run of the benchmark, with what it has measured so far. */
export interface Bench {
  readonly options: BenchOptions;
  readonly folder: string;
  readonly load: Load;
  readonly operations: OperationRow[];
  readonly figures: Figure[];
  readonly proxied: ProxiedRow[];
  readonly memory: MemoryRow[];
  readonly growth: GrowthRow[];
}

/** The servers that are compared; PostgreSQL where it is installed and asked for. */
export interface World extends Compared {
  readonly vault: Vault;
  readonly pgcrypto: Pgcrypto | undefined;
}

async function compare(bench: Bench, phases: readonly Phase[]): Promise<void> {
  bench.operations.push(...(await comparePhases(phases, bench.options)));
}

/** Stores on every server in turns. */
export async function compareStores(bench: Bench, world: World): Promise<void> {
  const { noop, plain, plainUnsynced, pipeline, vault, pgcrypto } = world;
  await makeKey(vault, GROWING.credentials, GROWING.user);
  const plan = storePlan(GROWING);
  const phase = (name: string, server: Server, isScaled = false, own = plan): Phase =>
    httpPhase(bench.load, `store: ${name}`, server, own, isScaled);
  await compare(bench, [
    phase('no-op', noop, true),
    phase('plain script, not synced', plainUnsynced),
    phase('plain script', plain),
    phase('scripts', pipeline, false, storePlan(GROWING, false, '/scripts')),
    phase('empty pipeline', pipeline, true),
    phase('Cardvault', vault, true),
    ...(pgcrypto === undefined ? [] : [pgcrypto.store]),
  ]);
}

/** Readings of single cards on every server in turns. */
export async function compareDecrypts(bench: Bench, world: World): Promise<void> {
  const { noop, plain, pipeline, vault, pgcrypto } = world;
  const { stored } = bench.options;
  const addresses = await addressesOf(vault, PLAIN);
  const plainPlan = decryptPlan(PLAIN, await storeAddresses(plain, stored));
  const emptyAddresses = await storeAddresses(pipeline, stored);
  const plan = decryptPlan(PLAIN, addresses);
  const phase = (name: string, server: Server, own = plan, isScaled = false): Phase =>
    httpPhase(bench.load, `decrypt: ${name}`, server, own, isScaled);
  await compare(bench, [
    phase('no-op', noop, plan, true),
    phase('plain script', plain, plainPlan),
    phase('scripts, not logged', pipeline, decryptPlan(PLAIN, emptyAddresses, '/unlogged')),
    phase('scripts', pipeline, decryptPlan(PLAIN, emptyAddresses, '/scripts')),
    phase('empty pipeline', pipeline, decryptPlan(PLAIN, emptyAddresses), true),
    phase('Cardvault', vault, plan, true),
    httpPhase(bench.load, SIGN_IN, vault, getPlan(PLAIN, '/v1/whoami')),
    ...(pgcrypto?.decrypts ?? []),
  ]);
}

/** Captures, beside the server that does nothing. */
export async function compareCaptures(bench: Bench, { noop, vault }: World): Promise<void> {
  await makeKey(vault, CAPTURING.credentials, CAPTURING.user);
  const plan = await capturePlan(vault, CAPTURING);
  await compare(bench, [
    httpPhase(bench.load, 'capture: no-op', noop, plan),
    httpPhase(bench.load, 'capture: Cardvault', vault, plan, true),
  ]);
}

/** Pages of a listing. */
export async function measureList(bench: Bench, { vault }: World): Promise<void> {
  await compare(bench, [
    httpPhase(bench.load, 'list a page of 1,000: Cardvault', vault, listPlan(PLAIN), true),
  ]);
}

/** All cards of a key in one reply. */
export async function measureBulk(bench: Bench, { vault }: World): Promise<void> {
  const { stored, repeats } = bench.options;
  const { figures, row } = await measureDecryptAll(vault, stored, repeats);
  bench.figures.push(...figures);
  bench.operations.push(row);
}

/** Stores the cards that other sections are about, and weighs them when that is asked for. */
export async function storeCards(bench: Bench, vault: Vault): Promise<void> {
  const { stored, sections } = bench.options;
  const figure = (name: string, value: number, most: number): Figure => ({
    ...{ name, value, unit: 'bytes' },
    aim: { most },
  });
  const plain = await seed(vault, bench.load, PLAIN, stored);
  if (sections.has('memory')) {
    const coded = await seed(vault, bench.load, CODED, stored, true);
    bench.figures.push(
      figure('Redis memory a card', plain, CARD_BYTES_AIM),
      figure('Redis memory a card with code', coded, CODED_CARD_BYTES_AIM),
    );
  }
}

/** The first request under a passphrase, on the cards that are stored; the vault that stored them must have ended. */
export async function measureColdUnlock(bench: Bench, address: string): Promise<void> {
  const vault = await startVault(bench.folder, { VAULT_WARM_UNLOCK_SECONDS: '0' });
  try {
    bench.figures.push(...(await measureCold(vault, PLAIN, address, bench.options.repeats)));
  } finally {
    await vault.stop();
  }
}

/** The same requests among ever more cards, on a vault of its own. */
export async function measureGrown(bench: Bench): Promise<void> {
  const { seconds, cards } = bench.options;
  const folder = join(bench.folder, 'grown');
  mkdirSync(folder);
  const vault = await startVault(folder);
  try {
    bench.growth.push(...(await measureGrowth(vault, bench.load, { seconds, most: cards })));
  } finally {
    await vault.stop();
  }
  const [first, last] = [bench.growth.at(0), bench.growth.at(-1)];
  if (first && last && first !== last) {
    bench.figures.push({
      name: `A page among ${last.cards.toLocaleString('en-US')} cards over one among ${first.cards.toLocaleString('en-US')}`,
      value: last.pageP50Ms / first.pageP50Ms,
      unit: 'times',
      aim: { most: PAGE_GROWTH_AIM },
    });
  }
}
