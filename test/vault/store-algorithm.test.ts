import { afterAll, describe, expect, test } from 'bun:test';
import { passesLuhn } from '../../server/domain/card/luhn.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const NUMBER = '4111111111111111';
const HASHED = ['full', 'luhn', 'partial_8_start', 'partial_16_end', 'partial_middle_6_4'];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

function tokenFor(algorithm: string | undefined, number = NUMBER, query: Query = {}): Promise<string> {
  return account.store('u', { number }, { algorithm, ...query });
}

test('full is the default: 64 lowercase hex digits', async () => {
  expect(await tokenFor(undefined)).toMatch(/^[0-9a-f]{64}$/);
  expect(await tokenFor(undefined)).toBe(await tokenFor('full'));
});

test('uuid is another random UUID each time, each an item of its own', async () => {
  const tokens = await Promise.all(Array.from({ length: 20 }, () => tokenFor('uuid', '77')));
  expect(new Set(tokens).size).toBe(20);
  for (const token of tokens) {
    expect(token).toMatch(UUID);
  }
  const { data } = await account.sdk.vault.list({ user: 'u' });
  const listed = new Set(data['u']?.map(({ token }) => token));
  expect(tokens.every((token) => listed.has(token))).toBe(true);
});

test('luhn is 16 digits that begin with 9 and pass Luhn', async () => {
  for (const number of [NUMBER, '1', 'DE89 3704 0044 0532 0130 00', '9'.repeat(40)]) {
    const token = await tokenFor('luhn', number);
    expect(token).toMatch(/^9\d{15}$/);
    expect(passesLuhn(token)).toBe(true);
  }
});

describe('partial', () => {
  test('may hold any sign that the number holds, and still names its item everywhere', async () => {
    const number = '4111 {a}:"\\/&?#%+,;=<> 1111 2222';
    const token = await tokenFor('partial_8_end', number);
    expect(token).toStartWith('4111 {a}:"\\/&?#%+,;=<> ');
    expect(await account.open('u', token)).toBe(JSON.stringify({ number }));
    const { data } = await account.sdk.vault.list({ user: 'u', token });
    expect(data['u']?.map((item) => item.token)).toEqual([token]);
    await account.sdk.vault.update({ user: 'u', token, data: { a: 1 } });
    expect((await account.sdk.vault.log({ user: 'u', token })).data).toHaveLength(3);
    const opened = await Array.fromAsync(account.sdk.vault.decryptAll({ user: 'u' }));
    expect(opened.some((item) => item.token === token)).toBe(true);
    await account.sdk.vault.delete({ user: 'u', token });
  });
});

test('partial_middle keeps so many first and last digits, and is the full token where too few are between', async () => {
  for (const [start, end] of [
    [6, 4],
    [0, 0],
    [11, 0],
  ] as const) {
    const token = await tokenFor(`partial_middle_${start}_${end}`);
    const middle = 16 - start - end;
    expect(token).toMatch(
      new RegExp(`^${NUMBER.slice(0, start)}[0-9a-f]{${middle}}${NUMBER.slice(16 - end)}$`),
    );
    expect(token.slice(start, start + middle)).toMatch(/[a-f]/);
  }
  expect(await tokenFor('partial_middle_6_6')).toBe(await tokenFor('full'));
  expect(await tokenFor('partial_8_start', '1234567')).toBe(await tokenFor('full', '1234567'));
});

describe('tokens depend on', () => {
  test.each(HASHED)('number and reference, and are the same each time: %s', async (algorithm) => {
    const one = await tokenFor(algorithm);
    expect(await tokenFor(algorithm)).toBe(one);
    const others = await Promise.all([
      tokenFor(algorithm, NUMBER, { reference: 'a' }),
      tokenFor(algorithm, NUMBER, { reference: 'b' }),
      tokenFor(algorithm, '5111111111111111'),
    ]);
    expect(new Set([one, ...others]).size).toBe(4);
    expect(await tokenFor(algorithm, NUMBER, { reference: 'a' })).toBe(others[0] ?? '');
  });

  test.each(['full', 'luhn'])('the key, even one of the same passphrase: %s', async (algorithm) => {
    const other = await vault.account();
    await Promise.all([other.key('u'), account.key(`second-${algorithm}`)]);
    const tokens = await Promise.all([
      tokenFor(algorithm),
      account.store(`second-${algorithm}`, { number: NUMBER }, { algorithm }),
      other.store('u', { number: NUMBER }, { algorithm }),
    ]);
    expect(new Set(tokens).size).toBe(3);
  });
});

describe('storing again', () => {
  const itemsOf = async (user: string) => (await account.sdk.vault.list({ user })).data[user] ?? [];

  test.each(HASHED)('replaces the data and keeps the log: %s', async (algorithm) => {
    const user = `again-${algorithm}`;
    await account.key(user);
    const first = await account.store(user, { number: NUMBER, holder: 'Ada', cvv: '111' }, { algorithm });
    await account.open(user, first);
    const [before] = await itemsOf(user);
    const second = await account.store(user, { number: NUMBER, city: 'London' }, { algorithm });
    expect(second).toBe(first);
    expect(await account.open(user, first)).toBe(`{"number":"${NUMBER}","city":"London"}`);
    const items = await itemsOf(user);
    expect(items).toHaveLength(1);
    expect(Date.parse(items[0]?.stored_at ?? '')).toBeGreaterThan(Date.parse(before?.stored_at ?? ''));
    const { data: log } = await account.sdk.vault.log({ user, token: first });
    expect(log.map(({ action }) => action)).toEqual(['decrypt', 'encrypt', 'decrypt', 'encrypt']);
  });

  test('many at once leave one item, with an entry for each that was acknowledged', async () => {
    await account.key('at-once');
    const bodies = Array.from({ length: 24 }, (_, n) => ({ number: NUMBER, writer: n }));
    const tokens = await Promise.all(bodies.map((body) => account.store('at-once', body)));
    expect(new Set(tokens).size).toBe(1);
    expect(await itemsOf('at-once')).toHaveLength(1);
    expect((await account.sdk.vault.log({ user: 'at-once', token: tokens[0] ?? '' })).data).toHaveLength(24);
    const { writer } = JSON.parse(await account.open('at-once', tokens[0] ?? ''));
    expect(writer).toBeLessThan(24);
  });
});

describe('two numbers never share a token', () => {
  test('whatever is stored first, five replaced digits stay unique among hundreds of cards', async () => {
    await account.key('crowd');
    const numbers = Array.from({ length: 300 }, (_, n) => `4111${String(10_000 + n)}99`);
    const query = { algorithm: 'partial_middle_4_2' };
    const tokens = await Promise.all(numbers.map((number) => account.store('crowd', { number }, query)));
    expect(new Set(tokens).size).toBe(numbers.length);
    for (const [n, token] of tokens.entries()) {
      if (n % 25 === 0) {
        expect(await account.open('crowd', token)).toBe(`{"number":"${numbers[n]}"}`);
      }
    }
  });

  /** Makes a token look as if it had been given to another number. */
  const giveAway = async (user: string, token: string): Promise<() => Promise<unknown>> => {
    const kid = await vault.kidOf(account, user);
    const name = redisKeys.identities(vault.opened.stores.itemStore.bucketOf(kid, token));
    const owner = await vault.raw.hgetBuffer(name, token);
    await vault.raw.hset(name, token, Buffer.alloc(owner?.length ?? 0, 1));
    return () => vault.raw.hset(name, token, owner ?? '');
  };
  const store = (user: string, body: object, algorithm: string): Promise<Answer> =>
    account.send('POST', '/vault', { query: { user, algorithm }, passphrase: PASSPHRASE, body });

  test.each(['luhn', 'partial_8_end', 'partial_middle_6_4'])(
    'on a clash the next candidate is taken, the same each time: %s',
    async (algorithm) => {
      const user = `clash-${algorithm}`;
      await account.key(user);
      const number = '4000056655665556';
      const token = await account.store(user, { number }, { algorithm });
      await account.sdk.vault.delete({ user, token });
      const giveBack = await giveAway(user, token);
      const next = (await store(user, { number }, algorithm)).as<{ token: string }>().token;
      expect(next).not.toBe(token);
      expect(next).toHaveLength(16);
      expect((await store(user, { number }, algorithm)).as<{ token: string }>().token).toBe(next);
      await giveBack();
      expect((await store(user, { number }, algorithm)).as<{ token: string }>().token).toBe(token);
    },
  );
});
