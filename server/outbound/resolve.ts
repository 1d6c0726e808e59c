import { type AddressPolicy, normalAddress } from './addresses.ts';
import type { OutboundFailure } from './call.ts';
import { createHostsFile } from './hosts-file.ts';
import { createLookups } from './lookups.ts';
import { askNameServers } from './name-servers.ts';

/** Finds the addresses of names. */
export interface Resolve {
  /** All addresses of a name; undefined without an answer in time. Rejects if the name has none. */
  (name: string): Promise<readonly string[] | undefined>;
  /** Has the next lookup of a name ask anew, where answers are kept. */
  readonly forget?: (name: string) => void;
}

/** The result of a lookup: addresses that are all permitted, or an error code. */
export type Resolved =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  | ({ readonly kind: 'failed' } & Pick<OutboundFailure, 'code' | 'reason'>);

/** Options of the resolver, which tests set. */
export interface SystemResolverOptions {
  readonly hostsPath?: string;
  /** `address:port` of name servers to use instead of the configured ones of the system. */
  readonly servers?: readonly string[];
  readonly timeoutMs?: number;
  /** The most lookups in flight. */
  readonly lookupsMax?: number;
  readonly now?: () => number;
}

const LOOKUP_MS = 5_000;
const LOOKUPS_MAX = 200;

/** Creates a resolver of the hosts file, and of the name servers for all other names. */
export function createSystemResolver({
  hostsPath = '/etc/hosts',
  servers,
  timeoutMs = LOOKUP_MS,
  lookupsMax = LOOKUPS_MAX,
  now = () => performance.now(),
}: SystemResolverOptions = {}): Resolve {
  const hosts = createHostsFile({ path: hostsPath, now });
  const query = (name: string) => askNameServers(name, { timeoutMs, servers });
  const { find, forget } = createLookups({ query, max: lookupsMax, now });
  return Object.assign(async (name: string) => (await hosts.find(name)) ?? find(name), { forget });
}

/** The only resolver of this process, so that its limits apply to all lookups. */
export const resolveBySystem: Resolve = createSystemResolver();

/**
 * Looks up a name once and checks every address. One address that is not permitted makes the result `destination_refused`: a
 * mixture of public and private addresses is a sign of an attack. Such an answer is not kept. Never rejects.
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
