import { promises as dns, type RecordWithTtl } from 'node:dns';

/** The addresses of a name, and for how long they may be used. */
export interface DnsAnswer {
  readonly addresses: readonly string[];
  readonly ttlMs: number;
}

/** One query to the name servers. */
export interface DnsQuery {
  /** The answer; undefined without one in time. Rejects if the name has no addresses. */
  readonly answer: Promise<DnsAnswer | undefined>;
  /** Ends the query with the answers so far. */
  readonly cancel: () => void;
}

/** Options of a query. */
export interface QueryOptions {
  readonly timeoutMs: number;
  /** `address:port` of name servers to use instead of the configured ones of the system. */
  readonly servers?: readonly string[] | undefined;
}

/** The timeout of one try, and the number of tries per server. */
const TRY_MS = 2_000;
const TRIES = 2;
/** The longest wait for the other address family; some name servers never answer for it. */
const OTHER_FAMILY_MS = 500;

const NO_ANSWER_CODES: ReadonlySet<unknown> = new Set(['ETIMEOUT', 'ECANCELLED']);

function isNoAnswer(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NO_ANSWER_CODES.has(error.code);
}

/**
 * Queries the addresses of a name, IPv4 first, without search domains, over sockets of its own. `getaddrinfo` is not used: it
 * cannot be cancelled, and would block a thread of the pool that files and compression need.
 */
export function askNameServers(name: string, { timeoutMs, servers }: QueryOptions): DnsQuery {
  const resolver = new dns.Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers !== undefined) {
    resolver.setServers(servers);
  }
  const cancel = (): void => resolver.cancel();
  const timers = [setTimeout(cancel, timeoutMs)];
  const limitOther = (found: readonly RecordWithTtl[]): readonly RecordWithTtl[] => {
    timers.push(setTimeout(cancel, OTHER_FAMILY_MS));
    return found;
  };
  const gather = async (): Promise<DnsAnswer | undefined> => {
    const options = { ttl: true } as const;
    const families = [resolver.resolve4(name, options), resolver.resolve6(name, options)];
    const answers = await Promise.allSettled(families.map((family) => family.then(limitOther)));
    timers.forEach(clearTimeout);
    const found = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    const errors = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    if (found.length > 0 || errors.length === 0) {
      const ttlMs = 1_000 * Math.min(...found.map(({ ttl }) => ttl));
      return { addresses: found.map(({ address }) => address), ttlMs };
    }
    if (errors.some(isNoAnswer)) {
      return undefined;
    }
    throw errors[0];
  };
  return { answer: gather(), cancel };
}
