/** What templates make of an item: values, rules, names of the call alone, and what debug output shows. */
import { describe, expect, test } from 'bun:test';
import type { AccountClient } from '../helpers/clients.ts';
import { anotherItem, CARD, CHARGED, proxyPost, requestTo } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';

const { party, item, freshPath, orderTo, sent } = await openProxySetting();

describe('values', () => {
  const HOSTILE = 'a"b\\c</x>&d=e%00f\u2028g😀\n{{cvv}}\u0000';

  test.each([undefined, 'application/json', 'application/vnd.api+json; charset=utf-8'])(
    'in a body of type %p mean the same to who parses it as JSON',
    async (type) => {
      const of = await anotherItem(item, { number: '1', hostile: HOSTILE, big: [{ a: 1 }] });
      const headers = type === undefined ? [] : [{ 'Content-Type': type }];
      const { text, header } = await sent({ headers, body: '{"v":"{{hostile}}"}' }, of);
      expect(JSON.parse(text)).toEqual({ v: HOSTILE });
      expect(header('content-type')).toBe(type);
    },
  );

  test('are percent-encoded in a form and in the path and query of the URL', async () => {
    const of = await anotherItem(item, { number: '1', hostile: HOSTILE.replace('\u0000', '') });
    const headers = [{ 'Content-Type': 'application/x-www-form-urlencoded' }];
    const { text, target } = await sent(
      { headers, body: 'v={{hostile}}&w=1', rest: '?q={{hostile}}&r=1' },
      of,
    );
    const expected = HOSTILE.replace('\u0000', '');
    expect([...new URLSearchParams(text)]).toEqual([
      ['v', expected],
      ['w', '1'],
    ]);
    expect([...new URL(target, 'https://x').searchParams]).toEqual([
      ['q', expected],
      ['r', '1'],
    ]);
  });

  test('that a header cannot carry refuse the request, and nothing is sent', async () => {
    const of = await anotherItem(item, { number: '1', hostile: 'a\r\nX-Evil: 1' });
    const path = freshPath();
    const headers = [{ 'X-A': 'a' }, { 'X-B': '{{hostile}}' }];
    const answer = await proxyPost(of, orderTo(path, { headers }));
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body.request.headers[1]']);
    expect(answer.text).not.toContain('Evil');
    expect(party.calls(path)).toEqual([]);
  });
});

describe('rules', () => {
  const rule = async (account: AccountClient, id: string, ...operations: object[]): Promise<void> => {
    expect((await account.send('POST', '/rule', { query: { id }, body: operations })).outcome).toBe('200');
  };

  test('see the object unmasked, change what is sent, and nothing that is stored', async () => {
    const template = { template: '{"last":"{{card_number}}","holder":"{{card_holder}}"}' };
    await rule(item.account, 'flat', { name: 'template', arguments: template });
    const cut = { name: 'substr', input_field: 'last', output_field: 'last', arguments: { start: -4 } };
    await rule(item.account, 'cut', cut);
    const body = '{"a":"{{last}} {{holder}} {{cvv}}"}';
    const query = { rules: 'flat,cut', allow_missing: true };
    expect((await sent({ body }, item, query)).text).toBe('{"a":"1111 Ada Lovelace "}');
    expect(JSON.parse(await item.account.open('u', item.token))).toEqual(CARD);
  });

  test('that are missing: nothing is sent', async () => {
    const path = freshPath();
    const { outcome } = await proxyPost(item, orderTo(path), { rules: 'nobody-made-this' });
    expect(outcome).toBe('404 rule_not_found');
    expect(party.calls(path)).toEqual([]);
  });
});

describe('debug', () => {
  test('shows the request as it was filled, and sends it all the same', async () => {
    const path = freshPath();
    const headers = [{ 'X-Holder': '{{card_holder}}' }];
    const order = orderTo(`${path}?h={{card_holder}}`, { headers });
    const answer = await proxyPost(item, order, { debug: true });
    expect(answer.json).toMatchObject({
      status_code: 200,
      populated_template: {
        method: 'POST',
        url: party.url(`${path}?h=Ada%20Lovelace`),
        headers: [{ 'X-Holder': 'Ada Lovelace' }],
        body: CHARGED,
      },
    });
    expect(party.calls(path)).toHaveLength(1);
  });

  test('is off unless it is asked for', async () => {
    expect((await proxyPost(item, orderTo(freshPath()))).json).not.toHaveProperty('populated_template');
  });
});

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
    const answer = await proxyPost(item, orderTo(path, changes));
    expect([answer.outcome, answer.field]).toEqual(['400 template_missing', field]);
    expect(answer.text).toContain(`\`${name}\``);
    expect(party.calls(path)).toEqual([]);
  });

  test('is empty where the call says so, and within sections', async () => {
    const missing = { body: '{"n":"{{cardnumber}}{{#gift}}{{gift_text}}{{/gift}}"}' };
    expect((await sent(missing, item, { allow_missing: true })).text).toBe('{"n":""}');
    expect((await sent({ body: '[{{#gift}}"{{gift_text}}"{{/gift}}]' })).text).toBe('[]');
  });
});
