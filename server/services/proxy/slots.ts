import { VaultError } from '../../core/errors.ts';
import type { AsksForRoom } from '../../outbound/call.ts';
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

/** What calls hold: places, bytes, and room for a long reply, which one has at most. */
interface Held {
  readonly calls: number;
  readonly bytes: number;
  readonly longReplies: number;
}

const MIB = 1_048_576;
/** What each call is counted with beside its body: the rest of a request, and a reply that is read without asking for room. */
const CALL_BYTES = 65_536;
/**
 * What all calls of a server may hold, and those of one account. A long reply takes about 4 MB while it is read, decoded,
 * masked and written, so that all is 256 MB, and an account a quarter of it.
 */
const ALL: Held = { calls: 1_024, bytes: 128 * MIB, longReplies: 32 };
const OF_ONE: Held = { calls: 256, bytes: 32 * MIB, longReplies: 8 };
const NOTHING: Held = { calls: 0, bytes: 0, longReplies: 0 };
const LONG_REPLY: Held = { ...NOTHING, longReplies: 1 };

function sum(a: Held, b: Held, sign: 1 | -1 = 1): Held {
  return {
    calls: a.calls + sign * b.calls,
    bytes: a.bytes + sign * b.bytes,
    longReplies: a.longReplies + sign * b.longReplies,
  };
}

function isWithin(held: Held, max: Held): boolean {
  return held.calls <= max.calls && held.bytes <= max.bytes && held.longReplies <= max.longReplies;
}

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
 * Bounds the calls that wait for third parties, relayed ones too, and the memory of their requests and replies. A call that
 * finds no place is `overloaded` before anything is sent; a long reply is read when others have ended.
 */
export function createCallBounds() {
  const shares = new Map<string, Held>();
  let all = NOTHING;
  const waiting: { readonly aid: string; readonly grant: () => void }[] = [];

  const take = (aid: string, wanted: Held): boolean => {
    const [own, next] = [sum(shares.get(aid) ?? NOTHING, wanted), sum(all, wanted)];
    if (!isWithin(own, OF_ONE) || !isWithin(next, ALL)) {
      return false;
    }
    shares.set(aid, own);
    all = next;
    return true;
  };
  const give = (aid: string, held: Held): void => {
    const own = sum(shares.get(aid) ?? held, held, -1);
    all = sum(all, held, -1);
    if (own.calls === 0) {
      shares.delete(aid);
    } else {
      shares.set(aid, own);
    }
    for (const one of [...waiting]) {
      if (take(one.aid, LONG_REPLY)) {
        waiting.splice(waiting.indexOf(one), 1);
        one.grant();
      }
    }
  };

  return {
    /** Takes a place for a call with a body of this length. */
    enter(aid: string, requestBytes: number): EnteredCall {
      // A request is there as it came and as it is sent.
      let held: Held = { ...NOTHING, calls: 1, bytes: CALL_BYTES + 2 * requestBytes };
      if (!take(aid, held)) {
        throw new VaultError('overloaded');
      }
      let hasLeft = false;
      let turn: Promise<void> | undefined;
      let hasAsked = false;
      const { promise, resolve } = Promise.withResolvers<void>();
      const grant = (): void => {
        held = sum(held, LONG_REPLY);
        turn = undefined;
        resolve();
      };
      const waiter = { aid, grant };
      return {
        room: () => {
          if (!hasAsked && !hasLeft) {
            hasAsked = true;
            if (take(aid, LONG_REPLY)) {
              grant();
            } else {
              turn = promise;
              waiting.push(waiter);
            }
          }
          return turn;
        },
        leave: () => {
          if (!hasLeft) {
            hasLeft = true;
            const at = waiting.indexOf(waiter);
            if (at >= 0) {
              waiting.splice(at, 1);
            }
            give(aid, held);
          }
        },
      };
    },
  };
}
