/** The CPU time of a thread, as Linux counts it. Another thread can read it, also while that one is in an endless loop. */
import { readFileSync, readlinkSync } from 'node:fs';

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;
/** The places of user and system time among the fields behind the name of the thread. */
const USER = 11;
const SYSTEM = 12;

/** The number by which the system knows the calling thread; 0 on a system without `/proc`. */
export function ownThreadNumber(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return 0;
  }
}

/** Milliseconds for which a thread of this process has run on a core; undefined where the system does not say. */
export function cpuMsOf(threadNumber: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/self/task/${threadNumber}/stat`, 'latin1');
    // The name stands in brackets, and may have brackets and spaces of its own.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const cpuMs = (Number(fields[USER]) + Number(fields[SYSTEM])) * TICK_MS;
    return Number.isNaN(cpuMs) ? undefined : cpuMs;
  } catch {
    return undefined;
  }
}
