import { promises as dns, type RecordWithTtl } from 'node:dns';
import { Memory } from '../core/cache.ts';
import { type AddressPolicy, normalAddress } from './addresses.ts';
import type { OutboundFailure } from './call.ts';

export interface Resolve {
  /** All addresses of a name; undefined without an answer in time. Rejects if the name has none. */
  (name: string): Promise<readonly string[] | undefined>;
  readonly forget?: (name: string) => void;
}

/** The result of a lookup: addresses that are all permitted, or an error code. */
export type Resolved =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  | {
      readonly kind: 'failed';
      readonly code: OutboundFailure['code'];
      readonly reason?: OutboundFailure['reason'];
    };

/** Options of the resolver, which tests set. */
export interface SystemResolverOptions {
  readonly hostsPath?: string;
  /** `address:port` of name servers to use instead of the configured ones of the system. */
  readonly servers?: readonly string[] | undefined;
  readonly timeoutMs?: number;
  readonly lookupsMax?: number;
  readonly now?: () => number;
}

/** The interval of checks for changes; container runtimes rewrite the file while a container runs. */
const FRESH_MS = 5_000;

/** Addresses by lower-case name, from lines of an address and its names. Lines without a valid address are skipped. */
function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [written = '', ...aliases] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    const address = normalAddress(written);
    for (const name of address === undefined ? [] : aliases) {
      const known = names.get(name) ?? [];
      names.set(name, known.includes(address ?? '') ? known : [...known, address ?? '']);
    }
  }
  return names;
}

/** The hosts file. It is read again when it changes; an unreadable file has no names. */
class HostsFile {
  private version = '';
  private names: ReadonlyMap<string, readonly string[]> = new Map();
  private refreshed: Promise<void> | undefined;
  private refreshedAt = 0;

  constructor(
    private readonly path: string,
    private readonly now: () => number,
  ) {}

  async find(name: string): Promise<readonly string[] | undefined> {
    if (this.refreshed === undefined || this.now() - this.refreshedAt >= FRESH_MS) {
      this.refreshedAt = this.now();
      this.refreshed = this.refresh();
    }
    await this.refreshed;
    return this.names.get(name);
  }

  private async refresh(): Promise<void> {
    try {
      const file = Bun.file(this.path);
      const { ino, size, mtimeMs, ctimeMs } = await file.stat();
      const found = [ino, size, mtimeMs, ctimeMs].join(' ');
      if (found !== this.version) {
        this.names = parseHosts(await file.text());
        this.version = found;
      }
    } catch {
      this.names = new Map();
      this.version = '';
    }
  }
}

interface DnsAnswer {
  readonly addresses: readonly string[];
  readonly ttlMs: number;
}

interface DnsQuery {
  /** Undefined without an answer in time. Rejects if the name has no addresses. */
  readonly answer: Promise<DnsAnswer | undefined>;
  /** Ends the query with the answers so far. */
  readonly cancel: () => void;
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
 * Queries the addresses of a name, IPv4 first, without search domains, over separate sockets. `getaddrinfo` cannot be
 * cancelled, and would block a thread of the pool that files and compression need.
 */
function queryDns(name: string, timeoutMs: number, servers: readonly string[] | undefined): DnsQuery {
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

const LOOKUP_MS = 5_000;
const LOOKUPS_MAX = 200;
/** The longest time for which an answer is cached, and the maximum number of cached names. */
const KEPT_MS_MAX = 5_000;
const KEPT_MAX = 1_000;
/** Most name servers answer sooner: an older lookup may be cancelled for a new one. */
const GRACE_MS = 500;

/**
 * Concurrent lookups; callers of the same name share one. Beyond `max` the oldest is cancelled if it is older than 500 ms,
 * otherwise the new one fails: unresponsive names cannot block others, and there is no queue. Answers are cached for their
 * time to live, at most 5 s.
 */
class Lookups {
  private readonly kept: Memory<readonly string[]>;
  /** In order of insertion: the oldest first. */
  private readonly running = new Map<string, DnsQuery & { readonly startedAt: number }>();

  constructor(
    private readonly query: (name: string) => DnsQuery,
    private readonly max: number,
    private readonly now: () => number,
  ) {
    this.kept = new Memory(KEPT_MAX, KEPT_MS_MAX, now);
  }

  /** Returns the addresses of a name; undefined without an answer in time. Rejects if it has none. */
  async find(name: string): Promise<readonly string[] | undefined> {
    return this.kept.get(name) ?? (await this.ask(name))?.addresses;
  }

  forget(name: string): void {
    this.kept.delete(name);
  }

  private async ask(name: string): Promise<DnsAnswer | undefined> {
    const known = this.running.get(name);
    if (known !== undefined) {
      return known.answer;
    }
    if (!this.makeRoom()) {
      return undefined;
    }
    const query = { ...this.query(name), startedAt: this.now() };
    this.running.set(name, query);
    try {
      const answer = await query.answer;
      if (answer !== undefined) {
        this.kept.set(name, answer.addresses, Math.min(answer.ttlMs, KEPT_MS_MAX));
      }
      return answer;
    } finally {
      if (this.running.get(name) === query) {
        this.running.delete(name);
      }
    }
  }

  private makeRoom(): boolean {
    if (this.running.size < this.max) {
      return true;
    }
    const [[name, oldest] = []] = this.running;
    if (name === undefined || oldest === undefined || this.now() - oldest.startedAt < GRACE_MS) {
      return false;
    }
    this.running.delete(name);
    oldest.cancel();
    return true;
  }
}

/** Creates a resolver of the hosts file, and of the name servers for all other names. */
export function createSystemResolver({
  hostsPath = '/etc/hosts',
  servers,
  timeoutMs = LOOKUP_MS,
  lookupsMax = LOOKUPS_MAX,
  now = () => performance.now(),
}: SystemResolverOptions = {}): Resolve {
  const hosts = new HostsFile(hostsPath, now);
  const lookups = new Lookups((name) => queryDns(name, timeoutMs, servers), lookupsMax, now);
  const find = async (name: string) => (await hosts.find(name)) ?? lookups.find(name);
  return Object.assign(find, { forget: (name: string) => lookups.forget(name) });
}

/** The only resolver of this process, so that its limits apply to all lookups. */
export const resolveBySystem: Resolve = createSystemResolver();

/**
 * Looks up a name once and checks every address. One address that is not permitted makes the result `destination_refused`: a
 * mixture of public and private addresses is a sign of an attack. Such an answer is not cached. Never rejects.
 */
export async function resolveVetted(
  name: string,
  { resolve, policy, timeoutMs }: { resolve: Resolve; policy: AddressPolicy; timeoutMs: number },
): Promise<Resolved> {
  const { promise: timeout, resolve: endWait } = Promise.withResolvers<undefined>();
  const timer = setTimeout(endWait, timeoutMs);
  try {
    const answers = await Promise.race([resolve(name), timeout]);
    if (answers === undefined) {
      return { kind: 'failed', code: 'target_timeout' };
    }
    const addresses = answers.map(normalAddress).filter((address) => address !== undefined);
    if (addresses.length !== answers.length || !addresses.every(policy.permits)) {
      resolve.forget?.(name);
      return { kind: 'failed', code: 'destination_refused', reason: 'address' };
    }
    return addresses.length === 0
      ? { kind: 'failed', code: 'target_unreachable', reason: 'name' }
      : { kind: 'found', addresses };
  } catch {
    return { kind: 'failed', code: 'target_unreachable', reason: 'name' };
  } finally {
    clearTimeout(timer);
  }
}
