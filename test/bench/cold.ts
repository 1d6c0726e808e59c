/** What the first request under a passphrase costs: one Argon2id, and how little beside it. */
import { argon2, randomBytes } from 'node:crypto';
import type { Holding } from './cards.ts';
import { call, type Vault } from './servers.ts';
import { type Figure, median } from './stats.ts';

const EXTRA_MS_AIM = 5;

/** Milliseconds of one Argon2id at the vault's default: 64 MiB, three passes, four lanes. */
async function argon2Ms(): Promise<number> {
  const cost = { memory: 65_536, passes: 3, parallelism: 4, tagLength: 32 };
  const from = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  argon2('argon2id', { ...cost, message: randomBytes(32), nonce: randomBytes(16) }, (error) =>
    error ? reject(error) : resolve(),
  );
  await promise;
  return performance.now() - from;
}

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
    { name: 'Argon2id alone, 64 MiB t=3 p=4', value: median(bare), unit: 'ms' },
    { name: 'Cold unlock and decrypt', value: median(cold), unit: 'ms' },
    {
      name: 'Cold unlock over Argon2id alone',
      value: median(extra),
      unit: 'ms',
      aim: { most: EXTRA_MS_AIM },
    },
  ];
}
