import { availableParallelism, freemem } from 'node:os';
import { ARGON2_FLOOR, type Argon2Params, deriveKek } from '../../workers/crypto/primitives/kdf.ts';
import { defineCommand } from './command.ts';

/** A duration that callers accept, and that makes guessing expensive. */
const TARGET_MS = 200;
const RUNS = 3;
/** Memory costs that are measured, from the minimum of this vault. */
const MEMORY_KIB = [19_456, 32_768, 65_536, 131_072, 262_144, 524_288] as const;
const PASSES = [2, 3, 4] as const;
/** The share of free memory for one derivation: several run at the same time, together with Redis. */
const MEMORY_SHARE = 1 / 8;
/** After a slower result, no more memory is tried with the same number of passes. */
const TOO_LONG_MS = 4 * TARGET_MS;

/** The duration of one derivation on this machine in ms: the median of three. */
export interface Argon2Timing extends Argon2Params {
  readonly ms: number;
}

function textOf({ memoryKiB, passes, parallelism }: Argon2Params): string {
  return `m=${memoryKiB},t=${passes},p=${parallelism}`;
}

/** Measures one setting with a fixed passphrase. */
async function measure(params: Argon2Params): Promise<Argon2Timing> {
  const secret = new TextEncoder().encode('a passphrase of thirty-two bytes');
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const startedAt = performance.now();
    await deriveKek(secret, new Uint8Array(16), params);
    times.push(performance.now() - startedAt);
  }
  times.sort((one, other) => one - other);
  return { ...params, ms: times[1] ?? 0 };
}

/** The distance of a duration from the target; twice and half are equal. */
function distance({ ms }: Argon2Timing): number {
  return Math.abs(Math.log(ms / TARGET_MS));
}

/**
 * Suggests a setting. Of those that take at most 1.5 times the target, it has the most memory, which is the main cost
 * of guessing (RFC 9106, section 4), and then the duration nearest to the target. The minimum cost if all are slower.
 */
export function suggest(timings: readonly Argon2Timing[], bytesFree: number): Argon2Params {
  const fitting = timings.filter(
    ({ ms, memoryKiB }) => ms <= 1.5 * TARGET_MS && memoryKiB * 1_024 <= bytesFree * MEMORY_SHARE,
  );
  const memory = Math.max(...fitting.map(({ memoryKiB }) => memoryKiB));
  const [best] = fitting
    .filter(({ memoryKiB }) => memoryKiB === memory)
    .toSorted((one, other) => distance(one) - distance(other));
  return best ?? ARGON2_FLOOR;
}

/** `vault argon2`. It needs neither settings nor Redis, so that it can run before the first start. */
export const argon2Command = defineCommand({
  words: ['argon2'],
  options: {},
  summary:
    'Measures how long it takes to unlock a key on this machine, and suggests a VAULT_ARGON2 of about 200 ms.',
  opens: 'nothing',
  async run({ progress, signal }) {
    const lanes = [...new Set([1, Math.min(4, availableParallelism())])];
    const shown = progress('Measuring', 'settings', MEMORY_KIB.length * PASSES.length * lanes.length);
    const timings: Argon2Timing[] = [];
    let tried = 0;
    for (const parallelism of lanes) {
      for (const passes of PASSES) {
        // Memory costs ascend, so after a slow result all further ones are slow as well.
        let isSlow = false;
        for (const memoryKiB of MEMORY_KIB) {
          signal.throwIfAborted();
          if (!isSlow) {
            const timing = await measure({ memoryKiB, passes, parallelism });
            timings.push(timing);
            isSlow = timing.ms > TOO_LONG_MS;
          }
          tried += 1;
          shown.at(tried);
        }
      }
    }
    shown.end();
    const setting = textOf(suggest(timings, freemem()));
    return {
      data: {
        suggestion: setting,
        timings: timings.map(({ ms, ...params }) => ({ ...params, ms: Math.round(ms) })),
      },
      shown: [
        {
          heading: 'One unlock with a passphrase, alone on this machine:',
          columns: ['Memory (KiB)', 'Passes', 'Lanes', 'Milliseconds'],
          rows: timings.map(({ memoryKiB, passes, parallelism, ms }) =>
            [memoryKiB, passes, parallelism, Math.round(ms)].map(String),
          ),
        },
        [
          `VAULT_ARGON2=${setting}`,
          'uses the most memory that unlocks a key in about 200 ms on this machine. Every guess of a passphrase costs the',
          `same. The minimum is ${textOf(ARGON2_FLOOR)}. Keys change to a higher cost when they are next unlocked.`,
        ].join('\n'),
      ],
    };
  },
});
