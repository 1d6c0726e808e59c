import type { Account, Metering, MeterOperation, Parts } from '../deps.ts';
import { coalesce } from './coalesce.ts';

const REQUESTS = 'api_requests';

/** Counts what accounts use. A count is stored before the request that caused it is answered. */
export interface MeteringService extends Metering {
  /** Notes `n` operations; they are stored by the next `request` or `flush`. */
  readonly count: (account: Pick<Account, 'aid'>, operation: MeterOperation, n?: number) => void;
  /** Takes back an operation and its request, which were counted before they came to nothing. */
  readonly takeBack: (account: Pick<Account, 'aid'>, operation: MeterOperation) => void;
  /** Resolves when everything noted before is stored. */
  readonly flush: () => Promise<void>;
  /** Operation counts of a month (`YYYY-MM`), with `api_requests`. */
  readonly read: (account: Account, month: string) => Promise<ReadonlyMap<string, number>>;
}

/** The month that a moment belongs to, in UTC. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

export function createMetering({
  accountStore,
  now,
  observer,
}: Pick<Parts, 'accountStore' | 'now' | 'observer'>): MeteringService {
  let noted = new Map<string, Map<string, number>>();

  const note = (aid: string, name: string, n: number): void => {
    const counts = noted.get(aid) ?? new Map<string, number>();
    counts.set(name, (counts.get(name) ?? 0) + n);
    noted.set(aid, counts);
  };
  const flush = coalesce(async () => {
    const sending = noted;
    noted = new Map();
    const month = monthOf(now());
    await Promise.all([...sending].map(([aid, counts]) => accountStore.addUsage(aid, month, counts)));
  });

  return {
    count: (account, operation, n = 1) => {
      observer.count('operation', operation, n);
      note(account.aid, operation, n);
    },
    takeBack(account, operation) {
      note(account.aid, operation, -1);
      note(account.aid, REQUESTS, -1);
      // Whoever waits for nothing is not told of a failure either: the next flush of anybody takes it along.
      flush().catch(() => undefined);
    },
    flush,
    request: (account) => {
      note(account.aid, REQUESTS, 1);
      return flush();
    },
    read: (account, month) => accountStore.readUsage(account.aid, month),
  };
}
