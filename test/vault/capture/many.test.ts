import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { AccountClient } from '../../helpers/clients.ts';
import { capture, createCapture } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

/** More than one set-up seals them. */
const CARDS = 1_300;
const AT_ONCE = 50;

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

function cardOf(n: number) {
  return { card_number: `411111${String(n).padStart(10, '0')}`, cvv: String(n % 1_000).padStart(3, '0') };
}

async function inGroups<T>(count: number, act: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let first = 0; first < count; first += AT_ONCE) {
    const group = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, i) => act(first + i));
    results.push(...(await Promise.all(group)));
  }
  return results;
}

test('every one of many captures opens, whatever Redis forgets of what they share', async () => {
  const shop = await createCapture(account, 'u', { unique_id: 'shop' });
  const tokens = await inGroups(CARDS, async (n) => {
    if (n % 200 === 0) {
      for (const key of await vault.raw.keys('*}q*')) {
        await vault.raw.del(key);
      }
    }
    const answer = await capture(vault, shop, { body: cardOf(n) });
    expect(answer.outcome).toBe('200');
    return answer.as<{ token: string }>().token;
  });
  expect((await vault.raw.keys('*}q*')).length).toBeGreaterThan(1);
  const opened = await inGroups(CARDS, (n) => account.open('u', tokens[n] ?? '', { reference: 'shop' }));
  expect(opened).toEqual(Array.from({ length: CARDS }, (_, n) => JSON.stringify(cardOf(n))));
}, 60_000);
