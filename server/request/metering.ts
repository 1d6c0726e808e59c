import { type Clock, DAY_MS } from '../core/clock.ts';
import type { MeterOperation } from '../core/operations.ts';
import type { Observer } from '../telemetry/observer.ts';
import { type AccountContext, isOperator } from './context.ts';
import type { Addend, UsageStore } from './usage-store.ts';

const REQUESTS = 'api_requests';
/** The first month with counts: each month has its own key, and no directory lists them. */
const FIRST_MONTH_MS = Date.UTC(2025, 0);
/** The end of the field of operations that are requests, too. */
const REQUEST_MARK = '!';
const FIELD = new RegExp(`^(\\d{4}-\\d{2})-(\\d{2}) ([a-z_]+)(${REQUEST_MARK}?)$`);

/** The last day that `dayOf` returned, and its start; module state, since all requests of a day share it. */
let lastStart = 0;
let lastDay = '1970-01-01';

/**
 * Counts the usage of accounts. The script that stores, reads or deletes an item counts it in the bucket of the item (see
 * `folding.ts`); everything else is counted in the account after its effect and before the reply.
 */
export class Metering {
  constructor(
    private readonly usageStore: UsageStore,
    private readonly observer: Observer,
    private readonly now: Clock,
  ) {}

  /** Names the count of an operation, for the script that performs it. */
  fieldOf(operation: MeterOperation): string {
    return `${dayOf(this.now())} ${operation}`;
  }

  /** Names the count of a request that is one operation: its script counts both. */
  requestFieldOf(operation: MeterOperation): string {
    return this.fieldOf(operation) + REQUEST_MARK;
  }

  /** Called after a script has counted operations under `fieldOf`. */
  counted(operation: MeterOperation, n: number): void {
    this.observer.count('operation', operation, n);
  }

  /** Called after a script has counted a request under `requestFieldOf`. */
  requestCounted({ usage }: AccountContext, operation: MeterOperation): void {
    usage.isCounted = true;
    this.counted(operation, 1);
  }

  /** Sets the operation that `request` counts. */
  count({ usage }: AccountContext, operation: MeterOperation): void {
    usage.operation = operation;
  }

  /** Counts an operation at once, whether or not its request succeeds. */
  countNow({ account }: AccountContext, operation: MeterOperation): Promise<void> {
    return this.add(account.aid, operation, false);
  }

  /** Counts one request with its operation, unless that is done; resolves when it is stored. The operator has no counts. */
  request({ account, usage }: AccountContext): Promise<void> | undefined {
    if (usage.isCounted || isOperator(account)) {
      return undefined;
    }
    usage.isCounted = true;
    return this.add(account.aid, usage.operation, true);
  }

  forget({ aid }: { readonly aid: string }): Promise<void> {
    return this.usageStore.remove(aid, monthsOf(FIRST_MONTH_MS, this.now()));
  }

  private async add(aid: string, operation: MeterOperation | undefined, isRequest: boolean): Promise<void> {
    const day = dayOf(this.now());
    const names = operation === undefined ? [] : [operation];
    await this.usageStore.add(aid, monthOf(day), isRequest ? [...names, requestsOfDay(day)] : names);
    if (operation !== undefined) {
      this.counted(operation, 1);
    }
  }
}

/** Returns what a field of the counts of a bucket adds to those of the account; nothing for any other field. */
export function addendsOf([field, n]: readonly [field: string, n: string]): readonly Addend[] {
  const [, month = '', day = '', operation = '', mark = ''] = FIELD.exec(field) ?? [];
  const names = [operation, mark && requestsOfDay(day)].filter((name) => name !== '');
  return names.map((name) => [month, name, n]);
}

function dayOf(ms: number): string {
  if (!(ms >= lastStart && ms < lastStart + DAY_MS)) {
    lastStart = ms - (ms % DAY_MS);
    lastDay = new Date(ms).toISOString().slice(0, 10);
  }
  return lastDay;
}

/** Returns the month of a moment or a day, in UTC. */
export function monthOf(at: number | string): string {
  return (typeof at === 'string' ? at : dayOf(at)).slice(0, 7);
}

/** Names the count of the requests of a day; the count of a month is their sum. */
function requestsOfDay(day: number | string): string {
  return `${REQUESTS}:${String(day).slice(-2).padStart(2, '0')}`;
}

/** Returns the months from one moment to the month after another: a clock may be ahead, and so may its counts. */
export function monthsOf(fromMs: number, toMs: number): readonly string[] {
  const from = new Date(fromMs);
  const to = new Date(toMs);
  const months = 12 * (to.getUTCFullYear() - from.getUTCFullYear()) + to.getUTCMonth() - from.getUTCMonth();
  return Array.from({ length: Math.max(0, months + 2) }, (_, at) =>
    monthOf(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + at)),
  );
}

/** Returns the requests of a month: their sum, and those of each of its first `days` days. */
export function requestsOf(counts: ReadonlyMap<string, number>, days: number) {
  const ofDays = [...counts].filter(([name]) => name.startsWith(REQUESTS));
  return {
    sum: ofDays.reduce((sum, [, n]) => sum + n, 0),
    ofDays: Array.from({ length: days }, (_, at) => counts.get(requestsOfDay(at + 1)) ?? 0),
  };
}
