/** Codes that are kept until a payment went through. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  CARD,
  type Item,
  jobsDone,
  newItem,
  openProxyVault,
  proxyPost,
  requestTo,
} from '../../helpers/proxy.ts';
import { type Act, startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import type { TestVault } from '../../helpers/vault.ts';
import { createReceiver } from '../../helpers/webhook.ts';

let party: ThirdParty;
let vault: TestVault;
let lasting: TestVault;
const { cvv, ...WITHOUT } = CARD;

beforeAll(async () => {
  party = await startThirdParty();
  vault = await openProxyVault({ sadAfterProxy: true });
  lasting = await openProxyVault();
});
afterAll(async () => {
  await Promise.all([vault.close(), lasting.close()]);
  party.stop();
});

let paths = 0;
async function pay(item: Item, ...acts: Act[]): Promise<string> {
  paths += 1;
  party.script(`/sad${paths}`, ...acts);
  const order = { request: requestTo(party.url(`/sad${paths}`)), synchronous: true };
  return (await proxyPost(item, order, { attempts: acts.length })).text;
}
async function stored({ account, user, token }: Item): Promise<unknown> {
  return JSON.parse(await account.open(user, token));
}

function sadNames({ token }: Item): Promise<string[]> {
  return vault.raw.keys(`*}s*${token}`);
}

describe('the code of an item', () => {
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
    await pay(item, 503, 201);
    const sent = party.calls(`/sad${paths}`).map(({ text }) => JSON.parse(text).cvc);
    expect(sent).toEqual([cvv, cvv]);
    expect(await stored(item)).toEqual(WITHOUT);
    expect(JSON.parse(await pay(item, 201))).toMatchObject({ code: 'template_missing' });
    expect(party.calls(`/sad${paths}`)).toEqual([]);
  });

  test('is gone before the webhook hears of the payment', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party);
    party.script('/sad-later', 201);
    const order = { request: requestTo(party.url('/sad-later')), webhook: receiver.webhook };
    expect((await proxyPost(item, order)).outcome).toBe('200');
    await receiver.next();
    expect(await stored(item)).toEqual(WITHOUT);
    await jobsDone(vault, item.account);
  });

  test('stays with an operator who keeps codes', async () => {
    const item = await newItem(lasting);
    await pay(item, 201);
    expect(await stored(item)).toEqual(CARD);
  });
});
