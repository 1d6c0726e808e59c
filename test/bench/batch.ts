/** Batches of 1,000 items: cards a second, and what another account notices of them. */
import { makeAccounts, makeKey as makeFloodKey, SMALL, storing } from '../flood/world.ts';
import { CARD, type Holding } from './cards.ts';
import { withGrowth } from './cpu.ts';
import { send } from './load.ts';
import { httpPhase, type OperationRow, type Phase, summarize } from './phases.ts';
import { LINE, type Plan, SEQUENCE, sequenceText } from './plan.ts';
import type { Bench } from './sections.ts';
import { call, makeKey, OWNER, type Vault } from './servers.ts';
import { type Figure, median } from './stats.ts';

/** The key whose cards are stored and decrypted. */
const BATCHED: Holding = { user: 'batched', credentials: OWNER };
/** Items of a batch, as many as there may be. */
const BATCH_ITEMS = 1_000;
const CONNECTIONS = 4;
/** Decryptions go around so many cards a card of other sections: a log that is long is another measurement. */
export const CARDS_TIMES = 10;
const STORE_AIM = 25_000;
const DECRYPT_AIM = 60_000;
const FAIR_AIM = 3;
const MIB = 1_048_576;
/** Some hundreds of stores of the other account: the p99 of fewer would be the slowest one. */
const OTHER_PER_SECOND = 100;
const OTHER_SECONDS = 10;
const OTHER_CONNECTIONS = 32;
/** How long batches run before the other account is measured, and behind it. */
const MARGIN_SECONDS = 2;

/** What each item has beside its data, and whether that is a reference of its own too. */
type More = readonly [facts?: object, hasReference?: boolean];

/** The body of a batch: each of its cards has another number and reference than any other. */
function batchBody(user: string, ...[facts = {}, hasReference = true]: More): object {
  const items = Array.from({ length: BATCH_ITEMS }, (_, n) => {
    const place = String(n).padStart(3, '0');
    const data = { ...CARD, card_number: `411${place}${SEQUENCE}` };
    return hasReference ? { data, reference: `order-${place}-${SEQUENCE}`, ...facts } : { data, ...facts };
  });
  return { user, items };
}

function planOf(target: string, { credentials }: Holding, body: string, lines?: readonly string[]): Plan {
  return { method: 'POST', target, headers: credentials, body, ...(lines === undefined ? {} : { lines }) };
}

/** Bodies for so many cards, a multiple of those of a batch. */
export function* batchBodies(user: string, cards: number, ...more: More): Generator<object> {
  const text = JSON.stringify(batchBody(user, ...more));
  for (let n = 0; n < cards / BATCH_ITEMS; n++) {
    yield JSON.parse(text.replaceAll(SEQUENCE, sequenceText(n))) as object;
  }
}

/** Stores batches one after the other; gives of each the items by which they are decrypted. */
export async function storeBatches(vault: Vault, bodies: Iterable<object>): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const body of bodies) {
    const reply = await call(vault, OWNER, '/v1/vault/batch', body);
    const { results } = (await reply.json()) as { readonly results: readonly Record<string, string>[] };
    lines.push(JSON.stringify(results.map(({ token, reference }) => ({ token, reference }))));
  }
  return lines;
}

/** The phase of sending batches, by their cards. */
function batchPhase({ load }: Bench, name: string, vault: Vault, plan: Plan): Phase {
  const { run, ...phase } = httpPhase(load, name, vault, plan);
  return {
    ...phase,
    run: async (seconds, connections) => {
      const round = await run(seconds, connections);
      return { ...round, requests: BATCH_ITEMS * round.requests };
    },
  };
}

/** Runs phases in turns, with the growth of the server's memory while they run. */
async function measurePhases(
  { options }: Bench,
  vault: Vault,
  phases: readonly Phase[],
): Promise<{ readonly rows: readonly OperationRow[]; readonly grown: number }> {
  for (const phase of phases) {
    await phase.run(options.warmUpSeconds, CONNECTIONS);
  }
  const rows: OperationRow[] = [];
  const { grown } = await withGrowth(vault.pid, async () => {
    for (const phase of phases) {
      const rounds = [];
      for (let round = 0; round < options.rounds; round++) {
        rounds.push(await phase.run(options.seconds, CONNECTIONS));
      }
      rows.push(summarize(phase.name, CONNECTIONS, rounds));
    }
  });
  return { rows, grown };
}

/** The p99 of another account's stores beside batches, over that beside nothing. */
async function measureFairness(
  { load, options, folder }: Bench,
  vault: Vault,
  plans: readonly (readonly [string, Plan])[],
): Promise<Figure[]> {
  await makeAccounts(vault, ['small']);
  await makeFloodKey(vault, SMALL, 'own', 0);
  const seconds = options.isQuick ? MARGIN_SECONDS : OTHER_SECONDS;
  const store = () =>
    send(folder, {
      ...{ port: vault.port, seconds, connections: OTHER_CONNECTIONS, perSecond: OTHER_PER_SECOND },
      requests: storing(SMALL, 'own'),
    });
  await store();
  const idle = await store();
  const figures: Figure[] = [{ name: 'Stores of another account, idle, p99', value: idle.p99Ms, unit: 'ms' }];
  for (const [name, plan] of plans) {
    const batches = load.forSeconds(vault.port, plan, seconds + 2 * MARGIN_SECONDS, CONNECTIONS);
    await Bun.sleep(1_000 * MARGIN_SECONDS);
    const { p99Ms, statuses } = await store();
    await batches;
    if (Object.keys(statuses).some((status) => status !== '200')) {
      throw new Error(`stores beside batches were answered with ${JSON.stringify(statuses)}`);
    }
    figures.push(
      { name: `Stores of another account beside ${name}, p99`, value: p99Ms, unit: 'ms' },
      { name: `The same, over idle`, value: p99Ms / idle.p99Ms, unit: 'times', aim: { most: FAIR_AIM } },
    );
  }
  return figures;
}

/** Stores and decrypts by batches. */
export async function measureBatches(bench: Bench, vault: Vault): Promise<void> {
  await makeKey(vault, BATCHED.credentials, BATCHED.user);
  const lines = await storeBatches(vault, batchBodies(BATCHED.user, CARDS_TIMES * bench.options.stored));
  const storePlan = planOf('/v1/vault/batch', BATCHED, JSON.stringify(batchBody(BATCHED.user)));
  const decryptPlan = planOf(
    '/v1/vault/batch/decrypt',
    BATCHED,
    `{"user":"${BATCHED.user}","items":${LINE}}`,
    lines,
  );
  const plainPlan = planOf('/v1/vault/batch', BATCHED, JSON.stringify(batchBody(BATCHED.user, {}, false)));
  const { rows, grown } = await measurePhases(bench, vault, [
    batchPhase(bench, 'batch store, a card: Cardvault', vault, plainPlan),
    batchPhase(bench, 'batch store with a reference: Cardvault', vault, storePlan),
    batchPhase(bench, 'batch decrypt, a card: Cardvault', vault, decryptPlan),
  ]);
  bench.operations.push(...rows);
  const [stored, referred, decrypted] = rows.map(({ rates }) => median(rates));
  const rate = (name: string, value = Number.NaN, least = 0): Figure => ({
    ...{ name, value, unit: 'cards/s', aim: { least } },
  });
  bench.figures.push(
    rate('Batches of 1,000 stored', stored, STORE_AIM),
    { name: 'The same, with references', value: referred ?? Number.NaN, unit: 'cards/s' },
    rate('Batches of 1,000 decrypted', decrypted, DECRYPT_AIM),
    { name: "Batches, growth of the server's memory", value: grown / MIB, unit: 'MiB' },
    ...(await measureFairness(bench, vault, [
      ['batches that store', storePlan],
      ['batches that decrypt', decryptPlan],
    ])),
  );
}
