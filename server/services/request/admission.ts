import { VaultError } from '../../core/errors.ts';

import { createFairTurns } from '../common/turns.ts';

/**
 * What competes for the service, first things first: what is stored, what is read of single items (and everything else
 * that is short), listings without data, listings with it.
 */
export type WorkClass = 'write' | 'read' | 'list' | 'open';

/** Bounds the work in hand of this process, before it is begun. */
export interface Admission {
  /**
   * Takes a place for a piece of work of an account, or of a source where no account is known; refuses at once, with
   * `overloaded`, when there is none. What it gives must be called when the work is over; once more does nothing.
   */
  readonly begin: (work: WorkClass, account: string) => () => void;
  /** The same for reading a whole key, after a wait of a few seconds at the most where all places are taken. */
  readonly open: (account: string) => Promise<() => void>;
  /**
   * The same for short work, which then waits for its turn: accounts take turns, and classes of the same account.
   * What it gives must be called exactly once.
   */
  readonly enter: (work: 'write' | 'read', account: string) => (() => void) | Promise<() => void>;
  /** Runs what plans a listing and begins it, few at once, accounts in turn. */
  readonly plan: <T>(account: string, work: () => Promise<T>) => Promise<T>;
  readonly stats: () => AdmissionStats;
}

/** The work in hand, and what was refused so far. */
export interface AdmissionStats {
  /** Short works that have had their turn. */
  readonly running: number;
  readonly inFlight: Readonly<Record<WorkClass, number>>;
  readonly refused: Readonly<Record<WorkClass, number>>;
}

/** Requests in hand that nobody minds for a moment: of one account, as many as the threads' queue takes. */
const BURST = 2_400;
/** Requests in hand for longer: what the service does in a fraction of a second. */
const STEADY = 512;
/** How long there may be more than that. */
const BURST_MS = 1_000;
/** An account may have so many times what is free: alone seven eighths, and two alike the same. */
const SHARE = 7;
/** Who has no more than so many is let in also while what is left of somebody's burst is worked off. */
const FEW = 16;
/** Reads have fewer places than writes. */
const READS_PART = 0.75;

/**
 * Short works that run at once: enough to keep Redis and the threads busy. What is beyond them waits here, where accounts
 * take turns, and not in the line of Redis, where they do not.
 */
const RUNNING_MAX = 96;
/** Listings that are planned at once, and begun: each reads thousands of positions. */
const PLANNED_MAX = 2;

const LISTS_MAX = 512;
const LISTS_PER_ACCOUNT_MAX = 256;
const OPENS_MAX = 16;
const OPENS_PER_ACCOUNT_MAX = 4;
/** Who finds no place to read a whole key waits a while for one, in a line that is never long. */
const OPENS_WAITING_MAX = 32;
const OPENS_WAITING_PER_ACCOUNT_MAX = 12;
const OPEN_WAIT_MS = 5_000;

/** How many pieces of work there are, in all and for each account. */
interface Shares {
  readonly all: () => number;
  readonly of: (account: string) => number;
  readonly enter: (account: string) => void;
  readonly leave: (account: string) => void;
}

/** A bounded number of them. */
interface Places extends Shares {
  readonly has: (account: string) => boolean;
}

/** A request that waits for a place. */
interface Waiting {
  readonly account: string;
  readonly start: () => void;
}

function createShares(): Shares {
  const own = new Map<string, number>();
  let all = 0;
  return {
    all: () => all,
    of: (account) => own.get(account) ?? 0,
    enter(account) {
      all += 1;
      own.set(account, (own.get(account) ?? 0) + 1);
    },
    leave(account) {
      all -= 1;
      const left = (own.get(account) ?? 1) - 1;
      if (left === 0) {
        own.delete(account);
      } else {
        own.set(account, left);
      }
    },
  };
}

/** Places for short work, `part` of what writes have. A burst is let in; a line that does not get shorter is not. */
function createShortPlaces(part: number, clock: () => number): Places {
  const shares = createShares();
  let longSince: number | undefined;
  const places = (): number => {
    if (shares.all() >= STEADY * part) {
      longSince ??= clock();
    }
    return part * (longSince !== undefined && clock() - longSince > BURST_MS ? STEADY : BURST);
  };
  return {
    ...shares,
    has(account) {
      const free = places() - shares.all();
      const isFew = shares.of(account) < FEW && shares.all() < BURST * part;
      return isFew || shares.of(account) < SHARE * free;
    },
    leave(account) {
      shares.leave(account);
      // Half of it, so that a line which is kept at its length by refusals does not count as a new burst.
      if (shares.all() < (STEADY * part) / 2) {
        longSince = undefined;
      }
    },
  };
}

function createLongPlaces(max: number, perAccountMax: number): Places {
  const shares = createShares();
  return {
    ...shares,
    has: (account) => shares.all() < max && shares.of(account) < perAccountMax,
  };
}

/**
 * Bounds the work in hand before it is begun. Each class has places of its own, so that none fills those of another, and
 * in each whoever has most is refused before whoever has little.
 */
export function createAdmission(clock: () => number, openWaitMs: number = OPEN_WAIT_MS): Admission {
  const places: Readonly<Record<WorkClass, Places>> = {
    write: createShortPlaces(1, clock),
    read: createShortPlaces(READS_PART, clock),
    list: createLongPlaces(LISTS_MAX, LISTS_PER_ACCOUNT_MAX),
    open: createLongPlaces(OPENS_MAX, OPENS_PER_ACCOUNT_MAX),
  };
  const refused: Record<WorkClass, number> = { write: 0, read: 0, list: 0, open: 0 };

  const short = createFairTurns(RUNNING_MAX);
  const plans = createFairTurns(PLANNED_MAX);

  const waiting: Waiting[] = [];
  const startWaiting = (): void => {
    const next = waiting.findIndex(({ account }) => places.open.has(account));
    waiting.splice(next, next < 0 ? 0 : 1)[0]?.start();
  };

  const refuse = (work: WorkClass): VaultError => {
    refused[work] += 1;
    return new VaultError('overloaded');
  };

  const begin: Admission['begin'] = (work, account) => {
    const { has, enter, leave } = places[work];
    if (!has(account)) {
      throw refuse(work);
    }
    enter(account);
    let isOver = false;
    return () => {
      if (!isOver) {
        isOver = true;
        leave(account);
        if (work === 'open') {
          startWaiting();
        }
      }
    };
  };

  const wait = (account: string): Promise<() => void> => {
    const own = waiting.filter((other) => other.account === account).length;
    if (waiting.length >= OPENS_WAITING_MAX || own >= OPENS_WAITING_PER_ACCOUNT_MAX) {
      throw refuse('open');
    }
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(entry), 1);
        reject(refuse('open'));
      };
      const timer = setTimeout(giveUp, openWaitMs);
      const start = (): void => {
        clearTimeout(timer);
        resolve(begin('open', account));
      };
      const entry: Waiting = { account, start };
      waiting.push(entry);
    });
  };

  return {
    begin,
    open: async (account) => (places.open.has(account) ? begin('open', account) : wait(account)),
    enter(work, account) {
      const leave = begin(work, account);
      const both = (end: () => void) => (): void => {
        end();
        leave();
      };
      const turn = short.enter(`${work} ${account}`);
      return turn instanceof Promise ? turn.then(both) : both(turn);
    },
    async plan(account, work) {
      const end = await plans.enter(account);
      try {
        return await work();
      } finally {
        end();
      }
    },
    stats: () => ({
      running: short.running(),
      inFlight: {
        write: places.write.all(),
        read: places.read.all(),
        list: places.list.all(),
        open: places.open.all(),
      },
      refused: { ...refused },
    }),
  };
}
