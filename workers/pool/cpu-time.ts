import { readFileSync, readlinkSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;
/** Places of user and system time among the fields after the name of the thread. */
const USER = 11;
const SYSTEM = 12;

/** The system's number of the calling thread; 0 on a system without `/proc`. */
export function ownThreadNumber(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return 0;
  }
}

/**
 * CPU time in ms of a thread of this process; undefined on a system without `/proc`. It can be read while the thread is
 * in an endless loop.
 */
export function cpuMsOf(threadNumber: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/self/task/${threadNumber}/stat`, 'latin1');
    // The name is in parentheses, and may contain parentheses and spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const cpuMs = (Number(fields[USER]) + Number(fields[SYSTEM])) * TICK_MS;
    return Number.isNaN(cpuMs) ? undefined : cpuMs;
  } catch {
    return undefined;
  }
}
