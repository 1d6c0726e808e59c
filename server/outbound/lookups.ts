import { Memory } from '../core/cache.ts';
import type { DnsAnswer, DnsQuery } from './name-servers.ts';

/** Options of concurrent lookups; `max` limits those in flight. */
export interface LookupOptions {
  readonly query: (name: string) => DnsQuery;
  readonly max: number;
  readonly now: () => number;
}

/** The longest time for which an answer is used again, and the most names with one. */
const KEPT_MS_MAX = 5_000;
const KEPT_MAX = 1_000;

/** Most name servers answer sooner: an older lookup may be cancelled for a new one. */
const GRACE_MS = 500;

/** The lookups of a process. */
export interface Lookups {
  /** The addresses of a name; undefined without an answer in time. Rejects if it has none. */
  readonly find: (name: string) => Promise<readonly string[] | undefined>;
  /** Forgets the answer of a name. */
  readonly forget: (name: string) => void;
}

/**
 * Looks up names, at most `max` at a time; callers of the same name share one lookup. Beyond that the oldest lookup is
 * cancelled if it is older than 500 ms, otherwise the new one fails. So names with unresponsive servers cannot block others,
 * and there is no queue. An answer is used again for its time to live, and for 5 s at most.
 */
export function createLookups({ query: startQuery, max, now }: LookupOptions): Lookups {
  const kept = new Memory<readonly string[]>(KEPT_MAX, KEPT_MS_MAX, now);
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

  const ask = async (name: string): Promise<DnsAnswer | undefined> => {
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
      const answer = await query.answer;
      if (answer !== undefined) {
        kept.set(name, answer.addresses, Math.min(answer.ttlMs, KEPT_MS_MAX));
      }
      return answer;
    } finally {
      if (running.get(name) === query) {
        running.delete(name);
      }
    }
  };

  const find: Lookups['find'] = async (name) => kept.get(name) ?? (await ask(name))?.addresses;
  return Object.freeze({ find, forget: (name: string) => kept.delete(name) });
}
