/** Suspended accounts, and rates of accounts, over two servers of one vault. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AccountClient, type Answer, createAccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { commandJson } from '../helpers/command.ts';
import { credentialClient, operatorClient } from '../helpers/credentials.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import {
  acceptedId,
  CARD,
  type Item,
  jobsDone,
  newItem,
  openProxyVault,
  proxyPost,
  requestTo,
} from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver } from '../helpers/webhook.ts';

/** Longer than what waits in the queue takes to be taken out of it. */
const SETTLED_MS = 500;

let vault: TestVault;
let second: TestVault;
let party: ThirdParty;
let operator: AccountClient;

beforeAll(async () => {
  party = await startThirdParty();
  vault = await openProxyVault({ alone: true });
  second = await vault.secondServer();
  operator = await operatorClient(vault);
});
afterAll(async () => {
  await second.close();
  await vault.close();
  party.stop();
});

function suspend({ name }: AccountClient): Promise<Answer> {
  return operator.send('POST', `/account/${name}/suspend`);
}
function resume({ name }: AccountClient): Promise<Answer> {
  return operator.send('POST', `/account/${name}/resume`);
}

describe('a suspended account', () => {
  test('is refused on both servers at once wherever its secrets are right, until it is resumed', async () => {
    const { account, token } = await newItem(vault);
    const credential = await credentialClient(vault.handle, account, ['key:read']);
    const takes = await createCapture(account, 'u');
    const gives = await createRetrieve(account, 'u');
    const ways: Readonly<Record<string, (at: TestVault) => Promise<Answer>>> = {
      password: ({ handle }) => account.via(handle).send('GET', '/whoami'),
      reading: ({ handle }) =>
        account.via(handle).send('GET', '/vault', { query: { user: 'u', token }, passphrase: PASSPHRASE }),
      credential: ({ handle }) => credential.via(handle).send('GET', '/key'),
      scope: ({ handle }) => credential.via(handle).send('GET', '/audit'),
      capture: (at) => capture(at, takes, { body: CARD }),
      retrieve: (at) => retrieve(at, gives, { query: { token } }),
    };
    const outcomes = async (): Promise<Readonly<Record<string, string>>> =>
      Object.fromEntries(
        await Promise.all(
          [vault, second].flatMap((at, i) =>
            Object.entries(ways).map(async ([name, send]) => [`${name} ${i}`, (await send(at)).outcome]),
          ),
        ),
      );
    const before = await outcomes();
    expect(new Set(Object.values(before))).toEqual(new Set(['200', '403 not_allowed']));

    expect((await suspend(account)).json).toMatchObject({ name: account.name, suspended: true });
    expect(new Set(Object.values(await outcomes()))).toEqual(new Set(['403 account_suspended']));
    expect((await suspend(account)).outcome).toBe('200');

    expect((await resume(account)).json).toMatchObject({ suspended: false });
    expect(await outcomes()).toEqual(before);
    expect((await resume(account)).outcome).toBe('200');
  });

  test('is not told from others by a wrong secret', async () => {
    const account = await vault.account();
    await account.key('u');
    const made = await createCapture(account, 'u');
    await suspend(account);
    const wrong = createAccountClient(second.handle, { ...account, password: 'wrong' });
    expect((await wrong.send('GET', '/whoami')).outcome).toBe('401 unauthenticated');
    for (const secret of [undefined, 'wrong', `${made.secret}x`]) {
      expect((await capture(second, made, { body: CARD, secret })).outcome).toBe('403 endpoint_refused');
    }
    const bearer = { authorization: `Bearer vak1_${'A'.repeat(43)}` };
    expect((await account.send('GET', '/whoami', { headers: bearer })).outcome).toBe('401 unauthenticated');
  });

  test('has its sign-ins and the uses of its endpoints in its log, as refused', async () => {
    const account = await vault.account();
    await account.key('u');
    const made = await createCapture(account, 'u');
    await suspend(account);
    await account.via(second.handle).send('GET', '/whoami');
    await account.send('DELETE', '/key', { query: { user: 'u' } });
    await capture(vault, made, { body: CARD });
    await resume(account);
    const query = { outcome: 'account_suspended' };
    const entries = (await account.send('GET', '/audit', { query })).as<
      readonly { action: string; actor: string }[]
    >();
    const owner = `account/${account.name}`;
    expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
      ['endpoint.use', `endpoint/${made.unique_id}`],
      ['key.delete', owner],
      ['sign_in', owner],
    ]);
  });

  test('keeps its rights to itself: others are served', async () => {
    const account = await vault.account();
    const other = await vault.account();
    await suspend(account);
    expect((await other.send('GET', '/whoami')).outcome).toBe('200');
    expect((await operator.send('GET', '/account')).outcome).toBe('200');
  });

  test('can be suspended and resumed by the command line', async () => {
    const account = await vault.account();
    const set = (suspended: boolean) =>
      commandJson<{ suspended: boolean }>(
        vault,
        ...['account', 'set', account.name, `--suspended=${suspended}`],
      );
    expect((await set(true)).suspended).toBe(true);
    expect((await account.via(second.handle).send('GET', '/whoami')).outcome).toBe('403 account_suspended');
    expect((await set(false)).suspended).toBe(false);
    expect((await account.via(second.handle).send('GET', '/whoami')).outcome).toBe('200');
  });
});

/** Accepts a request whose first attempt fails until `party` is told otherwise. */
async function accept(item: Item, path: string, receiver: { readonly webhook: object }): Promise<string> {
  return acceptedId(
    await proxyPost(item, { request: requestTo(party.url(path)), webhook: receiver.webhook }),
  );
}

describe('jobs of a suspended account', () => {
  test('wait with their attempts, cost the queue nothing, and go on when it is resumed', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party);
    // The first attempt fails, so that the job waits for its next one while the account is suspended.
    const { promise: isSuspended, resolve } = Promise.withResolvers<void>();
    party.script(
      '/waits',
      async () => {
        await isSuspended;
        return 503;
      },
      200,
    );
    const id = await accept(item, '/waits', receiver);
    await party.call('/waits');
    await suspend(item.account);
    resolve();
    await Bun.sleep(SETTLED_MS);
    expect([party.calls('/waits').length, receiver.events().length]).toEqual([1, 0]);
    expect(await vault.opened.services.jobs.queued()).toBe(0);
    // Neither a sweep nor another server sends it.
    await Promise.all([vault.opened.sweep(), second.opened.sweep()]);
    await Bun.sleep(SETTLED_MS);
    expect([party.calls('/waits').length, await vault.opened.services.jobs.queued()]).toEqual([1, 0]);

    await resume(item.account);
    const { json } = await receiver.next();
    expect(json).toMatchObject({ status_code: 200 });
    await jobsDone(vault, item.account);
    const job = (await item.account.send('GET', `/proxy/job/${id}`)).as<{ attempts: readonly object[] }>();
    expect([party.calls('/waits').length, job.attempts.length]).toEqual([2, 2]);
  });

  test('tell their webhook after the resume, and only what was being sent is completed', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party);
    const { promise: isSuspended, resolve } = Promise.withResolvers<void>();
    party.script('/completed', async () => {
      await isSuspended;
      return { status: 201, body: '{"id":"paid"}' };
    });
    await accept(item, '/completed', receiver);
    await party.call('/completed');
    await suspend(item.account);
    resolve();
    await Bun.sleep(SETTLED_MS);
    expect(receiver.events()).toEqual([]);
    await resume(item.account);
    expect((await receiver.next()).json).toMatchObject({ status_code: 201 });
    expect(party.calls('/completed')).toHaveLength(1);
  });

  test('that were many all go on, whatever steps see the suspension at the same moment', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party);
    party.script('/many', 200);
    let accepted = 0;
    for (let round = 0; round < 3; round++) {
      const accepting = Array.from({ length: 40 }, () => accept(item, '/many', receiver));
      const [results] = await Promise.all([Promise.allSettled(accepting), suspend(item.account)]);
      accepted += results.filter(({ status }) => status === 'fulfilled').length;
      await resume(item.account);
      await jobsDone(vault, item.account);
    }
    expect(new Set(receiver.events().map(({ id }) => id)).size).toBe(accepted);
    expect(party.calls('/many')).toHaveLength(accepted);
    while ((await vault.opened.services.jobs.queued()) !== 0) {
      await Bun.sleep(10);
    }
  });

  test('deliver events after the resume', async () => {
    const { account } = await newItem(vault);
    const receiver = createReceiver(party);
    const body = { ...receiver.webhook, types: ['item.created'] };
    expect((await account.send('POST', '/event/subscription', { body })).outcome).toBe('200');
    await account.store('u', { ...CARD, card_number: '5555555555554444' });
    await suspend(account);
    await vault.opened.services.events.round();
    await Bun.sleep(SETTLED_MS);
    expect(receiver.events()).toEqual([]);
    await resume(account);
    expect((await receiver.next()).json).toMatchObject({ type: 'item.created' });
  });
});

describe('the rate of an account', () => {
  test('counts its requests and the uses of its endpoints over both servers, and those of no other', async () => {
    const name = 'rated';
    const made = await operator.send('POST', '/account', { body: { name, rate: '6/h' } });
    const { password } = made.as<{ password: string }>();
    const aid = (await vault.opened.services.accounts.lookUp(name))?.aid ?? '';
    const account = createAccountClient(vault.handle, { name, password, aid });
    await account.key('u');
    const endpoint = await createCapture(account, 'u');
    const answers = [];
    for (let n = 0; n < 2; n++) {
      answers.push(await account.via(second.handle).send('GET', '/whoami'));
      answers.push(await capture(vault, endpoint, { body: CARD }));
    }
    expect(answers.map(({ outcome }) => outcome)).toEqual(Array(4).fill('200'));
    const over = await Promise.all([
      account.send('GET', '/whoami'),
      account.via(second.handle).send('GET', '/key'),
      capture(second, endpoint, { body: CARD }),
    ]);
    expect(over.map(({ outcome }) => outcome)).toEqual(Array(3).fill('429 rate_limited'));
    expect(Number(over[0]?.headers.get('retry-after'))).toBeWithin(500, 601);
    expect((await (await vault.account()).send('GET', '/whoami')).outcome).toBe('200');

    const change = (rate: string | null): Promise<Answer> =>
      operator.send('PATCH', `/account/${name}`, { body: { rate } });
    await change(null);
    expect((await account.via(second.handle).send('GET', '/whoami')).outcome).toBe('200');
    const { rate } = await commandJson<{ rate: string }>(vault, 'account', 'set', name, '--rate', '1000/s');
    expect(rate).toBe('1000/s');
    const none = await commandJson<object>(vault, 'account', 'set', name, '--rate', 'none');
    expect(none).not.toHaveProperty('rate');
  });

  test('costs an account without one nothing', async () => {
    const account = await vault.account();
    await account.send('GET', '/whoami');
    expect(await vault.raw.keys(`{a:${account.aid}}m*`)).toEqual([]);
  });
});
