/** A reseal goes on where it stopped, after its server was killed in the middle. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { type MortalVault, newMortalVault } from '../durability/server.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { thirdPartyTrust } from '../helpers/third-party.ts';
import { finished, type Progress, untilProgress } from './reseals.ts';

setDefaultTimeout(120_000);

const NEXT = 'another-long-passphrase-Zq4-kT9';
const ITEMS = 3_000;
const CARD = { card_number: '4111111111111111', expiry: '12/29' };

let vault: MortalVault;
beforeAll(async () => {
  vault = newMortalVault((await thirdPartyTrust()).authority.pem);
  await vault.start();
});
afterAll(() => vault.remove());

test('a kill of the server loses at most the pages that were not written, and a repeat does the rest', async () => {
  const { client } = vault;
  await client.key('u');
  const items = Array.from({ length: ITEMS }, (_, n) => ({ data: CARD, reference: `r${n}` }));
  await Array.fromAsync(client.sdk.vault.storeMany({ key: 'u', passphrase: PASSPHRASE, items }));
  const body = { key: 'u', passphrase: PASSPHRASE, new_passphrase: NEXT, summary: true };
  expect((await client.send('PUT', '/key', { body })).outcome).toBe('200');
  const start = async (): Promise<Progress> => {
    const answer = await client.send('POST', '/key/reseal', { body: { key: 'u', passphrase: NEXT } });
    expect(answer.outcome).toBe('200');
    return answer.as<Progress>();
  };
  expect(await start()).toMatchObject({ total: ITEMS });
  const { done } = await untilProgress(client, 'u', (now) => now.done > 0);
  await vault.kill(true);
  expect(done).toBeLessThan(ITEMS);
  await vault.start();
  const again = await start();
  expect(again.total).toBe(ITEMS);
  expect(again.done).toBeGreaterThanOrEqual(done);
  expect(await finished(client, 'u')).toMatchObject({ total: ITEMS, done: ITEMS });
  const found = await Array.fromAsync(
    client.sdk.vault.decryptAll({ key: 'u', passphrase: NEXT, last_four: '1111' }),
  );
  expect(found).toHaveLength(ITEMS);
  expect((await start()).total).toBe(0);
});
