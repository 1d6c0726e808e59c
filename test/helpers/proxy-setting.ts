/** A vault, a third party and an item for all tests of a file about the proxy. */
import { afterAll, expect } from 'bun:test';
import type { Query } from './clients.ts';
import { type Item, newItem, type OrderChanges, openProxyVault, proxyPost, requestTo } from './proxy.ts';
import {
  type Act,
  type PartyOptions,
  type Received,
  startThirdParty,
  type ThirdParty,
} from './third-party.ts';
import type { VaultSettings } from './vault.ts';

/** Opens them; they are closed after the tests of the file. The settings may need to know the third party. */
export async function openProxySetting(
  settings: VaultSettings | ((party: ThirdParty) => VaultSettings) = {},
) {
  const parties: ThirdParty[] = [];
  const newParty = async (options?: PartyOptions): Promise<ThirdParty> => {
    const party = await startThirdParty(options);
    parties.push(party);
    return party;
  };
  const party = await newParty();
  const vault = await openProxyVault(typeof settings === 'function' ? settings(party) : settings);
  afterAll(async () => {
    await vault.close();
    parties.forEach(({ stop }) => void stop());
  });
  const item: Item = await newItem(vault);
  let paths = 0;
  const freshPath = (...acts: Act[]): string => {
    paths += 1;
    party.script(`/p${paths}`, ...(acts.length === 0 ? [200] : acts));
    return `/p${paths}`;
  };
  const orderTo = (path: string, changes: OrderChanges = {}) => ({
    request: requestTo(party.url(path), changes),
    synchronous: true,
  });
  return {
    vault,
    party,
    item,
    /** Another third party, of a test's own. */
    newParty,
    /** A path that no other test uses, with its script; it answers 200 when left out. */
    freshPath,
    /** A synchronous order to send {@link requestTo} a path. */
    orderTo,
    /** Sends a synchronous request and returns it as the third party received it. `rest` follows its path. */
    sent: async (
      { rest = '', ...changes }: OrderChanges & { readonly rest?: string },
      of = item,
      query: Query = {},
    ): Promise<Received> => {
      const path = freshPath();
      expect((await proxyPost(of, orderTo(path + rest, changes), query)).outcome).toBe('200');
      expect(party.calls(path)).toHaveLength(1);
      return party.call(path);
    },
  };
}
