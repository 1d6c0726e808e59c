import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { StartError } from '../../server/core/errors.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { Bucket } from '../../server/redis/records/name.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { changesOf, flip } from '../helpers/tampering.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { acceptedChanges, outcomeOf, REFUSED } from './copies.ts';

let now = Date.now();
let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ now: () => now, authFailuresMax: 0 });
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

/** Lets the server forget what it remembers of keys and sign-ins. */
function forget(): void {
  now += 301_000;
}
function read(token: string): Promise<Answer> {
  return account.send('GET', '/vault', { query: { user: 'u', token }, passphrase: PASSPHRASE });
}

describe('a key’s record', () => {
  test('that was changed in any way is refused, and serves again when it is put back', async () => {
    const token = await account.store('u', { number: '88' });
    const name = redisKeys.keyRecord(account.aid, 'u');
    const original = (await vault.raw.getBuffer(name)) ?? Buffer.alloc(0);
    const put = async (bytes: Buffer): Promise<void> => {
      await vault.raw.set(name, bytes);
      forget();
    };
    const list = () => account.send('GET', '/vault', { query: { user: 'u' } });
    for (const ask of [() => read(token), list]) {
      expect(await acceptedChanges(original, put, ask, 17)).toEqual([]);
    }
    expect(await account.open('u', token)).toBe('{"number":"88"}');
  });

  test('of another key or account is refused', async () => {
    const stranger = await vault.account();
    await Promise.all([account.key('victim'), account.key('attacker'), stranger.key('victim')]);
    const victim = redisKeys.keyRecord(account.aid, 'victim');
    for (const other of [
      redisKeys.keyRecord(account.aid, 'attacker'),
      redisKeys.keyRecord(stranger.aid, 'victim'),
    ]) {
      await vault.raw.set(victim, (await vault.raw.getBuffer(other)) ?? '');
      forget();
      const storing = { query: { user: 'victim' }, passphrase: PASSPHRASE, body: { number: '1' } };
      expect((await account.send('POST', '/vault', storing)).outcome).toBe(REFUSED);
      expect((await account.send('DELETE', '/key', { query: { user: 'victim', safe: false } })).outcome).toBe(
        REFUSED,
      );
    }
  });
});

describe('an account’s record', () => {
  test('that was changed, or is another account’s, signs nobody in', async () => {
    const [client, other] = [await vault.account(), await vault.account()];
    const original = (await vault.raw.hgetBuffer(redisKeys.accounts, client.name)) ?? Buffer.alloc(0);
    const foreign = (await vault.raw.hgetBuffer(redisKeys.accounts, other.name)) ?? Buffer.alloc(0);
    expect((await client.send('GET', '/whoami')).status).toBe(200);
    const wrong: string[] = [];
    for (const [change, bytes] of [...changesOf(original), ['another’s', foreign] as const]) {
      await vault.raw.hset(redisKeys.accounts, client.name, bytes);
      const { outcome } = await client.send('GET', '/whoami');
      if (outcome !== REFUSED && outcome !== '401 unauthenticated') {
        wrong.push(`${change}: ${outcome}`);
      }
    }
    expect(wrong).toEqual([]);
    expect((await other.send('GET', '/whoami')).status).toBe(200);
    await vault.raw.hset(redisKeys.accounts, client.name, original);
    expect((await client.send('GET', '/whoami')).status).toBe(200);
  });
});

describe('a kept reply', () => {
  test('that was changed in any way is refused, never replayed', async () => {
    const storing = {
      query: { user: 'u' },
      passphrase: PASSPHRASE,
      body: { number: '5' },
      idempotencyKey: 'tampered',
    };
    const before = new Set(await vault.raw.keys('{d:*'));
    const first = await account.send('POST', '/vault', storing);
    const [name = ''] = (await vault.raw.keys('{d:*')).filter((found) => !before.has(found));
    const original = (await vault.raw.hgetBuffer(name, 'r')) ?? Buffer.alloc(0);
    expect(
      await acceptedChanges(
        original,
        (bytes) => vault.raw.hset(name, 'r', bytes),
        () => account.send('POST', '/vault', storing),
      ),
    ).toEqual([]);
    expect((await account.send('POST', '/vault', storing)).text).toBe(first.text);
  });
});

describe('the vault’s own record', () => {
  test('that was changed stops the start, with one line for the operator', async () => {
    const original = (await vault.raw.hgetBuffer(redisKeys.installation, 'root')) ?? Buffer.alloc(0);
    for (const bytes of [flip(original, 30), original.subarray(1), Buffer.alloc(0)]) {
      await vault.raw.hset(redisKeys.installation, 'root', bytes);
      const started = vault.secondServer().then(
        (server) => server.close(),
        (error: unknown) => error,
      );
      expect(await started).toBeInstanceOf(StartError);
    }
    await vault.raw.hset(redisKeys.installation, 'root', original);
  });
});

describe('values that nobody would write', () => {
  const odd = ['x', '', '-1', '1.5', 'nan', '1e999', '9'.repeat(40)];
  const fences: readonly (readonly [string, string])[] = [
    ['g', 'x'],
    ['g', '-1'],
    ['c', 'x'],
    ['c', ''],
    ['l', 'x'],
  ];
  test.each(fences)('in a fence’s field %s are refused, or do no harm: %p', async (field, value) => {
    await account.key('fence').catch(() => undefined);
    const token = await account.store('fence', { number: '1' });
    const place = vault.opened.stores.itemStore.bucketOf(await vault.kidOf(account, 'fence'), token);
    await vault.raw.hset(redisKeys.fence(place), field, value);
    const reading = { query: { user: 'fence', token }, passphrase: PASSPHRASE };
    const storing = { query: { user: 'fence' }, passphrase: PASSPHRASE, body: { number: '1' } };
    for (const answer of [
      await account.send('GET', '/vault', reading),
      await account.send('POST', '/vault', storing),
    ]) {
      expect(['200', REFUSED, '503 overloaded']).toContain(answer.outcome);
    }
    await vault.raw.hdel(redisKeys.fence(place), field);
    expect(await account.open('fence', token)).toBe('{"number":"1"}');
  });

  test.each(odd)('in a count of usage are refused, or do no harm: %p', async (value) => {
    const month = new Date(now).toISOString().slice(0, 7);
    const client = await vault.account();
    await client.send('GET', '/whoami');
    await vault.raw.hset(redisKeys.usage(client.aid, month), 'api_requests', value);
    expect(['200', REFUSED]).toContain((await client.send('GET', '/whoami')).outcome);
  });

  test('in a count of failures are refused, or do no harm', async () => {
    const limited = await vault.secondServer({ authFailuresMax: 10 });
    try {
      const client = account.via(limited.handle);
      const from = { source: '127.0.0.1', network: '127.0.0.1' };
      const { limitStore } = limited.opened.stores;
      const { own: counter } = limitStore.guessCounters('key', await vault.kidOf(account, 'u'), from);
      for (const value of odd) {
        forget();
        await vault.raw.set(counter, value);
        const sending = { query: { user: 'u' }, passphrase: PASSPHRASE, body: { number: '1' } };
        const { outcome } = await client.send('POST', '/vault', sending);
        expect(['200', '429 too_many_failures', REFUSED]).toContain(outcome);
      }
      await vault.raw.del(counter);
    } finally {
      await limited.close();
    }
  });

  test('in the BIN table are refused, or left out', async () => {
    await vault.opened.stores.binStore.load('one', [{ low: 41111111, high: 41111111, issuers: [] }]);
    for (const member of ['41111111:41111111:{', '41111111:x:[]', 'x', '']) {
      forget();
      await vault.raw.del(redisKeys.binTable('one'));
      await vault.raw.zadd(redisKeys.binTable('one'), 41111111, member);
      const query = { user: 'u', return_card_metadata: true };
      const stored = await account.send('POST', '/vault', {
        query,
        passphrase: PASSPHRASE,
        body: { number: '4111111111111111' },
      });
      expect([member, ['200', REFUSED].includes(stored.outcome)]).toEqual([member, true]);
    }
  });

  test.each(['f', 'u', 's'])(
    'in a kept reply’s field %s are refused, a conflict, or a request like the first',
    async (field) => {
      for (const value of odd) {
        const before = new Set(await vault.raw.keys('{d:*'));
        const idempotencyKey = `odd ${field} ${value}`;
        const sending = {
          query: { user: 'u' },
          passphrase: PASSPHRASE,
          body: { number: '5' },
          idempotencyKey,
        };
        const first = await account.send('POST', '/vault', sending);
        const [name = ''] = (await vault.raw.keys('{d:*')).filter((found) => !before.has(found));
        await vault.raw.hset(name, field, value);
        const { outcome, text } = await account.send('POST', '/vault', sending);
        expect([text, '409 idempotency_conflict', REFUSED]).toContain(
          outcome === '200' ? first.text : outcome,
        );
      }
    },
  );

  const places: readonly (readonly [string, (place: Bucket, token: string, aid: string) => string])[] = [
    ['a key', (_, __, aid) => redisKeys.keyRecord(aid, 'types')],
    ['the directory of keys', (_, __, aid) => redisKeys.keyDirectory(aid)],
    ['the times', redisKeys.times],
    ['the references', redisKeys.references],
    ['a fence', redisKeys.fence],
    ['verification codes', redisKeys.sad],
  ];
  test.each(places)('of another type in the place of %s are refused', async (_, nameOf) => {
    const client = await vault.account();
    await client.key('types');
    const item = { number: '1', cvv: '1' };
    const token = await client.store('types', item, { reference: 'r' });
    const place = vault.opened.stores.itemStore.bucketOf(await vault.kidOf(client, 'types'), token);
    const name = nameOf(place, token, client.aid);
    await vault.raw.del(name);
    await vault.raw.sadd(name, 'a set');
    forget();
    const query = { user: 'types', token, reference: 'r' };
    const storing = { query: { user: 'types', reference: 'r' }, passphrase: PASSPHRASE, body: item };
    const outcomes = [
      (await client.send('GET', '/vault', { query, passphrase: PASSPHRASE })).outcome,
      (await client.send('POST', '/vault', storing)).outcome,
      await outcomeOf(client.send('GET', '/vault', { query: { user: 'types', reference: 'r' } })),
      (await client.send('GET', '/key')).outcome,
    ];
    expect(outcomes.filter((outcome) => !['200', 'broke off', REFUSED].includes(outcome))).toEqual([]);
  });
});

describe('after all that', () => {
  test('the server is alive and all threads work', async () => {
    const token = await account.store('u', { number: '77' });
    expect((await read(token)).text).toBe('{"number":"77"}');
    expect(vault.opened.pool.stats().threadsAlive).toBe(1);
    expect(vault.lines.filter(({ event }) => event === 'unexpected_error')).toEqual([]);
  });
});
