import { afterAll, describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { chanceOfCase } from '../fuzz/chance.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { answerNext, failNext, holdNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault, usageOf as usageSum } from '../helpers/vault.ts';

const FEBRUARY = Date.parse('2026-02-28T23:59:59.999Z');

let clock = FEBRUARY;

const vault = await openTestVault({ now: () => clock });
const second = await vault.secondServer();
const client = await vault.account();
await client.key('u');
afterAll(async () => {
  await second.close();
  await vault.close();
});

async function usageOf(who: AccountClient, month = '2026-02'): Promise<Readonly<Record<string, number>>> {
  return Object.fromEntries(
    Object.entries(usageSum(await vault.opened.services.usage.read(who, month))).filter(([, n]) => n !== 0),
  );
}

describe('counts are exact', () => {
  test('for 200 mixed requests at once on two servers, the refused ones among them', async () => {
    const who = await vault.account();
    await who.key('u');
    const token = await who.store('u', { number: '1' });
    const shop = await createCapture(who, 'u');
    const desk = await createRetrieve(who, 'u', { token });
    const before = await usageOf(who);
    const there = who.via(second.handle);
    // What each kind of request does, and what it counts as when it is answered.
    const kinds: readonly (readonly [string, (at: AccountClient, server: TestVault) => Promise<Answer>])[] = [
      ['store', (at) => at.send('POST', '/vault?user=u', { passphrase: PASSPHRASE, body: { number: '2' } })],
      ['decrypt', (at) => at.send('GET', `/vault?user=u&token=${token}`, { passphrase: PASSPHRASE })],
      ['decrypt', (at) => at.send('GET', '/vault?user=u&token=none', { passphrase: PASSPHRASE })],
      ['list', (at) => at.send('GET', '/vault?user=u')],
      ['log', (at) => at.send('GET', `/vault/metadata?user=u&token=${token}`)],
      ['key', (at) => at.send('GET', '/key')],
      ['rule', (at) => at.send('GET', '/rule?id=none')],
      ['preference', (at) => at.send('GET', '/preferences')],
      ['', (at) => at.send('GET', '/usage')],
      ['', (at) => at.send('GET', '/retrieve/iframe')],
      ['utility', (at) => at.send('GET', '/luhn?number=42')],
      ['capture', (_, server) => capture(server, shop, { body: { number: '3' } })],
      ['capture', (_, server) => capture(server, shop, { body: {} })],
      ['retrieve', (_, server) => retrieve(server, desk, { query: { token } })],
      ['retrieve', (_, server) => retrieve(server, desk, { query: { token: 'other' } })],
    ];
    const oracle: Record<string, number> = { ...before };
    const add = (name: string): void => {
      oracle[name] = (oracle[name] ?? 0) + 1;
    };
    await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const [operation, ask] = kinds[n % kinds.length] ?? ['', () => who.send('GET', '/whoami')];
        const [at, server] = n % 2 === 0 ? [who, vault] : [there, second];
        const { status } = await ask(at, server);
        if (status === 200) {
          add('api_requests');
          if (operation !== '') {
            add(operation);
          }
        }
      }),
    );
    expect(await usageOf(who)).toEqual(oracle);
  }, 60_000);

  test('when the store of counts fails for one of many, which is refused and counts nothing', async () => {
    const who = await vault.account();
    failNext(vault.opened.stores.usageStore, 'add', new Error('Redis broke'));
    const answers = await Promise.all(Array.from({ length: 10 }, () => who.send('GET', '/luhn?number=2')));
    expect(answers.filter(({ status }) => status === 200).length).toBe(9);
    expect(await usageOf(who)).toEqual({ utility: 9, api_requests: 9 });
  });

  test('for a refused request nothing is left that another one would store', async () => {
    const who = await vault.account();
    await who.send('POST', '/rule?id=r', { body: [{ name: 'noop' }] });
    failNext(vault.opened.crypto, 'openRecord', new Error('a fault behind the count'));
    expect((await who.send('GET', '/rule?id=r')).status).toBe(500);
    expect((await who.send('GET', '/whoami')).status).toBe(200);
    expect(await usageOf(who)).toEqual({ rule: 1, api_requests: 2 });
  });

  test('a new passphrase that cannot be counted is given all the same, and one that comes too late is not counted', async () => {
    const who = await vault.account();
    await who.key('u');
    const before = await usageOf(who);
    const body = { user: 'u', passphrase: PASSPHRASE, new_passphrase: PASSPHRASE };
    const change = (at = who) => at.send('PUT', '/key', { body });
    failNext(vault.opened.stores.usageStore, 'add', new Error('Redis broke'));
    expect((await change()).status).toBe(200);
    expect(await usageOf(who)).toEqual(before);
    const held = holdNext(vault.opened.stores.keyStore, 'change');
    const late = change();
    await held.reached;
    expect((await change(who.via(second.handle))).status).toBe(200);
    held.release();
    expect((await late).outcome).toBe('409 key_changed');
    const requests = (before['api_requests'] ?? 0) + 1;
    expect(await usageOf(who)).toEqual({ ...before, key: (before['key'] ?? 0) + 1, api_requests: requests });
  });

  test('at the turn of the month, each request in the month in which it was counted', async () => {
    const who = await vault.account();
    await who.key('u');
    const shop = await createCapture(who, 'u');
    const before = await usageOf(who);
    const post = () => capture(vault, shop, { body: { number: '1' } });
    const held = holdNext(vault.opened.stores.itemStore, 'write');
    const late = post();
    await held.reached;
    try {
      clock = FEBRUARY + 1;
      held.release();
      expect((await late).status).toBe(200);
      expect((await post()).status).toBe(200);
      await who.send('GET', '/luhn?number=1');
      const requests = (before['api_requests'] ?? 0) + 1;
      expect(await usageOf(who)).toEqual({ ...before, capture: 1, api_requests: requests });
      expect(await usageOf(who, '2026-03')).toEqual({ capture: 1, utility: 1, api_requests: 2 });
      const days = await who.send('GET', '/usage?by_day=true');
      expect(days.as<{ days: number[] }>().days).toEqual([2]);
    } finally {
      clock = FEBRUARY;
    }
  });

  test('what fails in its write counts nothing, and what is written at the second try counts once', async () => {
    const who = await vault.account();
    await who.key('u');
    const token = await who.store('u', { number: '1' });
    const desk = await createRetrieve(who, 'u', { token });
    const { itemStore } = vault.opened.stores;
    const body = { number: '2' };
    const works = {
      store: () => who.send('POST', '/vault?user=u', { passphrase: PASSPHRASE, body }),
      update: () => who.send('POST', `/vault/update?user=u&token=${token}`, { passphrase: PASSPHRASE, body }),
      decrypt: () => who.send('GET', `/vault?user=u&token=${token}`, { passphrase: PASSPHRASE }),
      retrieve: () => retrieve(vault, desk, { query: { token } }),
    };
    for (const [operation, work] of Object.entries(works)) {
      const write = operation === 'store' || operation === 'update' ? 'write' : 'appendLog';
      const before = await usageOf(who);
      failNext(itemStore, write, new Error('Redis broke'));
      expect((await work()).status).toBe(500);
      expect(await usageOf(who)).toEqual(before);

      answerNext(itemStore, write, async () => ({ kind: 'closed' }));
      expect((await work()).status).toBe(200);
      const requests = (before['api_requests'] ?? 0) + 1;
      expect(await usageOf(who)).toEqual({
        ...before,
        [operation]: (before[operation] ?? 0) + 1,
        api_requests: requests,
      });
    }
  });

  test('an account that is deleted under a request is left without counts', async () => {
    const who = await vault.account();
    await who.key('u');
    const kid = await vault.kidOf(who, 'u');
    await who.store('u', { number: '1' });
    const held = holdNext(vault.opened.stores.itemStore, 'write');
    const late = who.send('POST', '/vault?user=u', { passphrase: PASSPHRASE, body: { number: '1' } });
    await held.reached;
    await vault.opened.removeAccount(who.name);
    held.release();
    expect((await late).status).not.toBe(200);
    const left = await Promise.all([`{a:${who.aid}}u*`, `{${kid}.*}n*`].map((name) => vault.raw.keys(name)));
    expect(left).toEqual([[], []]);
  });

  test('a deleted key keeps what it has counted', async () => {
    const who = await vault.account();
    await who.key('gone');
    await who.store('gone', { number: '1' });
    const kid = await vault.kidOf(who, 'gone');
    await who.sdk.keys.delete({ user: 'gone', safe: false });
    expect(await vault.raw.keys(`{${kid}.*}n*`)).toEqual([]);
    expect(await usageOf(who)).toEqual({ key: 2, store: 1, api_requests: 3 });
  });

  test('a capture that fails after it was stored is a capture, and its repeat is no second one', async () => {
    const who = await vault.account();
    await who.key('u');
    const shop = await createCapture(who, 'u');
    const before = await usageOf(who);
    const requests = before['api_requests'] ?? 0;
    const post = () => capture(vault, shop, { body: { number: '1' }, idempotencyKey: 'kept' });
    failNext(vault.opened.stores.idempotencyStore, 'keep', new Error('Redis broke'));
    expect((await post()).status).toBe(500);
    expect(await usageOf(who)).toEqual({ ...before, capture: 1, api_requests: requests + 1 });
    expect((await post()).status).toBe(200);
    expect(await usageOf(who)).toEqual({ ...before, capture: 1, api_requests: requests + 2 });
  });
});

test('1,000 requests on two servers whose scripts fail or lose their replies: what is done is counted, and nothing else', async () => {
  const who = await vault.account();
  for (const user of ['stored', 'captured', 'opened', 'deleted', 'batched']) {
    await who.key(user);
  }
  const shop = await createCapture(who, 'captured', { algorithm: 'uuid' });
  const reading = await who.store('opened', { number: '1' });
  const DELETED = 100;
  const doomed = await Promise.all(
    Array.from({ length: DELETED }, () => who.store('deleted', { number: '1' }, { algorithm: 'uuid' })),
  );
  const before = await usageOf(who);
  const chance = chanceOfCase(43, 'metering', 1);
  const servers = [vault, second];
  const restored = servers.map(({ opened: { redis } }) => {
    const run = redis.run.bind(redis);
    redis.run = async (...given) => {
      const drawn = chance.int(25);
      const reply = drawn === 0 ? undefined : await run(...given);
      if (drawn < 2) {
        throw new VaultError('store_unavailable');
      }
      return reply;
    };
    return () => {
      redis.run = run;
    };
  });
  const passphrase = PASSPHRASE;
  const body = { number: '2' };
  const uuid = { algorithm: 'uuid' };
  let answered = 0;
  let utilities = 0;
  let batches = 0;
  const kinds: readonly ((at: AccountClient, server: TestVault, n: number) => Promise<Answer>)[] = [
    (at) => at.send('POST', '/vault', { query: { user: 'stored', ...uuid }, passphrase, body }),
    (at, _, n) => {
      const query = { user: 'stored', ...uuid };
      return at.send('POST', '/vault', { query, passphrase, body, idempotencyKey: `key-${n % 40}` });
    },
    (_, server) => capture(server, shop, { body }),
    (_, server, n) => capture(server, shop, { body, idempotencyKey: `key-${n % 40}` }),
    (at) => at.send('GET', '/vault', { query: { user: 'opened', token: reading }, passphrase }),
    (at) => at.send('DELETE', '/vault', { query: { user: 'deleted', token: doomed.pop() ?? 'none' } }),
    async (at) => {
      const items = [{ data: body, ...uuid }];
      const answer = await at.send('POST', '/vault/batch', { passphrase, body: { user: 'batched', items } });
      batches += answer.status === 200 ? 1 : 0;
      return answer;
    },
    async (at) => {
      const answer = await at.send('GET', '/luhn?number=42');
      utilities += answer.status === 200 ? 1 : 0;
      return answer;
    },
  ];
  let asked = 0;
  const ask = async (): Promise<void> => {
    while (asked < 1_000) {
      const n = asked++;
      const server = chance.pick([vault, second]);
      const kind = kinds[n % kinds.length] ?? kinds[0];
      // Not in one expression with `await`: other requests are answered in the meantime.
      const answer = await kind?.(who.via(server.handle), server, n);
      answered += answer?.status === 200 ? 1 : 0;
      if (n % 50 === 0) {
        // A sweep, or a report.
        await server.opened.services.usage.fold(who.aid).catch(() => undefined);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  for (const restore of restored) {
    restore();
  }
  const counts = await usageOf(who);
  const grown = (name: string): number => (counts[name] ?? 0) - (before[name] ?? 0);
  const tokensOf = async (user: string): Promise<number> =>
    vault.opened.stores.itemStore.countItems(await vault.kidOf(who, user));
  const stored = (await tokensOf('stored')) + (await tokensOf('batched'));
  const log = await who.sdk.vault.log({ user: 'opened', token: reading, limit: -1 });
  expect({
    store: grown('store'),
    capture: grown('capture'),
    delete: grown('delete'),
    decrypt: grown('decrypt'),
  }).toEqual({
    store: stored,
    capture: await tokensOf('captured'),
    delete: DELETED - (await tokensOf('deleted')),
    decrypt: log.data.filter(({ action, outcome }) => action === 'decrypt' && outcome === 'ok').length,
  });
  expect(batches).toBeGreaterThan(0);
  expect(answered).toBeGreaterThan(500);
  expect(grown('utility')).toBeGreaterThanOrEqual(utilities);
  expect(grown('api_requests')).toBeGreaterThanOrEqual(answered);
  expect(grown('api_requests')).toBeLessThanOrEqual(1_000);
}, 60_000);
