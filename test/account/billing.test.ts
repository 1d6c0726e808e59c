import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parsePrices } from '../../server/config/files.ts';
import { OPERATIONS } from '../../server/core/operations.ts';
import type { AccountClient } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const MONTH_END = Date.parse('2026-02-28T23:59:59.999Z');
const PRICES = {
  currency: 'EUR',
  prices: { store: '0.0300', decrypt: '0.1', preference: '12' },
  default: '0.005',
} as const;

interface Bill {
  readonly currency: string;
  readonly amount: string;
  readonly from: string;
  readonly to: string;
  readonly items: readonly {
    readonly operation: string;
    readonly count: number;
    readonly unit_price: string;
    readonly amount: string;
  }[];
}

let clock = MONTH_END;

const vault = await openTestVault({ now: () => clock, prices: PRICES });
afterAll(() => vault.close());

async function billOf(client: AccountClient): Promise<Bill> {
  return (await client.send('GET', '/billing')).as<Bill>();
}
async function itemOf(client: AccountClient, operation: string) {
  return (await billOf(client)).items.find((item) => item.operation === operation);
}

describe('a bill', () => {
  test('has prices from a file that may name every operation, and nothing else', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'cv-prices-')), 'prices.json');
    const prices = Object.fromEntries(OPERATIONS.map((operation, n) => [operation, `0.${n}`]));
    writeFileSync(file, JSON.stringify({ ...PRICES, prices }));
    expect(parsePrices(file).prices).toEqual(prices);
    writeFileSync(file, JSON.stringify({ ...PRICES, prices: { ...prices, api_requests: '1' } }));
    expect(() => parsePrices(file)).toThrow('/prices/api_requests');
  });

  test('names every operation in its order, at its price or the one for all others', async () => {
    const client = await vault.account();
    const bill = await billOf(client);
    expect(bill.items.map(({ operation }) => operation)).toEqual([...OPERATIONS]);
    expect(bill.items.find(({ operation }) => operation === 'store')).toEqual({
      operation: 'store',
      count: 0,
      unit_price: '0.0300',
      amount: '0.0000',
    });
    expect(bill.items.find(({ operation }) => operation === 'rule')?.unit_price).toBe('0.005');
    expect(bill).toMatchObject({ currency: 'EUR', amount: '0.0000', from: '2026-02-01T00:00:00Z' });
  });

  test('is exact where floating point is not', async () => {
    const client = await vault.account();
    await client.key('u');
    const tokens = await Promise.all(['1', '2', '3'].map((number) => client.store('u', { number })));
    await Promise.all(tokens.map((token) => client.open('u', token)));
    const bill = await billOf(client);
    // 3 × 0.0300 + 3 × 0.1 + 1 × 0.005
    expect(bill.amount).toBe('0.3950');
    expect(bill.items.filter(({ count }) => count > 0)).toEqual([
      { operation: 'store', count: 3, unit_price: '0.0300', amount: '0.0900' },
      { operation: 'decrypt', count: 3, unit_price: '0.1', amount: '0.3' },
      { operation: 'key', count: 1, unit_price: '0.005', amount: '0.005' },
    ]);
  });

  test('begins anew with the month', async () => {
    const client = await vault.account();
    await client.key('u');
    try {
      expect(await billOf(client)).toMatchObject({
        from: '2026-02-01T00:00:00Z',
        to: '2026-02-28T23:59:59Z',
      });
      expect(await itemOf(client, 'key')).toMatchObject({ count: 1 });
      clock += 1;
      expect(await billOf(client)).toMatchObject({
        amount: '0.0000',
        from: '2026-03-01T00:00:00Z',
        to: '2026-03-01T00:00:00Z',
      });
      expect((await client.send('GET', '/usage')).json).toMatchObject({ month: '2026-03', api_requests: 1 });
      expect((await client.send('GET', '/usage?month=2026-02')).json).toMatchObject({ api_requests: 3 });
      const ofDays = async (query: string) =>
        (await client.send('GET', `/usage?by_day=true${query}`)).as<{ days: number[] }>().days;
      expect(await ofDays('')).toEqual([3]);
      expect(await ofDays('&month=2026-02')).toEqual([...Array<number>(27).fill(0), 3]);
      expect(await ofDays('&month=2026-04')).toEqual([]);
    } finally {
      clock = MONTH_END;
    }
  });
});

describe('usage', () => {
  test('counts keys and tokens as they are now, whatever the month, and requests of the month', async () => {
    const client = await vault.account();
    await client.key('a');
    await client.key('b');
    const token = await client.store('a', { number: '1' });
    await client.store('a', { number: '2' });
    await client.store('b', { number: '1' });
    await client.store('b', { number: '1' });
    expect((await client.send('GET', '/usage')).json).toEqual({
      month: '2026-02',
      keys: 2,
      tokens: 3,
      api_requests: 6,
    });
    await client.sdk.vault.delete({ user: 'a', token });
    expect(await client.sdk.admin.usage({ month: '1999-12' })).toEqual({
      month: '1999-12',
      keys: 2,
      tokens: 2,
      api_requests: 0,
    });
    await client.sdk.keys.delete({ user: 'b', safe: false });
    expect(await client.sdk.admin.usage()).toMatchObject({ keys: 1, tokens: 1 });
  });

  test('refuses what is no month', async () => {
    const client = await vault.account();
    for (const month of ['2026-13', '2026-00', '2026-1', '2026', '2026-02-01', '', '２０２６-02']) {
      const refused = await client.send('GET', '/usage', { query: { month } });
      expect([month, refused.outcome, refused.field]).toEqual([month, '400 invalid_request', 'query.month']);
    }
  });
});
