import { afterAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
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
    Object.entries(usageSum(await vault.opened.stores.usageStore.read(who.aid, month))).filter(
      ([, n]) => n !== 0,
    ),
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
    await Promise.all([vault.opened.services.metering.flush(), second.opened.services.metering.flush()]);
    expect(await usageOf(who)).toEqual(oracle);
  }, 60_000);

  test('when the store of counts fails for one of many, who is refused and counts nothing', async () => {
    const who = await vault.account();
    await who.key('u');
    const before = await usageOf(who);
    const { usageStore } = vault.opened.stores;
    const held = holdNext(usageStore, 'add');
    const first = who.send('GET', '/luhn?number=1');
    await held.reached;
    failNext(usageStore, 'add', new Error('Redis broke'));
    held.release();
    const answers = await Promise.all([
      first,
      ...Array.from({ length: 9 }, () => who.send('GET', '/luhn?number=2')),
    ]);
    const done = answers.filter(({ status }) => status === 200).length;
    expect(done).toBeGreaterThan(0);
    expect(await usageOf(who)).toEqual({
      ...before,
      utility: done,
      api_requests: (before['api_requests'] ?? 0) + done,
    });
  });

  test('for a refused request nothing is left that another one would store', async () => {
    const who = await vault.account();
    await who.send('POST', '/rule?id=r', { body: [{ name: 'noop' }] });
    failNext(vault.opened.crypto, 'openRecord', new Error('a fault behind the count'));
    expect((await who.send('GET', '/rule?id=r')).status).toBe(500);
    expect((await who.send('GET', '/whoami')).status).toBe(200);
    expect(await usageOf(who)).toEqual({ rule: 1, api_requests: 2 });
  });

  test('a new passphrase that cannot be counted is not made, and one that comes too late is not counted', async () => {
    const who = await vault.account();
    await who.key('u');
    const before = await usageOf(who);
    const change = () => who.send('PUT', '/key', { body: { user: 'u', passphrase: PASSPHRASE } });
    failNext(vault.opened.stores.usageStore, 'add', new Error('Redis broke'));
    expect((await change()).status).toBe(500);
    expect(await usageOf(who)).toEqual(before);
    const held = holdNext(vault.opened.stores.keyStore, 'change');
    const late = change();
    await held.reached;
    expect(
      (await who.via(second.handle).send('PUT', '/key', { body: { user: 'u', passphrase: PASSPHRASE } }))
        .status,
    ).toBe(200);
    held.release();
    expect((await late).outcome).toBe('409 key_changed');
    await vault.opened.services.metering.flush();
    expect(await usageOf(who)).toMatchObject({ key: 2, api_requests: 2 });
  });

  test('at the turn of the month, each request in the month in which it was counted', async () => {
    const who = await vault.account();
    await who.key('u');
    const shop = await createCapture(who, 'u');
    const { itemStore } = vault.opened.stores;
    const before = await usageOf(who);
    failNext(itemStore, 'write', new Error('Redis broke'));
    const held = holdNext(itemStore, 'write');
    const late = capture(vault, shop, { body: { number: '1' } });
    await held.reached;
    await vault.opened.services.metering.flush();
    expect(await usageOf(who)).toMatchObject({ capture: 1 });
    try {
      clock = FEBRUARY + 1;
      held.release();
      expect((await late).status).toBe(500);
      await who.send('GET', '/luhn?number=1');
      await vault.opened.services.metering.flush();
      expect(await usageOf(who)).toEqual(before);
      expect(await usageOf(who, '2026-03')).toEqual({ utility: 1, api_requests: 1 });
    } finally {
      clock = FEBRUARY;
    }
  });

  test('what fails in the write that it is counted with is taken back, and what is written at the second try counts once', async () => {
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
      const held = holdNext(itemStore, write);
      const failing = work();
      await held.reached;
      await vault.opened.services.metering.flush();
      expect((await usageOf(who))[operation]).toBe((before[operation] ?? 0) + 1);
      held.release();
      expect((await failing).status).toBe(500);
      await vault.opened.services.metering.flush();
      expect(await usageOf(who)).toEqual(before);

      answerNext(itemStore, write, async () => ({ kind: 'closed' }));
      expect((await work()).status).toBe(200);
      await vault.opened.services.metering.flush();
      const requests = (before['api_requests'] ?? 0) + 1;
      expect(await usageOf(who)).toEqual({
        ...before,
        [operation]: (before[operation] ?? 0) + 1,
        api_requests: requests,
      });
    }
  });

  test('a stop waits for what is taken back behind a count that is still under way', async () => {
    const who = await vault.account();
    await who.key('u');
    const before = await usageOf(who);
    const { itemStore, usageStore } = vault.opened.stores;
    const held = holdNext(usageStore, 'add');
    failNext(itemStore, 'write', new Error('Redis broke'));
    const failed = await who.send('POST', '/vault?user=u', { passphrase: PASSPHRASE, body: { number: '1' } });
    expect(failed.status).toBe(500);
    await held.reached;
    const flushed = vault.opened.services.metering.flush();
    held.release();
    await flushed;
    // What is sent only now would come too late.
    const late = holdNext(usageStore, 'add');
    expect(await usageOf(who)).toEqual(before);
    late.release();
  });

  test('an account that is deleted under a request is left without counts', async () => {
    const who = await vault.account();
    await who.key('u');
    const held = holdNext(vault.opened.stores.itemStore, 'write');
    const late = who.send('POST', '/vault?user=u', { passphrase: PASSPHRASE, body: { number: '1' } });
    await held.reached;
    await vault.opened.services.metering.flush();
    expect(await usageOf(who)).toMatchObject({ store: 1 });
    await vault.opened.removeAccount(who.name);
    held.release();
    expect((await late).status).not.toBe(200);
    await vault.opened.services.metering.flush();
    expect(await vault.raw.exists(redisKeys.usage(who.aid, '2026-02'))).toBe(0);
  });

  test('a capture whose reply cannot be kept is refused, taken back, and counted once when it is repeated', async () => {
    const who = await vault.account();
    await who.key('u');
    const shop = await createCapture(who, 'u');
    const before = await usageOf(who);
    const post = () => capture(vault, shop, { body: { number: '1' }, idempotencyKey: 'kept' });
    failNext(vault.opened.stores.idempotencyStore, 'keep', new Error('Redis broke'));
    expect((await post()).status).toBe(500);
    await vault.opened.services.metering.flush();
    expect(await usageOf(who)).toEqual(before);
    expect((await post()).status).toBe(200);
    await vault.opened.services.metering.flush();
    expect(await usageOf(who)).toEqual({
      ...before,
      capture: 1,
      api_requests: (before['api_requests'] ?? 0) + 1,
    });
  });

  test('a capture that fails while counts cannot be stored either is taken back when they can', async () => {
    const who = await vault.account();
    await who.key('u');
    const shop = await createCapture(who, 'u');
    const before = await usageOf(who);
    const { itemStore, usageStore } = vault.opened.stores;
    failNext(itemStore, 'write', new Error('Redis broke'));
    const held = holdNext(itemStore, 'write');
    const late = capture(vault, shop, { body: { number: '1' } });
    await held.reached;
    await vault.opened.services.metering.flush();
    failNext(usageStore, 'add', new Error('Redis broke'));
    held.release();
    expect((await late).status).toBe(500);
    await vault.opened.services.metering.flush();
    expect((await who.send('GET', '/whoami')).status).toBe(200);
    await vault.opened.services.metering.flush();
    expect(await usageOf(who)).toEqual({ ...before, api_requests: (before['api_requests'] ?? 0) + 1 });
  });
});
