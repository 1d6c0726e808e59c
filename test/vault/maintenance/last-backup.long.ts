/** What the metrics tell of the newest backup. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandJson, runCommand } from '../../helpers/command.ts';
import { scrape } from '../../helpers/metrics.ts';
import { startTestRedis, type TestRedis } from '../../helpers/redis.ts';
import { restoreInto } from '../../helpers/restore.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const MASTER_KEY = Uint8Array.from({ length: 32 }, (_, at) => (at * 37 + 11) % 256);

let folder = '';
let redis: TestRedis;
let empty: TestRedis;
let vault: TestVault;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-last-backup-'));
  [redis, empty] = await Promise.all([startTestRedis({ durable: true }), startTestRedis({ durable: true })]);
  vault = await openTestVault({ redis, masterKey: MASTER_KEY });
});
afterAll(async () => {
  await vault.close();
  await Promise.all([redis.stop(), empty.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** What a server shows that has just started: one that runs asks Redis only every few seconds. */
async function shown(of = redis): Promise<number | undefined> {
  const server = await openTestVault({ redis: of, join: true, masterKey: MASTER_KEY });
  const { series } = await scrape(server.handle);
  await server.close();
  return series.find(({ name }) => name === 'vault_last_backup_timestamp_seconds')?.value;
}

test('none yet, then when the newest whole one began; a restored vault has had none', async () => {
  expect(await shown()).toBe(0);
  const whole = join(folder, 'whole.backup');
  const { made_at } = await commandJson<{ made_at: string }>(vault, 'backup', whole);
  const at = Date.parse(made_at) / 1_000;
  expect(await shown()).toBe(at);
  const again = await runCommand(['backup', whole], { vault });
  expect([again.code, await shown()]).toEqual([1, at]);

  await (await vault.account()).key('u');
  const [key = ''] = await vault.raw.keys('{a:*}k:*');
  await vault.raw.set(key, 'not a record');
  const damaged = await runCommand(['backup', join(folder, 'damaged.backup'), '--json'], { vault });
  expect([damaged.code, JSON.parse(damaged.out).damaged, await shown()]).toEqual([1, 1, at]);

  expect((await restoreInto(empty.target, whole, vault)).code).toBe(0);
  expect(await shown(empty)).toBe(0);
}, 30_000);
