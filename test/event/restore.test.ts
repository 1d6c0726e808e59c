/** Events in a backup: each change in the copy is told by the restored vault, unless it was told before. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { AccountClient } from '../helpers/clients.ts';
import { createCapture } from '../helpers/endpoints.ts';
import { localProxy } from '../helpers/proxy.ts';
import { openRaw } from '../helpers/redis.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver, type Receiver } from '../helpers/webhook.ts';
import { masterKeyOf, useRestores } from '../maintenance/restores.ts';
import { shown, subscribe } from './subscribed.ts';

setDefaultTimeout(60_000);
const POLL_MS = 10;
const place = useRestores();
let party: ThirdParty;
let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  party = await startThirdParty();
  // No job is sent, so that deliveries stay as they are.
  vault = await place.open({
    ...{ masterKey: masterKeyOf(), alone: true, jobs: false },
    proxy: await localProxy(),
  });
});
afterAll(() => party.stop());

const numberOf = (n: number): string => String(4_000_000 + n);
async function store(user: string, from: number, count: number): Promise<readonly string[]> {
  const numbers = Array.from({ length: count }, (_, n) => ({ number: numberOf(from + n) }));
  return Promise.all(numbers.map((number) => account.store(user, number)));
}
const tokensOf = (receiver: Receiver): readonly unknown[] =>
  receiver.events().map(({ json }) => Object(json['data']).token ?? Object(json['data']).id);

/** What a round and the sending of all deliveries of a restored vault give. */
async function sendAll(copy: TestVault, id: string): Promise<void> {
  const { subscriptions, events, jobs } = copy.opened.services;
  await subscriptions.sweep(account.aid);
  await events.round(true);
  jobs.start();
  await jobs.resume(account.aid);
  while ((await shown(account.via(copy.handle), id)).waiting > 0) {
    await Bun.sleep(POLL_MS);
  }
}

test('changes whose events were queued, were not, or were only announced are told after a restore', async () => {
  account = await vault.account();
  await account.key('u');
  const receiver = createReceiver(party);
  const { id } = await subscribe(account, receiver, ['item.created', 'endpoint.created', 'key.created']);
  const queued = await store('u', 0, 20);
  await vault.opened.services.events.round();
  expect((await shown(account, id)).waiting).toBe(20);
  const unread = await store('u', 20, 20);
  const { unique_id } = await createCapture(account, 'u', {});
  await account.key('later');
  const { file } = await place.backup();
  expect(receiver.events()).toHaveLength(0);
  await place.restored(file, async (copy) => {
    const before = await shown(account.via(copy.handle), id);
    expect(before).toMatchObject({ waiting: 20, types: ['item.created', 'endpoint.created', 'key.created'] });
    await sendAll(copy, id);
    const told = tokensOf(receiver).filter((one) => one !== undefined);
    expect(told.toSorted()).toEqual([...queued, ...unread, unique_id].toSorted());
    const keys = receiver.events().filter(({ json }) => json['type'] === 'key.created');
    expect(keys.map(({ json }) => Object(json['data']).user)).toEqual(['later']);
    expect(await openRaw(place.empty).zcard(redisKeys.waitingEvents(account.aid, id))).toBe(0);
  });
});

test('each item of a copy has its event, though events are queued while it is made', async () => {
  account = await vault.account();
  await account.key('u');
  const receiver = createReceiver(party);
  const { id } = await subscribe(account, receiver, ['item.created']);
  const first = await store('u', 100, 40);
  const { events } = vault.opened.services;
  const { recordStore } = vault.opened.stores;
  // Events are read whenever the copy goes on: what it has read by then moves.
  const entries = recordStore.entries.bind(recordStore);
  Reflect.set(recordStore, 'entries', (...given: Parameters<typeof entries>) => {
    void events.round(true);
    return entries(...given);
  });
  const late = store('u', 200, 40);
  const { file } = await place.backup();
  Reflect.set(recordStore, 'entries', entries);
  await late;
  await place.restored(file, async (copy) => {
    const there = (
      await account.via(copy.handle).send('GET', '/vault', { query: { user: 'u', limit: -1 } })
    ).as<Readonly<Record<string, readonly { token: string }[]>>>()['u'];
    await sendAll(copy, id);
    const told = new Set(tokensOf(receiver));
    expect(there?.length).toBeGreaterThanOrEqual(first.length);
    expect(there?.map(({ token }) => token).filter((token) => !told.has(token))).toEqual([]);
  });
});
