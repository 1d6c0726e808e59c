import type { Clock, RandomFraction } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { createFairSemaphore, enter, leave } from '../limits/fair-queue.ts';
import type { AsksForRoom } from '../outbound/call.ts';

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

const MIB = 1_048_576;
/** What each call is counted with beside its body: the rest of a request, and a reply that is read without asking for room. */
const CALL_BYTES = 131_000;
/** What all calls of a server may hold, and those of one account: 1,024 short ones, and a quarter. */
const BYTES_MAX = 128 * MIB;
const BYTES_EACH_MAX = 32 * MIB;
/** Long replies that are read at once: each takes about 4 MB while it is read, decoded, masked and written. */
const LONG_REPLIES_MAX = 32;
const LONG_REPLIES_EACH_MAX = 8;

/** A call that has its place. */
export interface EnteredCall {
  /** Asks for room for a long reply, once for all replies of the call. */
  readonly room: AsksForRoom;
  /** Gives back everything. */
  readonly leave: () => void;
}

/** The bounds of a server's calls. */
export type CallBounds = ReturnType<typeof createCallBounds>;

/**
 * Bounds the memory of the calls that wait for third parties, relayed ones too. A call that finds no place is `overloaded`
 * before anything is sent; a long reply is read when others have ended.
 */
export function createCallBounds() {
  const held = new Map<string, number>();
  let all = 0;
  const longReplies = createFairSemaphore(LONG_REPLIES_MAX);
  longReplies.queueMax = LONG_REPLIES_EACH_MAX;
  const hold = (aid: string, bytes: number): void => {
    all += bytes;
    const own = (held.get(aid) ?? 0) + bytes;
    if (own === 0) {
      held.delete(aid);
    } else {
      held.set(aid, own);
    }
  };

  return {
    /** Takes a place for a call with a body of this length. */
    enter(aid: string, requestBytes: number): EnteredCall {
      // A request is there as it came and as it is sent.
      const bytes = CALL_BYTES + 2 * requestBytes;
      if (all + bytes > BYTES_MAX || (held.get(aid) ?? 0) + bytes > BYTES_EACH_MAX) {
        throw new VaultError('overloaded');
      }
      hold(aid, bytes);
      let turn: Promise<void> | undefined;
      let [hasAsked, hasLeft] = [false, false];
      return {
        room: () => {
          if (!hasAsked && !hasLeft) {
            hasAsked = true;
            turn = enter(longReplies, aid);
          }
          return turn;
        },
        leave: () => {
          if (hasLeft) {
            return;
          }
          hasLeft = true;
          hold(aid, -bytes);
          if (hasAsked) {
            // A turn that nobody waits for any more is passed on when it comes.
            void (turn ?? Promise.resolve()).then(() => void leave(longReplies, aid));
          }
        },
      };
    },
  };
}
