import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** The share of a processor that these get beside threads that are as busy is about a quarter. */
const NICE = 5;
const TASKS = '/proc/self/task';
const POOL_THREAD = /^Bun Pool /;
const EVERY_MS = 5_000;

/** Lets the threads that derive keys from passphrases, and whatever else the runtime does aside, step back for all others. */
function lowerPool(): void {
  for (const id of readdirSync(TASKS)) {
    if (POOL_THREAD.test(readFileSync(`${TASKS}/${id}/comm`, 'utf8'))) {
      setPriority(Number(id), NICE);
    }
  }
}

/**
 * Has the kernel run Argon2id behind everything else that the server does: a flood of passphrases then leaves requests
 * that need none their processors. The runtime starts those threads when it first needs them, so they are looked for
 * again and again. Where there is no /proc, or it must not be read, all threads stay alike.
 */
export function keepPoolLow(): void {
  const look = (): void => {
    try {
      lowerPool();
    } catch {
      // A thread that ended while it was looked at, or a system without these names.
    }
  };
  look();
  setInterval(look, EVERY_MS).unref();
}
