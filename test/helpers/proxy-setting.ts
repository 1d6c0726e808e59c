/** A vault, a third party and an item for all tests of a file about the proxy. */
import { afterAll } from 'bun:test';
import { type Item, newItem, type OrderChanges, openProxyVault, requestTo } from './proxy.ts';
import { type Act, type PartyOptions, startThirdParty, type ThirdParty } from './third-party.ts';
import type { VaultSettings } from './vault.ts';

/** Opens them; they are closed after the tests of the file. */
export async function openProxySetting(settings: VaultSettings = {}) {
  const parties: ThirdParty[] = [];
  const newParty = async (options?: PartyOptions): Promise<ThirdParty> => {
    const party = await startThirdParty(options);
    parties.push(party);
    return party;
  };
  const party = await newParty();
  const vault = await openProxyVault(settings);
  afterAll(async () => {
    await vault.close();
    parties.forEach(({ stop }) => void stop());
  });
  const item: Item = await newItem(vault);
  let paths = 0;
  return {
    vault,
    party,
    item,
    /** Another third party, of a test's own. */
    newParty,
    /** A path that no other test uses, with its script; it answers 200 when left out. */
    freshPath: (...acts: Act[]): string => {
      paths += 1;
      party.script(`/p${paths}`, ...(acts.length === 0 ? [200] : acts));
      return `/p${paths}`;
    },
    /** A synchronous order to send {@link requestTo} a path. */
    orderTo: (path: string, changes: OrderChanges = {}) => ({
      request: requestTo(party.url(path), changes),
      synchronous: true,
    }),
  };
}
