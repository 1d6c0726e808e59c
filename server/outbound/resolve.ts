import dns from 'node:dns';
import type { AddressPolicy } from './addresses.ts';
import { normalAddress } from './addresses.ts';

/** Every address that a name stands for; rejects when there is none or nobody answers. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** What became of a name: its addresses, all of them permitted, or the reason why there are none. */
export type Resolved =
  | { readonly addresses: readonly string[] }
  | { readonly code: 'destination_refused' | 'target_unreachable' | 'target_timeout' };

/** The system's own resolver, its hosts file included. */
export const resolveBySystem: Resolve = async (name) =>
  (await dns.promises.lookup(name, { all: true })).map(({ address }) => address);

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
