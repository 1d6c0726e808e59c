/** What of a request arrives at the merchant, and what the sender sees of the reply. */
import { describe, expect, test } from 'bun:test';
import { connectInbound, newInbound, sendThrough } from '../helpers/inbound.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';

const setting = await openProxySetting();
const { vault, party, item, freshPath } = setting;
const { account } = item;
const shop = await connectInbound(account, party, { headers: [{ 'X-Key': 'sk_canary_0123' }] });
const orders = await newInbound(account, { connection: shop });
const NUMBER = '4111111111111111';

describe('a request', () => {
  test('arrives with tokens in the places of its cards, and nothing else changed', async () => {
    const path = freshPath({ status: 201, headers: [['X-Answer', 'yes']], body: 'done' });
    const sent = `{ "order" : 1.10,\n "card":{"number":"${NUMBER}","cvc":"123"},"z":[1e400] }`;
    const answer = await sendThrough(vault.handle, orders, `${path}?a=1&&b=%20`, {
      body: sent,
      headers: { 'x-own': 'header', 'idempotency-key': 'once' },
    });
    expect([answer.status, answer.text]).toEqual([201, 'done']);
    expect(answer.headers.get('x-vault-stored')).toBe('1');
    const got = await party.call(path);
    const [, token = ''] = /"number":"([0-9a-f]{64})"/.exec(got.text) ?? [];
    expect(got.text).toBe(sent.replace(NUMBER, token).replace('123', '***'));
    expect(got.header('x-own')).toBe('header');
    expect(got.header('idempotency-key')).toBe('once');
    expect(got.header('x-key')).toBe('sk_canary_0123');
    expect(got.target).toBe(`${path}?a=1&&b=%20`);
    const stored = await account.open('u', token, { reference: orders.id });
    expect(JSON.parse(stored)).toEqual({ card_number: NUMBER, cvv: '123' });
  });
});
