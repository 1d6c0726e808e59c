import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createAccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { commandJson } from '../helpers/command.ts';
import { CARD } from '../helpers/proxy.ts';
import { startTestRedis, type TestRedis } from '../helpers/redis.ts';
import { restoreInto } from '../helpers/restore.ts';
import { openTestVault } from '../helpers/vault.ts';
import { masterKeyOf } from './restores.ts';

/** A furnished vault, backed up by the code of November 2026. A later version must restore it as well. */
const FILE = join(import.meta.dir, 'version-1.backup');
const MASTER_KEY = masterKeyOf();
const ACCOUNT = { name: 'account-1', password: 'password of account-1: ü', aid: 'tVJc4zDw1PlZjNH3Zu61Ww' };
const TOKEN = '7ed71dc23c40b814d54d76dd1cc8b28afb2217965eabf2ca31cd5ad94b592be8';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis({ durable: true });
});
afterAll(() => redis.stop());

test('a backup of an earlier version is restored whole', async () => {
  const ring = { writeId: 'k1', keys: new Map([['k1', MASTER_KEY]]) };
  const ran = await restoreInto(redis.target, FILE, { ring });
  expect([ran.code, ran.err]).toEqual([0, '']);
  expect(JSON.parse(ran.out)).toMatchObject({ accounts: 1, items: 5, records: 39 });
  const vault = await openTestVault({
    redis,
    join: true,
    masterKey: MASTER_KEY,
    alone: true,
    realArgon2: true,
  });
  expect(await commandJson<object>(vault, 'verify')).toMatchObject({
    ok: true,
    faults: [],
    checked: {
      ...{ root: 1, account: 1, compliance: 1, key: 2, rule: 1, csr: 1, 'csr key': 1, certificate: 1 },
      ...{ endpoint: 2, 'endpoint wrap': 2, form: 1, job: 1, item: 5, log: 9, sad: 1, identity: 1 },
    },
  });
  const client = createAccountClient(vault.handle, ACCOUNT);
  const query = { user: 'u', token: TOKEN, reference: 'order/1' };
  const answer = await client.send('GET', '/vault', { query, passphrase: PASSPHRASE });
  expect([answer.outcome, answer.json]).toEqual(['200', CARD]);
  await vault.close();
}, 30_000);
