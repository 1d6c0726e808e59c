/** Events of endpoints and jobs: the last use, and subscriptions that see some keys alone. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { clientOf, makeCredential } from '../helpers/credentials.ts';
import { capture, createCapture, createRetrieve, useEndpoint } from '../helpers/endpoints.ts';
import { openProxyVault } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver, type Receiver } from '../helpers/webhook.ts';
import { subscribe } from './subscribed.ts';

const CARD = { card_number: '4111111111111111' };
const USE_MS = 16 * 60_000;
const POLL_MS = 10;

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

async function subscribed(types: readonly string[]) {
  const account = await vault.account();
  await account.key('u');
  const receiver = createReceiver(party);
  await subscribe(account, receiver, types);
  return { account, receiver };
}

/** The data of all events so far, after a round and a test event, which comes after them. */
async function told(account: AccountClient, receiver: Receiver): Promise<readonly unknown[]> {
  const [{ id } = { id: '' }] = (await account.send('GET', '/event/subscription')).as<{ id: string }[]>();
  await vault.opened.services.events.round();
  const sent = await account.send('POST', `/event/subscription/${id}/test`);
  await vault.opened.services.events.round();
  const isTest = ({ json }: { readonly json: object }) => Object(json).id === sent.as<{ id: string }>().id;
  while (
    !receiver.events().some(isTest) ||
    ((await account.send('GET', `/event/subscription/${id}`)).as<{ waiting: number }>().waiting ?? 0) > 0
  ) {
    await Bun.sleep(POLL_MS);
  }
  return receiver
    .events()
    .filter(({ json }) => json['type'] !== 'test')
    .map(({ json }) => ({ type: json['type'], ...Object(json['data']) }));
}

const makeCapture = (account: AccountClient, query: Query = {}) => createCapture(account, 'u', query);

/** Sets the fields of an endpoint as a process leaves them that dies in its last use. */
async function interrupt(id: string): Promise<void> {
  await vault.raw.hset(redisKeys.endpoint(id), 'u', '1', 't', String(Date.now()));
}

async function sweepEndpoint(account: AccountClient): Promise<void> {
  const directory = redisKeys.endpointDirectory(account.aid);
  for (const member of await vault.raw.zrange(directory, '0', '-1')) {
    await vault.raw.zadd(directory, 1, member);
  }
  await vault.opened.services.endpoints.sweep(account.aid);
}

describe('endpoint.used_up', () => {
  test('is told once, with the last of all uses at two servers', async () => {
    const { account, receiver } = await subscribed(['endpoint.used_up']);
    const second = await vault.secondServer({ proxy: {}, jobs: false });
    const { unique_id, url, secret } = await makeCapture(account, { max_uses: 5 });
    const send = (n: number, body: object) =>
      useEndpoint(n % 2 === 0 ? vault : second, 'POST', url, { secret, body, query: { reference: `r${n}` } });
    for (let n = 0; n < 4; n++) {
      expect((await send(n, CARD)).outcome).toBe('200');
    }
    expect(await told(account, receiver)).toEqual([]);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => send(n + 4, n % 3 === 0 ? { name: 'Ada' } : CARD)),
    );
    await second.close();
    // One that has no number may take the last use for a moment and give it back: then all others found none.
    if (!answers.some(({ status }) => status === 200)) {
      expect((await send(100, CARD)).outcome).toBe('200');
    }
    const data = { user: 'u', id: unique_id, actor: `endpoint/${unique_id}`, request_id: expect.any(String) };
    expect(await told(account, receiver)).toEqual([{ type: 'endpoint.used_up', ...data }]);
    await sweepEndpoint(account);
    expect(await told(account, receiver)).toHaveLength(1);
  });

  test('waits for a use that is in flight, and is not told if that has no effect', async () => {
    const { account, receiver } = await subscribed(['endpoint.*']);
    const { unique_id } = await makeCapture(account, { max_uses: 2 });
    const store = vault.opened.stores.endpointStore;
    const nonce = (await store.read(unique_id))?.nonce ?? '';
    const take = () => store.takeUse(unique_id, nonce, 2, Date.now());
    expect([await take(), await take(), await take()]).toEqual(['ok', 'last', 'used_up']);
    expect(await store.endUse(unique_id, nonce, 2)).toBe(false);
    await store.giveBackUse(unique_id, nonce);
    await sweepEndpoint(account);
    expect(await told(account, receiver)).toMatchObject([{ type: 'endpoint.created' }]);
    expect(await take()).toBe('last');
    expect(await store.endUse(unique_id, nonce, 2)).toBe(true);
  });

  test('is told by the sweep if a process has died in the last use', async () => {
    const { account, receiver } = await subscribed(['endpoint.used_up']);
    const { unique_id } = await makeCapture(account, { max_uses: 1 });
    await interrupt(unique_id);
    await sweepEndpoint(account);
    expect(await told(account, receiver)).toEqual([]);
    clockMs = USE_MS;
    try {
      await sweepEndpoint(account);
      await sweepEndpoint(account);
    } finally {
      clockMs = 0;
    }
    expect(await told(account, receiver)).toMatchObject([{ type: 'endpoint.used_up', id: unique_id }]);
  });

  test('is told of a link that was opened', async () => {
    const { account, receiver } = await subscribed(['endpoint.used_up']);
    const token = await account.store('u', CARD);
    const { unique_id, url, secret } = await createRetrieve(account, 'u', { max_uses: 1 });
    expect((await useEndpoint(vault, 'GET', url, { secret, query: { token } })).outcome).toBe('200');
    expect(await told(account, receiver)).toMatchObject([{ user: 'u', id: unique_id }]);
  });
});

describe('a subscription of a credential with keys', () => {
  test('gets the events of endpoints and jobs of its keys, and none of others or of credentials', async () => {
    const account = await vault.account();
    await account.key('u');
    await account.key('hidden');
    const maker = await makeCredential(account, ['event:write'], { keys: ['u'] });
    const receiver = createReceiver(party);
    const dead = createReceiver(party, 500);
    const types = ['endpoint.*', 'credential.*', 'job.*', 'account.*', 'certificate.*', 'key.*'];
    await subscribe(clientOf(vault.handle, account, maker), receiver, types);
    for (const user of ['hidden', 'u']) {
      const made = await account.send('POST', '/capture', {
        query: { user, max_uses: 1, unique_id: `${account.name}-${user}` },
        passphrase: PASSPHRASE,
        body: { webhook: { ...dead.webhook, max_attempts: 1 } },
      });
      await capture(vault, made.as(), { body: CARD });
      await account.send('DELETE', `/capture/${account.name}-${user}`);
      await createRetrieve(account, user, { ttl: '1m', unique_id: `${account.name}-${user}-r` });
    }
    await makeCredential(account, ['vault:list']);
    while (dead.events().length < 2) {
      await Bun.sleep(POLL_MS);
    }
    clockMs = 25 * 60 * 60_000;
    try {
      await sweepEndpoint(account);
    } finally {
      clockMs = 0;
    }
    const events = (await told(account, receiver)).map((one) => Object(one));
    expect(new Set(events.map(({ user }) => user))).toEqual(new Set(['u']));
    expect(events.map(({ type }) => type).toSorted()).toEqual([
      ...['endpoint.created', 'endpoint.created', 'endpoint.deleted', 'endpoint.expired', 'endpoint.used_up'],
      'job.failed',
    ]);
    expect(events.find(({ type }) => type === 'endpoint.expired')).toMatchObject({
      ...{ id: `${account.name}-u-r`, actor: 'vault' },
    });
  });
});
