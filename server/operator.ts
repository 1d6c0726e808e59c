import type { Operator } from './cli-commands.ts';
import { parseBinCsv, segmentBins } from './domain/bin-table.ts';
import { createHealth } from './services/health.ts';
import type { OpenVault } from './vault-parts.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What the command line does, on an open vault. */
export function createOperator(vault: OpenVault): Operator {
  const { accounts, parts } = vault;
  return {
    async createAccount(name, settings) {
      const password = await accounts.makePassword();
      const account = await accounts.create(name, password.map(encode), settings);
      return account && { account, password };
    },
    listAccounts: accounts.list,
    setAccount: accounts.set,
    async renewPassword(name) {
      const password = await accounts.makePassword();
      return (await accounts.setPassword(name, password.map(encode))) ? password : undefined;
    },
    deleteAccount: vault.removeAccount,
    async loadBins(csvText) {
      const parsed = parseBinCsv(csvText);
      if ('error' in parsed) {
        return parsed;
      }
      const segments = segmentBins(parsed.rows);
      const texts = segments.map(({ low, high, issuers }) => ({
        low,
        high,
        issuers: JSON.stringify(issuers),
      }));
      await parts.binStore.load(parts.randomId(), texts);
      return { rows: parsed.rows.length, segments: segments.length };
    },
    health: () => createHealth({ redis: vault.probe }, parts.now).ready(),
  };
}
