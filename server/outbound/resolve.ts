import { type AddressPolicy, normalAddress } from './addresses.ts';
import { createHostsFile } from './hosts-file.ts';
import { createLookups } from './lookups.ts';
import { askNameServers } from './name-servers.ts';

/** Every address that a name stands for, or undefined when nobody says in time; rejects when there is none. */
export type Resolve = (name: string) => Promise<readonly string[] | undefined>;

/** What became of a name: its addresses, all of them permitted, or the reason why there are none. */
export type Resolved =
  | { readonly addresses: readonly string[] }
  | { readonly code: 'destination_refused' | 'target_unreachable' | 'target_timeout' };

/** Where names are looked up, and its bounds, which are there to be narrowed in tests. */
export interface SystemResolverOptions {
  readonly hostsPath?: string;
  /** `address:port` instead of the name servers that the system is configured with. */
  readonly servers?: readonly string[];
  readonly timeoutMs?: number;
  /** Lookups at the same time. */
  readonly lookupsMax?: number;
  readonly now?: () => number;
}

const LOOKUP_MS = 5_000;
const LOOKUPS_MAX = 200;

/** The hosts file, and for names that it does not have the name servers of the system. */
export const createSystemResolver = ({
  hostsPath = '/etc/hosts',
  servers,
  timeoutMs = LOOKUP_MS,
  lookupsMax = LOOKUPS_MAX,
  now = () => performance.now(),
}: SystemResolverOptions = {}): Resolve => {
  const hosts = createHostsFile({ path: hostsPath, now });
  const ask = (name: string) => askNameServers(name, { timeoutMs, servers });
  const lookUp = createLookups({ ask, max: lookupsMax, now });
  return async (name) => (await hosts.find(name)) ?? lookUp(name);
};

/** The one resolver of this process, so that its bounds hold for all of it. */
export const resolveBySystem: Resolve = createSystemResolver();

/**
 * Asks for a name once and vets every answer. One address that is not permitted refuses the name, whatever
 * stands beside it: who mixes public and private answers is trying something. Never rejects.
 */
export const resolveVetted = async (
  name: string,
  { resolve, policy, timeoutMs }: { resolve: Resolve; policy: AddressPolicy; timeoutMs: number },
): Promise<Resolved> => {
  const { promise: timeout, resolve: giveUp } = Promise.withResolvers<undefined>();
  const timer = setTimeout(giveUp, timeoutMs);
  try {
    const answers = await Promise.race([resolve(name), timeout]);
    if (answers === undefined) {
      return { code: 'target_timeout' };
    }
    const addresses = answers.map(normalAddress).filter((address) => address !== undefined);
    if (addresses.length !== answers.length || !addresses.every(policy.permits)) {
      return { code: 'destination_refused' };
    }
    return addresses.length === 0 ? { code: 'target_unreachable' } : { addresses };
  } catch {
    return { code: 'target_unreachable' };
  } finally {
    clearTimeout(timer);
  }
};
