import type { Clock, RandomFraction } from '../core/clock.ts';

const WAIT_MS = 1_000;
/** Added by each waiting job to the time over which the waiting jobs are spread. */
const SPREAD_MS = 5;
const WAIT_MS_MAX = 60_000;
/** A job that has not retried by then was run elsewhere. */
const FORGET_MS = 2 * WAIT_MS_MAX;

/** Spreads the attempts of jobs without room: the more jobs of an account wait, the longer each does. */
export class RetryWaits {
  /** The time of each waiting job's last attempt by account, the oldest first. */
  private readonly waiting = new Map<string, Map<string, number>>();

  constructor(
    private readonly random: RandomFraction,
    private readonly now: Clock,
  ) {}

  /** Records a job without room; returns the ms until its next attempt. */
  next(aid: string, name: string): number {
    const now = this.now();
    this.end(aid, name);
    const names = this.waiting.get(aid) ?? new Map<string, number>();
    this.waiting.set(aid, names.set(name, now));
    for (const [other, atMs] of names) {
      if (atMs + FORGET_MS > now) {
        break;
      }
      names.delete(other);
    }
    return Math.min(WAIT_MS_MAX, Math.ceil(WAIT_MS + this.random() * SPREAD_MS * names.size));
  }

  /** Records that a job waits no more. */
  end(aid: string, name: string): void {
    const names = this.waiting.get(aid);
    if (names?.delete(name) === true && names.size === 0) {
      this.waiting.delete(aid);
    }
  }
}
