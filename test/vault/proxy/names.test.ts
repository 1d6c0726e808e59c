/** Names in a template: of the item, of the call alone, and of neither. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { CARD, type Item, newItem, openProxyVault, proxyPost, requestTo } from '../../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import type { TestVault } from '../../helpers/vault.ts';

let vault: TestVault;
let party: ThirdParty;
let item: Item;

beforeAll(async () => {
  party = await startThirdParty();
  vault = await openProxyVault();
  item = await newItem(vault);
});
afterAll(async () => {
  await vault.close();
  party.stop();
});

let paths = 0;
/** A path that no other test uses, which answers 200 and nothing. */
function freshPath(): string {
  paths += 1;
  const path = `/n${paths}`;
  party.script(path, 200);
  return path;
}

describe('data of the call alone', () => {
  test('fills the names that the item does not have, and never those that it has', async () => {
    const path = freshPath();
    const request = {
      ...requestTo(party.url(path), { body: '{"a":"{{amount}}","n":"{{card_number}}","x":"{{order.id}}"}' }),
      extra_data: { amount: 12.5, card_number: '4242424242424242', order: { id: 'o-1' } },
    };
    const answer = await proxyPost(item, { request, synchronous: true });
    expect(answer.outcome).toBe('200');
    const { text } = await party.call(path);
    expect(JSON.parse(text)).toEqual({ a: '12.5', n: CARD.card_number, x: 'o-1' });
    expect(JSON.parse(await item.account.open('u', item.token))).toEqual(CARD);
  });

  test.each([[[]], ['text'], [7]])('is an object: %p is refused', async (extra) => {
    const request = { ...requestTo(party.url(freshPath())), extra_data: extra };
    const answer = await proxyPost(item, { request, synchronous: true });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body.request.extra_data']);
  });
});

describe('a name that the data does not have', () => {
  test.each([
    ['body', { body: '{"n":"{{cardnumber}}"}' }, 'body.request.body', 'cardnumber'],
    ['header', { headers: [{ 'X-A': '{{card_nmber}}' }] }, 'body.request.headers[0]', 'card_nmber'],
    ['body, raw', { body: '{{{a.b}}}' }, 'body.request.body', 'a.b'],
  ] as const)('in the %s is told, and nothing is sent', async (_, changes, field, name) => {
    const path = freshPath();
    const request = requestTo(party.url(path), changes);
    const answer = await proxyPost(item, { request, synchronous: true });
    expect([answer.outcome, answer.field]).toEqual(['400 template_missing', field]);
    expect(answer.text).toContain(`\`${name}\``);
    expect(party.calls(path)).toEqual([]);
  });

  test('is empty where the call says so, and within sections', async () => {
    const body = '{"n":"{{cardnumber}}{{#gift}}{{gift_text}}{{/gift}}"}';
    const [path, other] = [freshPath(), freshPath()];
    const request = requestTo(party.url(path), { body });
    expect((await proxyPost(item, { request, synchronous: true }, { allow_missing: true })).outcome).toBe(
      '200',
    );
    expect((await party.call(path)).text).toBe('{"n":""}');
    const sections = requestTo(party.url(other), { body: '[{{#gift}}"{{gift_text}}"{{/gift}}]' });
    expect((await proxyPost(item, { request: sections, synchronous: true })).outcome).toBe('200');
    expect((await party.call(other)).text).toBe('[]');
  });
});
