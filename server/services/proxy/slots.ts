import { VaultError } from '../../core/errors.ts';
import type { Clock, RandomFraction } from '../common/clock.ts';

/** How many jobs a server works on at once. */
export const JOBS_AT_ONCE = 64;
const WAIT_MS = 1_000;
/** What each waiting job adds to the time over which the waiting jobs are spread. */
const SPREAD_MS = 5;
const WAIT_MS_MAX = 60_000;
/** A job that has not asked again by then was done elsewhere. */
const FORGET_MS = 2 * WAIT_MS_MAX;

interface Share {
  running: number;
  /** When each job asked last, the longest ago first. */
  readonly waiting: Map<string, number>;
}

function forgetOld(waiting: Map<string, number>, now: number): void {
  for (const [name, asked] of waiting) {
    if (asked + FORGET_MS > now) {
      return;
    }
    waiting.delete(name);
  }
}

/** The slots of a server's jobs. */
export type JobSlots = ReturnType<typeof createJobSlots>;

/**
 * Keeps the jobs of a few accounts, whose targets may be slow, from taking the slots of all others: an account gets
 * another slot while it has fewer than are free. One alone gets half of them, and a newcomer still finds one beside six
 * others. The more jobs of an account wait, the longer each does, so that asking again costs little.
 */
export function createJobSlots({ now, random }: { readonly now: Clock; readonly random: RandomFraction }) {
  const shares = new Map<string, Share>();
  let running = 0;
  return {
    running: () => running,
    /** Takes a slot for a job; or gives the ms after which it should ask again. */
    take(aid: string, name: string): number | undefined {
      const share = shares.get(aid) ?? { running: 0, waiting: new Map<string, number>() };
      shares.set(aid, share);
      share.waiting.delete(name);
      if (share.running < JOBS_AT_ONCE - running) {
        share.running += 1;
        running += 1;
        return undefined;
      }
      forgetOld(share.waiting, now());
      share.waiting.set(name, now());
      return Math.min(WAIT_MS_MAX, Math.ceil(WAIT_MS + random() * SPREAD_MS * share.waiting.size));
    },
    give(aid: string): void {
      const share = shares.get(aid);
      if (!share) {
        return;
      }
      share.running -= 1;
      running -= 1;
      if (share.running === 0) {
        shares.delete(aid);
      }
    },
  };
}

const CALLS_MAX = 1_024;
const CALLS_PER_ACCOUNT_MAX = 256;

/** The bounds of a server's calls. */
export type CallBounds = ReturnType<typeof createCallBounds>;

/** Bounds the calls that wait for third parties, relayed ones too, whose replies are held in memory; over it: `overloaded`. */
export function createCallBounds() {
  const calls = new Map<string, number>();
  let all = 0;
  return {
    /** Takes a place for a call, which `leave` gives back. */
    enter(aid: string): void {
      const own = calls.get(aid) ?? 0;
      if (own >= CALLS_PER_ACCOUNT_MAX || all >= CALLS_MAX) {
        throw new VaultError('overloaded');
      }
      calls.set(aid, own + 1);
      all += 1;
    },
    leave(aid: string): void {
      const left = (calls.get(aid) ?? 1) - 1;
      all -= 1;
      if (left === 0) {
        calls.delete(aid);
      } else {
        calls.set(aid, left);
      }
    },
  };
}
