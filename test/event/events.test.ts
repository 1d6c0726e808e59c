/** Event subscriptions: what they tell, to whom, and that nothing is lost on the way. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { webhooks } from '../../sdk/index.ts';
import type { EventWebhook } from '../../sdk/transport/types.ts';
import type { EventStore } from '../../server/event/store.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { capture, createCapture } from '../helpers/endpoints.ts';
import { holdNext } from '../helpers/hold.ts';
import { openProxyVault } from '../helpers/proxy.ts';
import { type Act, startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver, expectedSignature } from '../helpers/webhook.ts';
import { type Shown, shown, subscribe, typesOf } from './subscribed.ts';

const CARD = { card_number: '4111111111111111', holder: 'Ada' };
const POLL_MS = 10;
const DAY_MS = 86_400_000;
/** More than the queue has of a subscription at once. */
const MANY = 400;

let vault: TestVault;
let party: ThirdParty;
let clockMs = 0;

beforeAll(async () => {
  party = await startThirdParty();
  vault = await openProxyVault({ alone: true, now: () => Date.now() + clockMs });
});
afterAll(async () => {
  await vault.close();
  party.stop();
});

function round(at = vault): Promise<void> {
  return at.opened.services.events.round();
}

/** Stores items, each with another number. */
async function storeMany(account: AccountClient, user: string, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => ({ data: { number: String(5_000_000 + n) } }));
  const body = { user, items };
  const answer = await account.send('POST', '/vault/batch', { passphrase: PASSPHRASE, body });
  expect(answer.outcome).toBe('200');
}

async function newAccount(...acts: Act[]) {
  const account = await vault.account();
  await account.key('u');
  return { account, receiver: createReceiver(party, ...acts) };
}

/** Lets items with a lifetime of a minute expire, by this clock and that of Redis. */
async function expireAll(account: AccountClient): Promise<void> {
  const kid = await vault.kidOf(account, 'u');
  for (const key of await vault.raw.keys(`{${kid}.*}e`)) {
    for (const token of await vault.raw.zrange(key, '0', '-1')) {
      await vault.raw.zadd(key, 1, token);
    }
  }
  clockMs += 10 * 60_000;
  try {
    await vault.opened.services.expiry.sweep(account.aid);
  } finally {
    clockMs = 0;
  }
}

describe('a subscription', () => {
  test('gets what happens to items, signed, and without their data', async () => {
    const { account, receiver } = await newAccount();
    await subscribe(account, receiver, ['item.*'], { metadata: { shop: 'eu' } });
    const token = await account.store('u', CARD, { reference: 'r1' });
    await round();
    const { json, received, id } = await receiver.next();
    expect(json).toMatchObject({
      type: 'item.created',
      data: { user: 'u', token, reference: 'r1', actor: `account/${account.name}` },
      metadata: { shop: 'eu' },
    });
    expect(id).toBe(String(json['id']));
    expect(received.header('webhook-signature')).toBe(expectedSignature(receiver.webhook.secret, received));
    const headers = { get: received.header };
    const event = await webhooks.verify<object, EventWebhook>(
      headers,
      received.text,
      receiver.webhook.secret,
    );
    expect(event.data.token).toBe(token);
    expect(received.text).not.toContain(CARD.card_number);

    await account.store('u', CARD, { reference: 'r1' });
    await account.open('u', token, { reference: 'r1' });
    await account.send('DELETE', '/vault', { query: { user: 'u', token, reference: 'r1' } });
    await round();
    expect(await typesOf(receiver, 3)).toEqual(['item.created', 'item.updated', 'item.deleted']);
    const deleted = receiver.events().at(-1)?.json;
    expect(deleted).toMatchObject({ data: { user: 'u', token, reference: 'r1' } });
  });

  test('gets readings only if it names them', async () => {
    const { account, receiver } = await newAccount();
    await subscribe(account, receiver, ['item.read']);
    const token = await account.store('u', CARD);
    await account.open('u', token);
    const wrong = await account.send('GET', '/vault', {
      query: { user: 'u', token },
      passphrase: 'another passphrase',
    });
    expect(wrong.status).toBe(403);
    await round();
    expect(await typesOf(receiver, 1)).toEqual(['item.read']);
    await round();
    expect(receiver.events()).toHaveLength(1);
  });

  test('gets captures with their endpoint, erased items each, and expired ones', async () => {
    const { account, receiver } = await newAccount();
    const endpoint = await createCapture(account, 'u');
    await subscribe(account, receiver, ['item.created', 'item.deleted', 'item.expired']);
    await capture(vault, endpoint, { body: CARD, query: { reference: 'many' } });
    await account.store('u', { ...CARD, card_number: '5555555555554444' }, { reference: 'many' });
    await account.store('u', { ...CARD, card_number: '378282246310005' }, { ttl: '1m' });
    await account.send('DELETE', '/vault', { query: { user: 'u', reference: 'many', all: true } });
    await round();
    const types = await typesOf(receiver, 5);
    expect(types.toSorted()).toEqual([...Array(3).fill('item.created'), ...Array(2).fill('item.deleted')]);
    const captured = receiver.events().filter(({ json }) => 'endpoint' in Object(json['data']));
    expect(captured).toHaveLength(1);
    await expireAll(account);
    await round();
    expect((await typesOf(receiver, 6)).at(-1)).toBe('item.expired');
    expect(receiver.events().at(-1)?.json).toMatchObject({ data: { user: 'u', actor: 'vault' } });
  });

  test('gets what happens to keys and credentials from the security log, and not what was before', async () => {
    const { account, receiver } = await newAccount();
    await subscribe(account, receiver, ['key.*', 'credential.created']);
    await account.key('second');
    await account.send('POST', '/credential', { body: { name: 'c', scopes: ['vault:list'] } });
    await account.send('DELETE', '/key', { query: { user: 'second' } });
    await round();
    const types = await typesOf(receiver, 3);
    expect(types.toSorted()).toEqual(['credential.created', 'key.created', 'key.deleted']);
    const created = receiver.events().find(({ json }) => json['type'] === 'key.created');
    expect(created?.json).toMatchObject({ data: { user: 'second', actor: `account/${account.name}` } });
  });

  test('gets the events of keys that are created later', async () => {
    const { account, receiver } = await newAccount();
    await subscribe(account, receiver, ['item.created']);
    await account.key('later');
    await account.store('later', CARD);
    await round();
    expect((await receiver.next()).json).toMatchObject({ data: { user: 'later' } });
  });

  test('is tested with an event that has no data', async () => {
    const { account, receiver } = await newAccount();
    const { id } = await subscribe(account, receiver, ['key.deleted']);
    const sent = await account.send('POST', `/event/subscription/${id}/test`);
    await round();
    const { json } = await receiver.next();
    expect(json).toMatchObject({ id: sent.as<{ id: string }>().id, type: 'test', data: {} });
  });

  test('is told of jobs that fail, and not of its own deliveries', async () => {
    const { account, receiver } = await newAccount();
    const dead = createReceiver(party, 500);
    await subscribe(account, receiver, ['job.failed']);
    const gone = await subscribe(account, dead, ['key.created'], { max_attempts: 1 });
    const made = await account.send('POST', '/capture', {
      query: { user: 'u' },
      passphrase: PASSPHRASE,
      body: { webhook: { ...dead.webhook, max_attempts: 1 } },
    });
    await capture(vault, made.as(), { body: CARD });
    await account.key('third');
    await round();
    while (dead.events().length < 2 || (await shown(account, gone.id)).waiting > 0) {
      await Bun.sleep(POLL_MS);
      await round();
    }
    expect(await typesOf(receiver, 1)).toEqual(['job.failed']);
    await round();
    expect(receiver.events()).toHaveLength(1);
  });
});

describe('subscriptions', () => {
  test('are at most 20 of an account, and are listed, replaced and deleted', async () => {
    const { account, receiver } = await newAccount();
    const made = [];
    for (let i = 0; i < 20; i++) {
      made.push(await subscribe(account, receiver, ['item.*']));
    }
    const body = { ...receiver.webhook, types: ['item.*'] };
    const over = await account.send('POST', '/event/subscription', { body });
    expect(over.outcome).toBe('409 subscriptions_full');
    const listed = (await account.send('GET', '/event/subscription')).as<Shown[]>();
    expect(listed.map(({ id }) => id).toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    const path = `/event/subscription/${made[0]?.id}`;
    const replaced = await account.send('PUT', path, { body: { ...body, types: ['key.created'] } });
    expect(replaced.as<Shown>().types).toEqual(['key.created']);
    expect(replaced.text).not.toContain(receiver.webhook.secret);
    expect((await account.send('DELETE', path)).outcome).toBe('200');
    expect((await account.send('GET', path)).outcome).toBe('404 subscription_not_found');
    expect((await account.send('DELETE', path)).outcome).toBe('404 subscription_not_found');
    expect((await account.send('PUT', path, { body })).outcome).toBe('404 subscription_not_found');
  });

  test('are refused with unknown types, and with a URL that may not be reached', async () => {
    const { account, receiver } = await newAccount();
    const post = (body: object) => account.send('POST', '/event/subscription', { body });
    const { webhook } = receiver;
    const unknown = await post({ ...webhook, types: ['item.stored'] });
    expect([unknown.outcome, unknown.field]).toEqual(['400 invalid_request', 'body.types[0]']);
    expect((await post({ ...webhook, types: [] })).field).toBe('body.types');
    const inside = await post({ url: 'https://10.0.0.1/', types: ['key.*'] });
    expect([inside.outcome, inside.field]).toEqual(['400 destination_refused', 'body.url']);
  });

  test('of a credential have its keys alone, its hosts, and end with it', async () => {
    const { account, receiver } = await newAccount();
    await account.key('hidden');
    const credential = (
      await account.send('POST', '/credential', {
        body: { name: 'c', scopes: ['event:write'], keys: ['u'], hosts: ['127.0.0.1', 'localhost'] },
      })
    ).as<{ id: string; secret: string }>();
    const headers = { Authorization: `Bearer ${credential.secret}` };
    const post = (body: object) => account.send('POST', '/event/subscription', { body, headers });
    const types = ['item.created', 'credential.created'];
    expect((await post({ url: 'https://shop.example.com/', types })).outcome).toBe('403 not_allowed');
    expect((await post({ ...receiver.webhook, types })).outcome).toBe('200');
    await account.store('hidden', CARD);
    await account.store('u', CARD);
    await account.send('POST', '/credential', { body: { name: 'd', scopes: ['vault:list'] } });
    await round();
    expect((await receiver.next()).json).toMatchObject({ type: 'item.created', data: { user: 'u' } });
    await account.send('DELETE', `/credential/${credential.id}`);
    expect((await account.send('GET', '/event/subscription')).json).toEqual([]);
    await account.store('u', { ...CARD, card_number: '5555555555554444' });
    await round();
    await vault.opened.services.subscriptions.sweep(account.aid);
    expect(await vault.raw.hlen(`{a:${account.aid}}es`)).toBe(0);
    expect(receiver.events()).toHaveLength(1);
  });

  test('that a credential with keys replaces show nothing of other keys, of what waits either', async () => {
    const { account, receiver } = await newAccount(500);
    await account.key('hidden');
    const { id } = await subscribe(account, receiver, ['item.created']);
    await account.store('hidden', CARD);
    await account.store('u', CARD);
    await round();
    while ((await shown(account, id)).failing_since === undefined) {
      await Bun.sleep(POLL_MS);
    }
    const own = createReceiver(party);
    const limited = await credentialClient(vault.handle, account, ['event:write'], { keys: ['u'] });
    const body = { ...own.webhook, types: ['item.created'] };
    expect((await limited.send('PUT', `/event/subscription/${id}`, { body })).outcome).toBe('200');
    while ((await shown(account, id)).waiting > 0) {
      await Bun.sleep(POLL_MS);
    }
    expect(own.events().map(({ json }) => json['data'])).toMatchObject([{ user: 'u' }]);
  });

  test('that are made while a sweep finds none leave their account among those with some', async () => {
    const { account, receiver } = await newAccount();
    const { id } = await subscribe(account, receiver, ['item.*']);
    await account.send('DELETE', `/event/subscription/${id}`);
    const { subscriptions } = vault.opened.services;
    const held = holdNext(Reflect.get(subscriptions, 'store') as EventStore, 'leave');
    const sweeping = subscriptions.sweep(account.aid);
    await held.reached;
    await subscribe(account, receiver, ['item.*']);
    held.release();
    await sweeping;
    expect(await vault.raw.sismember('{events}', account.aid)).toBe(1);
  });

  test('with a damaged record stop none of the others, and stay for their owner to remove', async () => {
    const { account, receiver } = await newAccount();
    const { id } = await subscribe(account, receiver, ['item.created']);
    const other = createReceiver(party);
    await subscribe(account, other, ['item.created', 'endpoint.created']);
    const name = redisKeys.subscriptions(account.aid);
    await vault.raw.hset(name, id, 'damaged');
    await createCapture(account, 'u');
    await account.store('u', CARD);
    await round();
    expect((await typesOf(other, 2)).toSorted()).toEqual(['endpoint.created', 'item.created']);
    expect((await account.send('GET', '/proxy/job', { query: { kind: 'event' } })).outcome).toBe('200');
    await vault.opened.services.subscriptions.sweep(account.aid);
    expect(await vault.raw.hget(name, id)).toBe('damaged');
    expect((await account.send('GET', `/event/subscription/${id}`)).outcome).toBe('500 integrity_failed');
    expect((await account.send('DELETE', `/event/subscription/${id}`)).outcome).toBe('200');
  });

  test('cost an account nothing once they are gone', async () => {
    const { account, receiver } = await newAccount();
    const { id } = await subscribe(account, receiver, ['item.*']);
    await account.send('DELETE', `/event/subscription/${id}`);
    await round();
    await vault.opened.services.subscriptions.sweep(account.aid);
    await account.store('u', CARD);
    const kid = await vault.kidOf(account, 'u');
    expect(await vault.raw.keys(`{${kid}.*}w`)).toEqual([]);
    expect(await vault.raw.sismember('{events}', account.aid)).toBe(0);
  });
});

describe('a receiver that fails', () => {
  test('is called one event at a time, gets all of them later, and its jobs are listed', async () => {
    const { account, receiver } = await newAccount(500, 500, 200);
    const { id } = await subscribe(account, receiver, ['item.created']);
    for (const card_number of ['4111111111111111', '5555555555554444', '378282246310005']) {
      await account.store('u', { ...CARD, card_number });
    }
    await round();
    expect(await typesOf(receiver, 3)).toEqual(Array(3).fill('item.created'));
    while ((await shown(account, id)).waiting > 0) {
      await Bun.sleep(POLL_MS);
    }
    expect((await shown(account, id)).failing_since).toBeUndefined();
    const jobs = (await account.send('GET', '/proxy/job', { query: { kind: 'event' } })).as<
      { status: string; webhook: { url: string } }[]
    >();
    expect(jobs.map(({ status, webhook }) => [status, webhook.url])).toEqual(
      Array(3).fill(['done', receiver.webhook.url]),
    );
  });

  test('has few deliveries in the queue, whatever waits, and gets all once it is back', async () => {
    let status = 500;
    const { account, receiver } = await newAccount(() => status);
    const { id } = await subscribe(account, receiver, ['item.created']);
    await account.store('u', CARD);
    await round();
    while ((await shown(account, id)).failing_since === undefined) {
      await Bun.sleep(POLL_MS);
    }
    await storeMany(account, 'u', MANY - 1);
    await round();
    const waiting = redisKeys.waitingEvents(account.aid, id);
    expect(await vault.raw.zcard(waiting)).toBeGreaterThanOrEqual(MANY - 1);
    expect(await vault.raw.zcount(waiting, '(0', '+inf')).toBeLessThanOrEqual(4);
    status = 200;
    expect(await typesOf(receiver, MANY)).toEqual(Array(MANY).fill('item.created'));
    while ((await shown(account, id)).waiting > 0) {
      await Bun.sleep(POLL_MS);
    }
  });

  test('that has as many waiting deliveries as the queue does not take is looked after by the sweep', async () => {
    const { account, receiver } = await newAccount();
    const { id } = await subscribe(account, receiver, ['item.created']);
    // As a restored copy has them, or servers that have died: none is in the queue.
    await vault.raw.hset(redisKeys.eventState(account.aid), `f:${id}`, Date.now());
    const key = redisKeys.waitingEvents(account.aid, id);
    await vault.raw.zadd(key, 1, 'a', 1, 'b', 1, 'c', 1, 'd');
    await storeMany(account, 'u', 8);
    await round();
    await vault.raw.zrem(key, 'a', 'b', 'c', 'd');
    expect(await vault.raw.zcount(key, '-inf', '(0')).toBe(8);
    expect(receiver.events()).toHaveLength(0);
    await vault.opened.services.jobs.resume(account.aid);
    expect(await typesOf(receiver, 8)).toEqual(Array(8).fill('item.created'));
  });

  test('of a deleted subscription leaves no delivery', async () => {
    const { account, receiver } = await newAccount(500);
    const { id } = await subscribe(account, receiver, ['item.created']);
    await storeMany(account, 'u', 300);
    await round();
    const directory = redisKeys.eventJobDirectory(account.aid);
    expect(await vault.raw.zcard(directory)).toBe(300);
    await account.send('DELETE', `/event/subscription/${id}`);
    while ((await vault.raw.zcard(directory)) > 0) {
      await vault.opened.services.jobs.resume(account.aid);
      await Bun.sleep(POLL_MS);
    }
    expect(await vault.raw.zcard(redisKeys.waitingEvents(account.aid, id))).toBe(0);
  });

  test('is paused after three days, says so, and resumes when it is replaced', async () => {
    const { account, receiver } = await newAccount(500);
    const { id } = await subscribe(account, receiver, ['item.created'], { max_attempts: 1 });
    await account.store('u', CARD);
    await round();
    while ((await shown(account, id)).failing_since === undefined) {
      await Bun.sleep(POLL_MS);
    }
    clockMs += 3 * DAY_MS + 1;
    try {
      await account.store('u', { ...CARD, card_number: '5555555555554444' });
      await round();
      while ((await shown(account, id)).paused_since === undefined) {
        await Bun.sleep(POLL_MS);
      }
      // The second store was before the pause, or after it.
      const { left_out: before = 0 } = await shown(account, id);
      await account.store('u', { ...CARD, card_number: '378282246310005' });
      await round();
      expect(await shown(account, id)).toMatchObject({ paused_because: 'failing', left_out: before + 1 });
      const body = { ...receiver.webhook, types: ['item.created'] };
      const resumed = await account.send('PUT', `/event/subscription/${id}`, { body });
      expect(resumed.as<Shown>().paused_since).toBeUndefined();
      expect(resumed.as<Shown>().left_out).toBeUndefined();
    } finally {
      clockMs = 0;
    }
  });

  test('is paused with 100,000 events that wait', async () => {
    const { account, receiver } = await newAccount();
    const { id } = await subscribe(account, receiver, ['item.created']);
    const waiting = Array.from({ length: 100_000 }, (_, i) => [i, `x${i}`]).flat();
    for (let at = 0; at < waiting.length; at += 20_000) {
      await vault.raw.zadd(
        `{a:${account.aid}}ew:${id}`,
        ...(waiting.slice(at, at + 20_000) as [number, string]),
      );
    }
    await account.store('u', CARD);
    await round();
    expect(await shown(account, id)).toMatchObject({ paused_because: 'full', left_out: 1, waiting: 100_000 });
    await account.store('u', { ...CARD, card_number: '5555555555554444' });
    await vault.opened.services.events.round(true);
    expect((await shown(account, id)).left_out).toBe(2);
    // Two servers that have read the same change.
    await account.store('u', { ...CARD, card_number: '378282246310005' });
    const second = await vault.secondServer();
    const all = Promise.withResolvers<void>();
    let queuing = 0;
    const spies = [vault, second].map(({ opened: { services } }) => {
      const accept = services.jobs.acceptEvents.bind(services.jobs);
      return spyOn(services.jobs, 'acceptEvents').mockImplementation(async (aid, jobs) => {
        queuing += 1;
        await (queuing < 2 ? all.promise : all.resolve());
        return accept(aid, jobs);
      });
    });
    await Promise.all([vault, second].map(({ opened: { services } }) => services.events.round(true)));
    expect(queuing).toBeGreaterThanOrEqual(2);
    for (const spy of spies) {
      spy.mockRestore();
    }
    await second.close();
    expect((await shown(account, id)).left_out).toBe(3);
    expect(vault.events.filter((event) => event['subscription'] === id)).toMatchObject([
      { event: 'event_subscription_paused', because: 'full' },
    ]);
    const figures = vault.opened.services.events.figures();
    expect(figures?.paused).toBeGreaterThanOrEqual(1);
    expect(figures?.waiting).toBeGreaterThanOrEqual(100_000);
    expect((await account.send('DELETE', `/event/subscription/${id}`)).outcome).toBe('200');
    await vault.opened.services.events.round(true);
    expect(vault.opened.services.events.figures()?.waiting).toBeLessThan(100_000);
    expect(receiver.events()).toHaveLength(0);
  });
});

describe('a round', () => {
  test('tells a subscription that is made while it runs of all that follows', async () => {
    const own = await openProxyVault({ alone: true });
    const account = await own.account();
    await account.key('u');
    await subscribe(account, createReceiver(party), ['item.created']);
    const held = holdNext(own.opened.stores.auditStore, 'readMarks');
    const running = round(own);
    await held.reached;
    const receiver = createReceiver(party);
    await subscribe(account, receiver, ['item.created']);
    await account.store('u', CARD);
    held.release();
    await running;
    await round(own);
    expect(await typesOf(receiver, 1)).toEqual(['item.created']);
    await own.close();
  });
});

describe('two servers', () => {
  test('queue an event once, and one finds what the other has left', async () => {
    const { account, receiver } = await newAccount();
    const other = await vault.secondServer({ proxy: {}, jobs: false });
    try {
      await subscribe(account, receiver, ['item.created']);
      const there = account.via(other.handle);
      await there.store('u', CARD);
      await Promise.all([round(), round(other)]);
      await vault.opened.services.events.round(true);
      expect(await typesOf(receiver, 1)).toEqual(['item.created']);
      expect(receiver.events()).toHaveLength(1);
    } finally {
      await other.close();
    }
  });
});
