import { afterAll, describe, expect, test } from 'bun:test';
import { PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

/** Longer than a test takes, on a busy machine too. */
const TTL_MS = 60_000;
const HALF_MS = TTL_MS / 2;
/** By how much clocks of whole milliseconds may differ. */
const STEP_MS = 50;
const CARD = { number: '4111111111111111', cvv: '123', deep: [{ track2: ';4111=', x: 1 }], holder: 'Ada' };
const WITHOUT = { number: '4111111111111111', deep: [{ x: 1 }], holder: 'Ada' };

let ahead = 0;

const vault = await openTestVault({ sadTtlMs: TTL_MS, now: () => Date.now() + ahead });
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

async function opened(token: string): Promise<unknown> {
  return JSON.parse(await account.open('u', token));
}
async function openedWithAll(token: string): Promise<unknown> {
  for await (const item of account.sdk.vault.decryptAll({ user: 'u' })) {
    if (item.token === token) {
      return item.data;
    }
  }
  return undefined;
}
function sadNames(): Promise<string[]> {
  return vault.raw.keys('*}s*');
}

/** Lets the server's clock, not that of Redis, pass the time that codes are kept. */
async function passTime(act: () => Promise<void>): Promise<void> {
  ahead = TTL_MS + 1;
  try {
    await act();
  } finally {
    ahead = 0;
  }
}

describe('verification codes that are kept for a time', () => {
  test('are there before it, and gone after it, also from Redis, with the rest as it was', async () => {
    const token = await account.store('u', CARD);
    expect(await opened(token)).toEqual(CARD);
    expect(await openedWithAll(token)).toEqual(CARD);
    const [name = ''] = (await sadNames()).filter((found) => found.endsWith(token));
    const ttl = await vault.raw.pttl(name);
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(TTL_MS);
    // Redis has a clock of its own: there the rest of the time passes at once.
    await vault.raw.pexpire(name, 1);
    while ((await vault.raw.exists(name)) === 1) {
      // Not yet.
    }
    await passTime(async () => {
      expect(await opened(token)).toEqual(WITHOUT);
      expect(await openedWithAll(token)).toEqual(WITHOUT);
    });
  });

  test('are not shown once their time is over, even while Redis still has them', async () => {
    const token = await account.store('u', CARD);
    await passTime(async () => {
      expect(await opened(token)).toEqual(WITHOUT);
      expect(await openedWithAll(token)).toEqual(WITHOUT);
    });
  });

  test('do not come back with an update after their time', async () => {
    const token = await account.store('u', CARD);
    await passTime(async () => {
      await account.sdk.vault.update({ user: 'u', token, data: { holder: 'Grace' } });
      expect(await opened(token)).toEqual({ ...WITHOUT, holder: 'Grace' });
    });
    expect(await opened(token)).toEqual({ ...WITHOUT, holder: 'Grace' });
    expect((await sadNames()).filter((found) => found.endsWith(token))).toEqual([]);
  });

  test('keep their time through an update that brings none', async () => {
    const token = await account.store('u', CARD);
    const [name = ''] = (await sadNames()).filter((found) => found.endsWith(token));
    const until = await vault.raw.pexpiretime(name);
    await account.sdk.vault.update({ user: 'u', token, data: { holder: 'Grace' } });
    expect(await opened(token)).toEqual({ ...CARD, holder: 'Grace' });
    expect(await vault.raw.pexpiretime(name)).toBe(until);
  });

  test('begin a new time with an update or a store that brings one', async () => {
    const card = { number: '4222222222222222', cvv: '123' };
    const token = await account.store('u', card);
    const [name = ''] = (await sadNames()).filter((found) => found.endsWith(token));
    const first = await vault.raw.pexpiretime(name);
    ahead = HALF_MS / 2;
    try {
      await account.sdk.vault.update({ user: 'u', token, data: { cvv: '999' } });
      const second = await vault.raw.pexpiretime(name);
      expect(second).toBeGreaterThanOrEqual(first + ahead - STEP_MS);
      ahead = HALF_MS;
      await account.store('u', card);
      expect(await vault.raw.pexpiretime(name)).toBeGreaterThanOrEqual(second + HALF_MS / 2 - STEP_MS);
    } finally {
      ahead = 0;
    }
  });

  test('do not live longer because an update brings another one', async () => {
    const token = await account.store('u', CARD);
    ahead = HALF_MS;
    try {
      await account.sdk.vault.update({ user: 'u', token, data: { pin: '0000' } });
      expect(await opened(token)).toEqual({ ...CARD, pin: '0000' });
      ahead = TTL_MS + 1;
      expect(await opened(token)).not.toHaveProperty('cvv');
      expect(await opened(token)).not.toHaveProperty(['deep', 0, 'track2']);
    } finally {
      ahead = 0;
    }
  });

  test('go at once with a store that brings none, or an update that puts something else in their place', async () => {
    const token = await account.store('u', CARD);
    await account.store('u', WITHOUT);
    expect(await opened(token)).toEqual(WITHOUT);
    expect((await sadNames()).filter((found) => found.endsWith(token))).toEqual([]);
    await account.store('u', { number: CARD.number, deep: [{ track2: 'x' }] });
    await account.sdk.vault.update({ user: 'u', token, data: { deep: null } });
    expect(await opened(token)).toEqual({ number: CARD.number, deep: null });
    expect((await sadNames()).filter((found) => found.endsWith(token))).toEqual([]);
  });

  test('nothing else of an item has an end', async () => {
    await account.store('u', { number: '1', cvv: '1' }, { reference: 'r' });
    for (const name of await vault.raw.keys('*')) {
      if (/\}s|^\{[df]:/.test(name)) {
        continue;
      }
      expect([name, await vault.raw.pttl(name)]).toEqual([name, -1]);
    }
  });

  test('keep their end when a server that keeps codes for ever updates the item beside them', async () => {
    const forever = await vault.secondServer({ sadTtlMs: 0 });
    const other = account.via(forever.handle);
    // Opens the key there, so that the update does not spend the codes' time on it.
    await other.open('u', await account.store('u', { number: '1' }, { algorithm: 'uuid' }));
    const token = await account.store('u', { ...CARD, number: '4111111111111145' });
    const update = (body: object) =>
      other.send('POST', '/vault/update', { query: { user: 'u', token }, passphrase: PASSPHRASE, body });
    const left = async () => {
      const [name = ''] = (await sadNames()).filter((found) => found.endsWith(token));
      return vault.raw.pttl(name);
    };
    expect((await update({ holder: 'Grace' })).outcome).toBe('200');
    expect(await left()).toBeWithin(1, TTL_MS + 1);
    expect((await update({ cvv: '456', deep: [] })).outcome).toBe('200');
    expect(await left()).toBe(-1);
    await forever.close();
  });
});
