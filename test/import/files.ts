/** Files that are imported into a vault of their own, and what became of them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

/** An item as a reader sees it. */
export interface Item {
  readonly token: string;
  readonly reference?: string;
  readonly metadata?: unknown;
  readonly data?: unknown;
}

/** What `FILE.errors` says of each refused row. */
export function errorsOf(path: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = readFileSync(`${path}.errors`, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

/** CSV with so many cards. */
export function cards(count: number): string {
  const rows = Array.from({ length: count }, (_, n) => `9${n},r-${n}\n`);
  return `number,reference\n${rows.join('')}`;
}

/** A vault with an account, and a folder for files; `now` is its clock. */
export async function openImports(now: () => number = Date.now) {
  const folder = mkdtempSync(join(tmpdir(), 'vault-import-'));
  const passphraseFile = join(folder, 'passphrase');
  writeFileSync(passphraseFile, PASSPHRASE);
  const vault: TestVault = await openTestVault({ now });
  const account: AccountClient = await vault.account();
  let names = 0;
  /** A name that no other file has. */
  const place = (extension: string): string => join(folder, `${names++}.${extension}`);
  return {
    ...{ vault, account, passphraseFile, place },
    fileOf(text: string | Uint8Array, extension = 'csv'): string {
      const path = place(extension);
      writeFileSync(path, text);
      return path;
    },
    /** A new key, and the command line that imports into it. */
    async into(path: string, ...others: readonly string[]) {
      const user = `k${names++}`;
      await account.key(user);
      const given = ['--account', account.name, '--key', user, '--passphrase-file', passphraseFile];
      return { user, line: ['import', path, ...given, ...others] };
    },
    async itemsOf(user: string): Promise<readonly Item[]> {
      const items: Item[] = [];
      for await (const item of account.sdk.vault.decryptAll({ user })) {
        items.push(item as Item);
      }
      return items;
    },
    async close() {
      await vault.close();
      rmSync(folder, { recursive: true });
    },
  };
}
