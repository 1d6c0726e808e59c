/** What a card costs in Redis' memory, by what is kept beside it. */
import { batchBodies, storeBatches } from './batch.ts';
import { usedMemory } from './cards.ts';
import type { Bench } from './sections.ts';
import { makeKey, OWNER, type Vault } from './servers.ts';

const SETTLED_WITHIN_MS = 600_000;
const POLL_MS = 2_000;

/** Kinds of cards: their key, and what a batch says of each. None but the last has a reference. */
const KINDS = [
  { name: 'plain', key: {}, facts: {} },
  { name: 'with a lifetime', key: {}, facts: { ttl: 'P365D' } },
  { name: 'with one pair of metadata', key: {}, facts: { metadata: { order: '2026-00017' } } },
  { name: 'of a key with summaries', key: { summary: true }, facts: {} },
  { name: 'with a reference', key: {}, facts: {}, hasReference: true },
] as const;

/** What a card takes in Redis, by what is kept beside it. */
export interface MemoryRow {
  readonly kind: (typeof KINDS)[number]['name'];
  readonly bytes: number;
}

/** Waits until the heads of all changed logs were written: until then their tokens are in Redis twice. */
async function settle({ redis }: Vault): Promise<void> {
  const until = performance.now() + SETTLED_WITHIN_MS;
  while ((await redis.keys('{*}d')).length > 0) {
    if (performance.now() > until) {
      throw new Error('the heads of logs were not written in time');
    }
    await Bun.sleep(POLL_MS);
  }
}

/** Stores cards of each kind under a key of its own; `cards` is a multiple of those of a batch. */
export async function weighCards({ memory, options }: Bench, vault: Vault, cards: number): Promise<void> {
  if (options.isQuick) {
    // The heads are written twice a minute: each kind would wait for them.
    return;
  }
  for (const [n, kind] of KINDS.entries()) {
    const user = `kind-${n}`;
    await makeKey(vault, OWNER, user, kind.key);
    await settle(vault);
    const before = await usedMemory(vault);
    await storeBatches(vault, batchBodies(user, cards, kind.facts, 'hasReference' in kind));
    await settle(vault);
    memory.push({ kind: kind.name, bytes: ((await usedMemory(vault)) - before) / cards });
  }
}
