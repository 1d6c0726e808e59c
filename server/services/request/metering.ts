import type { MeterOperation } from '../../http/schema/admin.ts';
import type { AccountStore } from '../../store/account.ts';
import type { Observer } from '../../telemetry/observer.ts';
import type { Account } from '../common/caller.ts';
import type { Clock } from '../common/clock.ts';
import { joinTick } from '../common/coalesce.ts';

export interface Metering {
  /** Counts one request, with all that was noted for it, once. `account` is the very object that `signIn` gave it. */
  readonly request: (account: Pick<Account, 'aid'>) => Promise<void>;
  /** Takes back what `request` has stored ahead of a request that came to nothing. */
  readonly takeBack: (account: Pick<Account, 'aid'>) => void;
}

const REQUESTS = 'api_requests';
/** No vault has counted anything before: a month has a key of its own, and no directory names them. */
const FIRST_MONTH_MS = Date.UTC(2025, 0);

/**
 * Whose counts something belongs to: the account, or key, as one request holds it. The object itself stands for the
 * request, so two requests must never share one.
 */
type Owner = Pick<Account, 'aid'>;

/**
 * Counts what accounts use. A count is stored before the request that caused it is answered, and only if it is: what
 * a request noted goes with it when it is refused.
 */
export interface MeteringService extends Metering {
  /** Notes `n` operations of a request; they are stored by its `request` or `settle`. */
  readonly count: (owner: Owner, operation: MeterOperation, n?: number) => void;
  /**
   * Counts a request and its operation while its write is under way; `request` then waits for both. Whoever begins again
   * has begun already, and what comes to nothing is taken back. A server that dies in between, or a count that Redis
   * stores without an answer in time, has counted what may not have been stored; the other order would make each request
   * wait for one write after the other.
   */
  readonly begin: (owner: Owner, operation: MeterOperation) => void;
  /** Does the work of a request, and takes back what it has counted ahead when it fails. */
  readonly wholly: <T>(owner: Owner, work: () => Promise<T>) => Promise<T>;
  /** Stores what a request has noted so far, whatever becomes of it. */
  readonly settle: (owner: Owner) => Promise<void>;
  /** Resolves when everything that was handed over before is stored, or has failed. */
  readonly flush: () => Promise<void>;
  /** Forgets all that a deleted account has used. */
  readonly forget: (owner: Owner) => Promise<void>;
  /** Operation counts of a month (`YYYY-MM`), with `api_requests`. */
  readonly read: (account: Owner, month: string) => Promise<ReadonlyMap<string, number>>;
}

/** What goes to one account and month in one step. */
interface Entry {
  readonly aid: string;
  readonly month: string;
  readonly counts: Map<string, number>;
  readonly stored: PromiseWithResolvers<void>;
}

/** What a request has handed over, with the operation that is not told of before it is done. */
interface Handed {
  readonly month: string;
  readonly counts: ReadonlyMap<string, number>;
  readonly stored: Promise<void>;
  begun: MeterOperation | undefined;
}

/** The month that a moment belongs to, in UTC. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

/** The months from one moment to the month behind another: a clock may be ahead, and so may what it has counted. */
export const monthsOf = (fromMs: number, toMs: number): readonly string[] => {
  const from = new Date(fromMs);
  const to = new Date(toMs);
  const months = 12 * (to.getUTCFullYear() - from.getUTCFullYear()) + to.getUTCMonth() - from.getUTCMonth();
  return Array.from({ length: Math.max(0, months + 2) }, (_, at) =>
    monthOf(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + at)),
  );
};

const newEntry = (aid: string, month: string): Entry => {
  const stored = Promise.withResolvers<void>();
  // Whoever waits for it meets the failure; nobody has to wait.
  stored.promise.catch(() => undefined);
  return { aid, month, counts: new Map(), stored };
};

const addTo = (counts: Map<string, number>, name: string, n: number): void => {
  counts.set(name, (counts.get(name) ?? 0) + n);
};

/** Makes the one meter of a server; what many requests hand over at once is stored in one step an account. */
export function createMetering({
  accountStore,
  now,
  observer,
}: {
  readonly accountStore: Pick<AccountStore, 'addUsage' | 'removeCounts' | 'readUsage'>;
  readonly now: Clock;
  readonly observer: Pick<Observer, 'count'>;
}): MeteringService {
  const noted = new WeakMap<Owner, Map<string, number>>();
  const handed = new WeakMap<Owner, Handed>();
  let batch = new Map<string, Entry>();
  // What was counted and must be taken back, while Redis is away: an account is never left with too much.
  let owed: Entry[] = [];

  const sendNow = async (): Promise<void> => {
    const sending = [...batch.values(), ...owed];
    const returns = new Set(owed);
    batch = new Map();
    owed = [];
    await Promise.all(
      sending.map(async (entry) => {
        try {
          await accountStore.addUsage(entry.aid, entry.month, entry.counts);
          entry.stored.resolve();
        } catch (error) {
          if (returns.has(entry)) {
            owed.push(entry);
          }
          entry.stored.reject(error);
        }
      }),
    );
  };
  const sends = new Set<Promise<void>>();
  const send = joinTick(() => {
    const sent = sendNow().finally(() => sends.delete(sent));
    sends.add(sent);
    return sent;
  });

  const hand = (aid: string, month: string, counts: ReadonlyMap<string, number>): Promise<void> => {
    const name = `${month} ${aid}`;
    const entry = batch.get(name) ?? newEntry(aid, month);
    batch.set(name, entry);
    for (const [operation, n] of counts) {
      addTo(entry.counts, operation, n);
    }
    void send();
    return entry.stored.promise;
  };

  const take = (owner: Owner): Map<string, number> => {
    const counts = noted.get(owner) ?? new Map<string, number>();
    noted.delete(owner);
    return counts;
  };

  const settle: MeteringService['settle'] = async (owner) => {
    const counts = take(owner);
    if (counts.size > 0) {
      await hand(owner.aid, monthOf(now()), counts);
    }
  };

  const note = (owner: Owner, operation: MeterOperation, n: number): void => {
    const counts = noted.get(owner) ?? new Map<string, number>();
    addTo(counts, operation, n);
    noted.set(owner, counts);
  };

  const count: MeteringService['count'] = (owner, operation, n = 1) => {
    observer.count('operation', operation, n);
    note(owner, operation, n);
  };

  const handOver = (owner: Owner, begun?: MeterOperation): Promise<void> => {
    const month = monthOf(now());
    const counts = take(owner);
    addTo(counts, REQUESTS, 1);
    const stored = hand(owner.aid, month, counts);
    handed.set(owner, { month, counts, stored, begun });
    return stored;
  };

  const request: MeteringService['request'] = async (owner) => {
    const ahead = handed.get(owner);
    if (!ahead) {
      await handOver(owner);
      return;
    }
    await Promise.all([ahead.stored, settle(owner)]);
    if (ahead.begun) {
      observer.count('operation', ahead.begun, 1);
      ahead.begun = undefined;
    }
  };

  const takeBack: MeteringService['takeBack'] = (owner) => {
    const mine = handed.get(owner);
    handed.delete(owner);
    const giveBack = ({ month, counts }: Handed): void => {
      const entry = newEntry(owner.aid, month);
      for (const [operation, n] of counts) {
        addTo(entry.counts, operation, -n);
      }
      owed.push(entry);
      void send();
    };
    // What was never stored needs no taking back.
    void mine?.stored.then(
      () => giveBack(mine),
      () => undefined,
    );
  };

  return {
    settle,
    count,
    request,
    begin(owner, operation) {
      if (!handed.has(owner)) {
        note(owner, operation, 1);
        void handOver(owner, operation);
      }
    },
    takeBack,
    async wholly(owner, work) {
      try {
        return await work();
      } catch (error) {
        takeBack(owner);
        throw error;
      }
    },
    async flush() {
      // What is stored only now may be taken back then, by a request that has failed meanwhile.
      await Promise.all([send(), ...sends]);
      await Promise.all([send(), ...sends]);
    },
    forget: ({ aid }) => accountStore.removeCounts(aid, monthsOf(FIRST_MONTH_MS, now())),
    read: ({ aid }, month) => accountStore.readUsage(aid, month),
  };
}
