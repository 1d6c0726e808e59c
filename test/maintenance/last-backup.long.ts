/** What the metrics tell of the newest backup. */
import { beforeAll, expect, test } from 'bun:test';
import { runCommand } from '../helpers/command.ts';
import { scrape } from '../helpers/metrics.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { masterKeyOf, useRestores } from './restores.ts';

const masterKey = masterKeyOf();
const place = useRestores();
let vault: TestVault;
beforeAll(async () => {
  vault = await place.open({ masterKey });
});

/** What a server shows that has just started: one that runs asks Redis only every few seconds. */
async function shown(of = place.source): Promise<number | undefined> {
  const server = await openTestVault({ redis: of, join: true, masterKey });
  const { series } = await scrape(server.handle);
  await server.close();
  return series.find(({ name }) => name === 'vault_last_backup_timestamp_seconds')?.value;
}

test('none yet, then when the newest whole one began; a restored vault has had none', async () => {
  expect(await shown()).toBe(0);
  const { file: whole, made_at } = await place.backup();
  const at = Date.parse(made_at) / 1_000;
  expect(await shown()).toBe(at);
  const again = await runCommand(['backup', whole], { vault });
  expect([again.code, await shown()]).toEqual([1, at]);

  await (await vault.account()).key('u');
  const [key = ''] = await vault.raw.keys('{a:*}k:*');
  await vault.raw.set(key, 'not a record');
  const damaged = await runCommand(['backup', place.newFile(), '--json'], { vault });
  expect([damaged.code, JSON.parse(damaged.out).damaged, await shown()]).toEqual([1, 1, at]);

  expect((await place.restore(whole)).code).toBe(0);
  expect(await shown(place.empty)).toBe(0);
}, 30_000);
