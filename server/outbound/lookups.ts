import type { DnsQuery } from './name-servers.ts';

/** Options of concurrent lookups; `max` limits those in flight. */
export interface LookupOptions {
  readonly query: (name: string) => DnsQuery;
  readonly max: number;
  readonly now: () => number;
}

/** Most name servers answer sooner: an older lookup may be cancelled for a new one. */
const GRACE_MS = 500;

/**
 * Looks up names, at most `max` at a time; callers of the same name share one lookup. Beyond that the oldest lookup is
 * cancelled if it is older than 500 ms, otherwise the new one fails. So names with unresponsive servers cannot block others,
 * and there is no queue.
 */
export function createLookups({
  query: startQuery,
  max,
  now,
}: LookupOptions): (name: string) => DnsQuery['answer'] {
  // A map keeps the order of insertion: the oldest first.
  const running = new Map<string, DnsQuery & { readonly startedAt: number }>();

  const makeRoom = (): boolean => {
    if (running.size < max) {
      return true;
    }
    const [[name, oldest] = []] = running;
    if (name === undefined || oldest === undefined || now() - oldest.startedAt < GRACE_MS) {
      return false;
    }
    running.delete(name);
    oldest.cancel();
    return true;
  };

  return async (name) => {
    const known = running.get(name);
    if (known !== undefined) {
      return known.answer;
    }
    if (!makeRoom()) {
      return undefined;
    }
    const query = { ...startQuery(name), startedAt: now() };
    running.set(name, query);
    try {
      return await query.answer;
    } finally {
      if (running.get(name) === query) {
        running.delete(name);
      }
    }
  };
}
