import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PASSPHRASE } from '../helpers/clients.ts';
import { type MortalVault, newMortalVault } from './server.ts';

const CERTIFICATE = join(import.meta.dir, '../vectors/tls-cert.pem');
const SENDERS = 8;
const KILLS = 2;

let vault: MortalVault;

beforeAll(async () => {
  vault = newMortalVault(readFileSync(CERTIFICATE, 'utf8'));
  await vault.start();
}, 60_000);
afterAll(() => vault.remove());

test('every request that was answered is counted, and none twice, when the server is killed in the middle', async () => {
  const { client } = vault;
  await client.key('u');
  let asked = 0;
  let answered = 0;
  let isOver = false;
  const before = (await client.sdk.admin.usage()).api_requests;
  const send = async (): Promise<void> => {
    while (!isOver) {
      asked += 1;
      const n = asked;
      try {
        const sending = { passphrase: PASSPHRASE, body: { number: String(n) } };
        const { status } = await client.send('POST', '/vault?user=u', sending);
        answered += status === 200 ? 1 : 0;
      } catch {
        // The server was killed under it.
      }
    }
  };
  const senders = Array.from({ length: SENDERS }, send);
  for (let kills = 0; kills < KILLS; kills++) {
    const enough = answered + 50;
    while (answered < enough) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await vault.kill();
    await vault.start();
  }
  isOver = true;
  await Promise.all(senders);
  const { items } = await client.sdk.admin.billing();
  const stored = items.find(({ operation }) => operation === 'store')?.count ?? 0;
  const { api_requests, tokens } = await client.sdk.admin.usage();
  // In flight at a kill: stored, and the answer never came.
  expect(stored).toBeGreaterThanOrEqual(answered);
  expect(stored).toBeLessThanOrEqual(answered + SENDERS * KILLS);
  expect(stored).toBe(tokens);
  // The reading of usage before and the bill are requests as well.
  expect(api_requests - before).toBe(stored + 2);
}, 120_000);
