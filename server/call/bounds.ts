import type { Clock, RandomFraction } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { createFairSemaphore, enter, leave } from '../limits/fair-queue.ts';
import type { AsksForRoom } from '../outbound/call.ts';

/** Jobs that a server works on at once. */
export const JOBS_AT_ONCE = 64;
const WAIT_MS = 1_000;
/** Added by each waiting job to the time over which the waiting jobs are spread. */
const SPREAD_MS = 5;
const WAIT_MS_MAX = 60_000;
/** A job that has not retried by then was run elsewhere. */
const FORGET_MS = 2 * WAIT_MS_MAX;

interface Share {
  running: number;
  /** The time of each job's last attempt, the oldest first. */
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

/**
 * Slots of a server's jobs. An account gets another slot while it has fewer than are free: one alone gets half of them, and
 * a newcomer still finds one after six others. The more jobs of an account wait, the longer each pauses between attempts.
 */
export class JobSlots {
  private readonly shares = new Map<string, Share>();
  private taken = 0;

  constructor(
    private readonly random: RandomFraction,
    private readonly now: Clock,
  ) {}

  running(): number {
    return this.taken;
  }

  /** Acquires a slot for a job, or returns the ms until its next attempt. */
  acquire(aid: string, name: string): number | undefined {
    const share = this.shares.get(aid) ?? { running: 0, waiting: new Map<string, number>() };
    this.shares.set(aid, share);
    share.waiting.delete(name);
    if (share.running < JOBS_AT_ONCE - this.taken) {
      share.running += 1;
      this.taken += 1;
      return undefined;
    }
    forgetOld(share.waiting, this.now());
    share.waiting.set(name, this.now());
    return Math.min(WAIT_MS_MAX, Math.ceil(WAIT_MS + this.random() * SPREAD_MS * share.waiting.size));
  }

  release(aid: string): void {
    const share = this.shares.get(aid);
    if (!share) {
      return;
    }
    share.running -= 1;
    this.taken -= 1;
    if (share.running === 0) {
      this.shares.delete(aid);
    }
  }
}

const MIB = 1_048_576;
/** Bytes of a call without its body: the rest of the request, and a reply that needs no extra room. */
const CALL_BYTES = 131_000;
/** Bytes of all calls of a server, and of one account: 1,024 short calls, and a quarter. */
const BYTES_MAX = 128 * MIB;
const BYTES_EACH_MAX = 32 * MIB;
/** Long replies that are read at once: each takes about 4 MB while it is read, decoded, masked and written. */
const LONG_REPLIES_MAX = 32;
const LONG_REPLIES_EACH_MAX = 8;

export interface EnteredCall {
  /** Requests room for a long reply, once for all replies of the call. */
  readonly room: AsksForRoom;
  readonly leave: () => void;
}

/** Bounds the memory of proxied and relayed calls in flight. A call without room is `overloaded` before anything is sent. */
export class CallBounds {
  private readonly held = new Map<string, number>();
  private readonly longReplies = createFairSemaphore(LONG_REPLIES_MAX);
  private all = 0;

  constructor() {
    this.longReplies.queueMax = LONG_REPLIES_EACH_MAX;
  }

  /** Reserves memory for a call with a body of this length. */
  enter(aid: string, requestBytes: number): EnteredCall {
    // A request is held as it came and as it is sent.
    const bytes = CALL_BYTES + 2 * requestBytes;
    if (this.all + bytes > BYTES_MAX || (this.held.get(aid) ?? 0) + bytes > BYTES_EACH_MAX) {
      throw new VaultError('overloaded');
    }
    this.hold(aid, bytes);
    let granted: Promise<void> | undefined;
    let [hasAsked, hasLeft] = [false, false];
    return {
      room: () => {
        if (!hasAsked && !hasLeft) {
          hasAsked = true;
          granted = enter(this.longReplies, aid);
        }
        return granted;
      },
      leave: () => {
        if (hasLeft) {
          return;
        }
        hasLeft = true;
        this.hold(aid, -bytes);
        if (hasAsked) {
          // A place that is no longer awaited is released when it is granted.
          void (granted ?? Promise.resolve()).then(() => void leave(this.longReplies, aid));
        }
      },
    };
  }

  private hold(aid: string, bytes: number): void {
    this.all += bytes;
    const own = (this.held.get(aid) ?? 0) + bytes;
    if (own === 0) {
      this.held.delete(aid);
    } else {
      this.held.set(aid, own);
    }
  }
}
