/** What a synchronous request does ahead or without a thread, and that none of it can be told from outside. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { VaultError } from '../../../server/core/errors.ts';
import { type Item, newItem, openProxyVault, proxyPost, requestTo } from '../../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import type { TestVault } from '../../helpers/vault.ts';
import { failNext, holdNext } from '../hold.ts';

let vault: TestVault;
let party: ThirdParty;
let item: Item;

beforeAll(async () => {
  party = await startThirdParty();
  vault = await openProxyVault({ workers: 1 });
  item = await newItem(vault);
});
afterAll(async () => {
  await vault.close();
  party.stop();
});

function pay(path: string, of = item) {
  return proxyPost(of, { request: requestTo(party.url(path)), synchronous: true });
}

describe('the item of a request', () => {
  test('is read while its order is checked; what is deleted meanwhile is not sent', async () => {
    party.script('/gone', 201);
    const own = await newItem(vault);
    expect((await pay('/gone', own)).status).toBe(200);
    const checking = holdNext(vault.opened.crypto, 'readProxyOrder');
    const reading = holdNext(vault.opened.stores.itemStore, 'readParts');
    const answer = pay('/gone', own);
    await Promise.all([checking.reached, reading.reached]);
    reading.release();
    await Bun.sleep(20);
    await own.account.send('DELETE', '/vault/', {
      query: { user: own.user, token: own.token },
    });
    checking.release();
    expect((await answer).outcome).toBe('404 token_not_found');
    expect(party.calls('/gone')).toHaveLength(1);
  });

  test('that could not be read is read again', async () => {
    party.script('/again', 201);
    expect((await pay('/again')).status).toBe(200);
    failNext(vault.opened.stores.itemStore, 'readParts', new VaultError('store_unavailable'));
    expect((await pay('/again')).status).toBe(200);
    expect(party.calls('/again')).toHaveLength(2);
  });
});

describe('a reply', () => {
  const odd = 'é"\\\u0001\u2028€';
  test.each([0, 16_383, 16_384, 16_385])('of %d bytes comes as it is', async (bytes) => {
    const body = (odd + 'x'.repeat(bytes)).slice(0, bytes);
    const sent = Buffer.from(body, 'latin1');
    const headers: [string, string][] = [
      ['Content-Type', 'text/plain; charset=latin1'],
      ['x-A', '1'],
      ['X-a', '2'],
    ];
    party.script(`/size${bytes}`, { status: 203, headers, body: sent });
    const { json } = await pay(`/size${bytes}`);
    expect(json).toMatchObject({ status_code: 203, body: new TextDecoder('latin1').decode(sent) });
    expect(Object(json).headers).toEqual(expect.arrayContaining([{ 'x-A': '1' }, { 'X-a': '2' }]));
  });
});
