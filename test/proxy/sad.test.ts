/** Codes that are kept until a payment went through. */
import { expect, test } from 'bun:test';
import { CARD, type Item, jobsDone, newItem, proxyPost, requestTo } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import type { Act } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';

const { cvv, ...WITHOUT } = CARD;
const { vault, party, freshPath, orderTo } = await openProxySetting({ sadAfterProxy: true });

/** Pays at a path with these acts; gives the path and the answer. */
async function pay(item: Item, ...acts: Act[]): Promise<{ path: string; text: string }> {
  const path = freshPath(...acts);
  const { text } = await proxyPost(item, orderTo(path), { attempts: acts.length });
  return { path, text };
}
async function stored({ account, user, token }: Item): Promise<unknown> {
  return JSON.parse(await account.open(user, token));
}
function sadNames({ token }: Item): Promise<string[]> {
  return vault.raw.keys(`*}s*${token}`);
}

test.each([200, 201, 204])('is gone when a payment was answered with %d', async (status) => {
  const item = await newItem(vault);
  expect(await sadNames(item)).toHaveLength(1);
  await pay(item, { status, body: '' });
  expect(await stored(item)).toEqual(WITHOUT);
  expect(await sadNames(item)).toEqual([]);
  // Whatever happens now, the file is rewritten.
  expect(await vault.raw.hget('{rewrite}', 'wanted')).toEndWith(' behind');
});

test.each([302, 402, 500])('stays when it was answered with %d', async (status) => {
  const item = await newItem(vault);
  await pay(item, { status, body: '' });
  expect(await stored(item)).toEqual(CARD);
});

test('goes along with every attempt up to the one that is answered', async () => {
  const item = await newItem(vault);
  const { path } = await pay(item, 503, 201);
  expect(party.calls(path).map(({ text }) => JSON.parse(text).cvc)).toEqual([cvv, cvv]);
  expect(await stored(item)).toEqual(WITHOUT);
  const again = await pay(item, 201);
  expect(JSON.parse(again.text)).toMatchObject({ code: 'template_missing' });
  expect(party.calls(again.path)).toEqual([]);
});

test('is gone before the webhook hears of the payment', async () => {
  const [item, receiver] = [await newItem(vault), createReceiver(party)];
  const order = { request: requestTo(party.url(freshPath(201))), webhook: receiver.webhook };
  expect((await proxyPost(item, order)).outcome).toBe('200');
  await receiver.next();
  expect(await stored(item)).toEqual(WITHOUT);
  await jobsDone(vault, item.account);
});

test('stays with an operator who keeps codes', async () => {
  const lasting = await vault.secondServer({ sadAfterProxy: false });
  const item = await newItem(lasting);
  await pay(item, 201);
  expect(await stored(item)).toEqual(CARD);
  await lasting.close();
});
