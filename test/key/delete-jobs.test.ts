/** Asynchronous requests of a key that is deleted, in every phase. */
import { afterAll, expect, test } from 'bun:test';
import { acceptedId, type Item, newItem, openProxyVault, proxyPost, requestTo } from '../helpers/proxy.ts';
import { type Act, startThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver, type Receiver } from '../helpers/webhook.ts';

let vault: TestVault;
let paths = 0;

const party = await startThirdParty();
vault = await openProxyVault({ alone: true });
afterAll(async () => {
  await vault.close();
  party.stop();
});

interface Sent {
  readonly id: string;
  readonly path: string;
  readonly receiver: Receiver;
}

async function send(item: Item, act: Act, webhookAct: Act): Promise<Sent> {
  paths += 1;
  const path = `/job${paths}`;
  party.script(path, act);
  const receiver = createReceiver(party, webhookAct);
  const answer = await proxyPost(
    item,
    { request: requestTo(party.url(path)), webhook: receiver.webhook },
    { attempts: 4 },
  );
  return { id: acceptedId(answer), path, receiver };
}

function remove({ account, user }: Item) {
  return account.send('DELETE', '/key', { query: { user, safe: false } });
}

/** The names in Redis that tell of a job, and every sealed payload of jobs of the account. */
async function traces({ account }: Item, { id }: Sent): Promise<readonly string[]> {
  const names = await vault.raw.keys('*');
  const members = [
    ...(await vault.raw.zrange('{jobs}:run:prioritized', '0', '-1')),
    ...(await vault.raw.zrange('{jobs}:run:delayed', '0', '-1')),
    ...(await vault.raw.zrange(`{a:${account.aid}}j`, '0', '-1')),
  ];
  return [...names, ...members].filter((name) => name.includes(id));
}

/** Waits until the job of an item is as it should be. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) {
    await Bun.sleep(5);
  }
}

function field({ account }: Item, { id }: Sent, name: string): Promise<string | null> {
  return vault.raw.hget(`{a:${account.aid}}j:${id}`, name);
}

test('one that waits is gone with its payload and its entry in the queue, and is never sent', async () => {
  const quiet = await openProxyVault({ jobs: false });
  const loud = vault;
  vault = quiet;
  try {
    const item = await newItem(quiet);
    const sent = await send(item, 200, 200);
    await until(async () => (await traces(item, sent)).length >= 4);
    expect((await remove(item)).status).toBe(200);
    expect(await traces(item, sent)).toEqual([]);
    quiet.opened.services.jobs.start();
    await quiet.opened.sweep();
    expect([party.calls(sent.path), sent.receiver.events()]).toEqual([[], []]);
  } finally {
    vault = loud;
    await quiet.close();
  }
});

test('one whose next attempt is due later is gone, and there is none', async () => {
  const item = await newItem(vault);
  const sent = await send(item, { status: 503, body: '', headers: [['Retry-After', '60']] }, 200);
  await until(async () =>
    (await vault.raw.zrange('{jobs}:run:delayed', '0', '-1')).some((name) => name.endsWith(sent.id)),
  );
  expect((await remove(item)).status).toBe(200);
  expect(await traces(item, sent)).toEqual([]);
  expect(party.calls(sent.path)).toHaveLength(1);
});

test('one that is being sent is gone, and its reply goes to nobody', async () => {
  const item = await newItem(vault);
  const { promise: held, resolve: release } = Promise.withResolvers<Act>();
  const sent = await send(item, () => held, 200);
  await party.call(sent.path);
  expect((await remove(item)).status).toBe(200);
  expect(await field(item, sent, 'r')).toBeNull();
  release({ status: 200, body: 'done' });
  await until(async () => (await traces(item, sent)).length === 0);
  expect([party.calls(sent.path).length, sent.receiver.events()]).toEqual([1, []]);
});

test('one that calls its webhook is gone with its report, and there is no further call', async () => {
  const item = await newItem(vault);
  const sent = await send(item, { status: 200, body: 'done' }, 500);
  await until(
    async () => (await field(item, sent, 'p')) === 'tell' && (await field(item, sent, 'n')) !== '0',
  );
  expect((await remove(item)).status).toBe(200);
  await until(async () => (await traces(item, sent)).length === 0);
});

test('one that was accepted while the key was deleted is not sent', async () => {
  const item = await newItem(vault);
  const { jobStore } = vault.opened.stores;
  const { promise: held, resolve: release } = Promise.withResolvers<Act>();
  const first = await send(item, () => held, 200);
  await party.call(first.path);
  const job = `{a:${item.account.aid}}j:${first.id}`;
  const record = (await vault.raw.hgetBuffer(job, 'r')) ?? Buffer.alloc(0);
  const kid = (await vault.raw.hget(job, 'i')) ?? '';
  expect((await remove(item)).status).toBe(200);
  release({ status: 200, body: 'done' });
  await until(async () => (await traces(item, first)).length === 0);
  // The other request was accepted just behind the deletion.
  expect(
    await jobStore.create(
      item.account.aid,
      { id: first.id, kid, phase: 'send', kind: 'post', record, again: false },
      Date.now(),
    ),
  ).toMatchObject({ kind: 'ok' });
  await vault.opened.services.jobs.resume(item.account.aid);
  await until(async () => (await traces(item, first)).length === 0);
  expect([party.calls(first.path).length, first.receiver.events()]).toEqual([1, []]);
});

test('those of another key stay', async () => {
  const item = await newItem(vault);
  await item.account.key('other');
  const { promise: held, resolve: release } = Promise.withResolvers<Act>();
  const sent = await send(item, () => held, 200);
  await party.call(sent.path);
  expect((await remove({ ...item, user: 'other' })).status).toBe(200);
  release({ status: 200, body: 'done' });
  expect((await sent.receiver.next()).json).toMatchObject({ status_code: 200 });
});
