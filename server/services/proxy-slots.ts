import type { Parts } from '../deps.ts';

/** How many jobs of one account a server works on at once. */
const PER_ACCOUNT_MAX = 32;
const WAIT_MS = 1_000;
/** What each job that waits adds to the time over which those that wait are spread. */
const SPREAD_MS = 5;
const WAIT_MS_MAX = 60_000;
/** Who has not asked again by then was done elsewhere. */
const FORGET_MS = 2 * WAIT_MS_MAX;

/** Keeps one account's jobs, whose targets may be slow, from taking the places of everybody else's. */
export interface JobSlots {
  /** Takes a place for a job; or gives the ms after which it should ask again. */
  readonly take: (aid: string, name: string) => number | undefined;
  readonly give: (aid: string) => void;
}

interface Share {
  running: number;
  /** When each asked last, the longest ago first. */
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

/** The more jobs of an account wait, the longer each does, so that asking again costs little. */
export function createJobSlots({ now, chance }: Pick<Parts, 'now' | 'chance'>): JobSlots {
  const shares = new Map<string, Share>();
  return {
    take(aid, name) {
      const share = shares.get(aid) ?? { running: 0, waiting: new Map<string, number>() };
      shares.set(aid, share);
      share.waiting.delete(name);
      if (share.running < PER_ACCOUNT_MAX) {
        share.running += 1;
        return undefined;
      }
      forgetOld(share.waiting, now());
      share.waiting.set(name, now());
      return Math.min(WAIT_MS_MAX, Math.ceil(WAIT_MS + chance() * SPREAD_MS * share.waiting.size));
    },
    give(aid) {
      const share = shares.get(aid);
      if (!share) {
        return;
      }
      share.running -= 1;
      if (share.running === 0) {
        shares.delete(aid);
      }
    },
  };
}
