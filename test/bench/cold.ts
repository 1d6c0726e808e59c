/** What the first request under a passphrase costs: one Argon2id, and how little beside it. */
import { argon2Ms } from './bare-crypto.ts';
import type { Holding } from './cards.ts';
import { call, type Vault } from './servers.ts';
import { type Figure, median } from './stats.ts';

const EXTRA_MS_AIM = 5;

/**
 * Decrypts a card `repeats` times on a vault that keeps nothing unlocked, each time beside one bare Argon2id, so
 * that both meet the machine in the same state.
 */
export async function measureCold(
  vault: Vault,
  { user, credentials }: Holding,
  address: string,
  repeats: number,
): Promise<Figure[]> {
  const target = `/v1/vault/?user=${user}&${address}`;
  const bare: number[] = [];
  const cold: number[] = [];
  await (await call(vault, credentials, target)).bytes();
  for (let i = 0; i < repeats; i++) {
    bare.push(await argon2Ms());
    const from = performance.now();
    await (await call(vault, credentials, target)).bytes();
    cold.push(performance.now() - from);
  }
  const extra = cold.map((ms, i) => ms - (bare[i] ?? Number.NaN));
  return [
    {
      name: 'Cold unlock and decrypt',
      value: median(cold),
      unit: 'ms',
      p50Ms: median(cold),
    },
    {
      name: 'Cold unlock, over bare Argon2id',
      value: median(extra),
      unit: 'ms',
      aim: { of: 'value', most: EXTRA_MS_AIM },
    },
  ];
}
