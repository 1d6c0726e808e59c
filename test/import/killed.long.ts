/** An import whose process is killed at any point goes on, and neither loses nor doubles an item. */
import { expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { handleOf, OWNER, portOf, spawnServer, spawnVaultCommand } from '../helpers/server-process.ts';

const ITEMS = 5_000;

test('killed twice while it stores', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vault-killed-'));
  const data = { VAULT_DATA_DIR: join(folder, 'data') };
  const server = spawnServer(data, folder);
  try {
    const port = portOf(server, []);
    const owner = createAccountClient(
      handleOf(() => port),
      OWNER,
    );
    await owner.key('u');
    const path = join(folder, 'cards.ndjson');
    const rows = Array.from(
      { length: ITEMS },
      (_, n) => `{"data":{"number":"9${n}"},"reference":"r-${n}"}\n`,
    );
    writeFileSync(path, rows.join(''));
    writeFileSync(join(folder, 'passphrase'), PASSPHRASE);
    const line = ['import', path, '--account', OWNER.name, '--key', 'u', '--passphrase-file'];
    const start = () => spawnVaultCommand([...line, join(folder, 'passphrase'), '--json'], data, folder);
    const stored = async (): Promise<number> => (await owner.sdk.admin.usage()).tokens;
    for (const enough of [500, 1_500]) {
      const running = start();
      while ((await stored()) < enough && running.exitCode === null) {
        await Bun.sleep(5);
      }
      running.kill('SIGKILL');
      await running.exited;
      expect(existsSync(`${path}.import`)).toBe(true);
      expect(JSON.parse(readFileSync(`${path}.import`, 'utf8')).ended_at).toBeUndefined();
    }
    const last = start();
    expect(JSON.parse(await last.stdout.text())).toEqual({
      items: ITEMS,
      replaced: 0,
      refused: 0,
      skipped: 0,
      complete: false,
    });
    expect(await last.exited).toBe(0);
    const references = new Set<string>();
    let items = 0;
    for await (const { reference = '' } of owner.sdk.vault.decryptAll({ user: 'u' })) {
      references.add(reference);
      items += 1;
    }
    expect([items, references.size]).toEqual([ITEMS, ITEMS]);
  } finally {
    server.kill('SIGTERM');
    await server.exited;
    rmSync(folder, { recursive: true });
  }
}, 60_000);
