/** The same requests while ever more cards are stored under one key. */
import { addressesAt, decryptPlan, GROWN, listPlan, storePlan, usedMemory } from './cards.ts';
import { residentBytes } from './cpu.ts';
import type { Load } from './load.ts';
import { say } from './processes.ts';
import { makeKey, type Vault } from './servers.ts';

/** How many cards are stored when the requests are measured. */
const SIZES = [1_000, 100_000, 1_000_000] as const;
/** Cards of the whole key that are opened, whichever its size. */
const SAMPLE = 1_000;
const WARM_UP_SECONDS = 2;
const AT_ONCE = 32;

/** What a vault of one size did. */
export interface GrowthRow {
  readonly cards: number;
  readonly storeRate: number;
  readonly decryptRate: number;
  readonly decryptP99Ms: number;
  readonly pageP50Ms: number;
  readonly pageP99Ms: number;
  readonly redisBytes: number;
  readonly serverBytes: number;
}

/** Fills one key up to each of the sizes and measures there; `most` leaves larger sizes out. */
export async function measureGrowth(
  vault: Vault,
  load: Load,
  { seconds, most }: { readonly seconds: number; readonly most: number },
): Promise<GrowthRow[]> {
  await makeKey(vault, GROWN.credentials, GROWN.user);
  const empty = await usedMemory(vault);
  const rows: GrowthRow[] = [];
  let cards = 0;
  for (const size of SIZES.filter((each) => each <= most)) {
    say(`storing ${(size - cards).toLocaleString('en-US')} more cards`);
    await load.times(vault.port, storePlan(GROWN), size - cards);
    const redisBytes = (await usedMemory(vault)) - empty;
    const addresses = await addressesAt(vault, GROWN, size, SAMPLE);
    // The first size would else be the one that the runtime compiles its code in.
    await load.forSeconds(vault.port, decryptPlan(GROWN, addresses), WARM_UP_SECONDS, AT_ONCE);
    await load.forSeconds(vault.port, listPlan(GROWN), WARM_UP_SECONDS, 1);
    const opened = await load.forSeconds(vault.port, decryptPlan(GROWN, addresses), seconds, AT_ONCE);
    const page = await load.forSeconds(vault.port, listPlan(GROWN), seconds, 1);
    const serverBytes = residentBytes(vault.pid);
    const stored = await load.forSeconds(vault.port, storePlan(GROWN), seconds, AT_ONCE);
    cards = size + stored.requests;
    rows.push({
      cards: size,
      storeRate: stored.requests / stored.seconds,
      decryptRate: opened.requests / opened.seconds,
      decryptP99Ms: opened.p99Ms,
      pageP50Ms: page.p50Ms,
      pageP99Ms: page.p99Ms,
      redisBytes,
      serverBytes,
    });
  }
  return rows;
}
