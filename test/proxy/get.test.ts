import { describe, expect, test } from 'bun:test';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import {
  attemptsBilled,
  jobsDone,
  networkToken,
  newItem,
  type OrderChanges,
  openProxyVault,
  proxyGet,
  requestTo,
  settled,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import type { Act, PartyReply } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';

const NUMBER = '5555555555554444';
const REPLY = { number: NUMBER, cvc: '9317', amount: 1, holder: 'Grace Hopper' };
const FETCH: OrderChanges = { method: 'GET', body: undefined };

interface GetReply {
  readonly token_info: { readonly token: string; readonly user: string; readonly stored_at: string };
}

const { vault, party, item, freshPath, orderTo } = await openProxySetting();
const { account } = item;

function json(body: unknown): PartyReply {
  return {
    headers: [['Content-Type', 'application/json']],
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}
/** Fetches from acts, synchronously. */
function fetched(acts: Act[], query: Query = {}, who = account): Promise<Answer> {
  return proxyGet(who, orderTo(freshPath(...acts), FETCH), query);
}
function tokenOf({ outcome, as }: Answer): string {
  expect(outcome).toBe('200');
  return as<GetReply>().token_info.token;
}
async function newOwner(): Promise<AccountClient> {
  const owner = await vault.account();
  await owner.key('u');
  return owner;
}
async function listed(who: AccountClient): Promise<number> {
  return (await who.sdk.vault.list({ user: 'u', limit: -1 })).data['u']?.length ?? 0;
}

describe('a synchronous fetch', () => {
  test('stores the reply under the key, and tells its token and nothing of what it holds', async () => {
    const text = '{"card":{"a":[1.10,12345678901234567890]},"number":"5555 5555 5555 4444","cvc":"9317"}';
    const answer = await fetched([json(text)]);
    expect(answer.json).toEqual({
      status_code: 200,
      headers: [{ 'Content-Type': 'application/json' }, { 'Content-Length': String(text.length) }],
      token_info: {
        token: expect.stringMatching(/^[0-9a-f]{64}$/),
        user: 'u',
        stored_at: expect.stringMatching(/^\d{4}-.*Z$/),
        created: true,
      },
    });
    expect(answer.text).not.toMatch(/5555 5555|\b9317\b/);
    expect(await account.open('u', tokenOf(answer))).toBe(text);
    const log = await account.send('GET', '/vault/metadata', {
      query: { user: 'u', token: tokenOf(answer) },
    });
    expect(log.as<object[]>().at(-1)).toMatchObject({ action: 'encrypt', source: 'proxy' });
  });

  test('gives the same token as the same number stored by its owner', async () => {
    const token = await account.store('u', { number: NUMBER });
    expect(tokenOf(await fetched([json(REPLY)]))).toBe(token);
    expect(JSON.parse(await account.open('u', token))).toEqual(REPLY);
  });

  test('sends its texts as they are: nothing is filled', async () => {
    const path = freshPath(json(REPLY));
    const request = {
      method: 'POST',
      url: party.url(`${path}?q={{number}}`),
      headers: [{ 'X-A': '{{x}' }, { 'X-B': '{{number}}' }],
      body: '{{#open}} {{{ {{number}}',
    };
    expect((await proxyGet(account, { request, synchronous: true })).outcome).toBe('200');
    const received = await party.call(path);
    expect([received.header('x-a'), received.header('x-b'), received.text]).toEqual([
      '{{x}',
      '{{number}}',
      '{{#open}} {{{ {{number}}',
    ]);
    expect(decodeURIComponent(received.target)).toBe(`${path}?q={{number}}`);
  });

  test.each([
    ['luhn', /^9\d{15}$/],
    ['uuid', /^[0-9a-f]{8}-[0-9a-f-]{27}$/],
    ['partial_12_end', /^5555[0-9a-f]{12}$/],
  ])('makes a token by algorithm=%s, under either name', async (algorithm, pattern) => {
    expect(tokenOf(await fetched([json(REPLY)], { algorithm }))).toMatch(pattern);
    expect(tokenOf(await fetched([json(REPLY)], { tokenization_algorithm: algorithm }))).toMatch(pattern);
  });

  test('with an algorithm that there is none of, or two different ones, is refused and nothing sent', async () => {
    const path = freshPath(json(REPLY));
    const order = orderTo(path, FETCH);
    const bad = await proxyGet(account, order, { algorithm: 'rot13' });
    expect([bad.outcome, bad.field]).toEqual(['400 invalid_request', 'query.algorithm']);
    const two = await proxyGet(account, order, { algorithm: 'full', tokenization_algorithm: 'luhn' });
    expect(two.outcome).toBe('400 conflicting_parameters');
    expect(party.calls(path)).toEqual([]);
  });

  test('runs the rules on what came in, before it is stored; the number is looked for behind them', async () => {
    const template = '{"n":"{{card.pan}}","by":"rule"}';
    const body = [{ name: 'template', arguments: { template } }];
    expect((await account.send('POST', '/rule', { query: { id: 'flatten' }, body })).outcome).toBe('200');
    const token = tokenOf(await fetched([json({ card: { pan: NUMBER } })], { rules: 'flatten' }));
    expect(JSON.parse(await account.open('u', token))).toEqual({ n: NUMBER, by: 'rule' });
    const path = freshPath(json(REPLY));
    const order = orderTo(path, FETCH);
    expect((await proxyGet(account, order, { rules: 'missing' })).outcome).toBe('404 rule_not_found');
    expect(party.calls(path)).toEqual([]);
  });

  test.each<[string, PartyReply]>([
    ['no JSON', { body: 'number=5555555555554444' }],
    ['an object without a number', json({ holder: 'Grace' })],
    ['an error of the third party', { status: 404, body: '{"error":"no such card"}' }],
    ['more than an item holds', json({ number: NUMBER, filler: 'x'.repeat(262_144) })],
  ])('of %s stores nothing, and says so', async (_, reply) => {
    const owner = await newOwner();
    const answer = await fetched([reply], {}, owner);
    expect(answer.outcome).toBe('502 reply_not_storable');
    expect(answer.text).not.toMatch(/55555555|Grace/);
    expect(await listed(owner)).toBe(0);
    expect(await attemptsBilled(vault, owner)).toBe(1);
  });

  test('that was never answered well gives the last reply, and stores nothing', async () => {
    const owner = await newOwner();
    const acts = [{ status: 500, body: JSON.stringify(REPLY) }];
    const answer = await fetched(acts, { attempts: 2 }, owner);
    expect(answer.json).toEqual({ status_code: 500, headers: [{ 'Content-Length': expect.any(String) }] });
    expect([await listed(owner), await attemptsBilled(vault, owner)]).toEqual([0, 2]);
  });

  test('checks the passphrase before anything is sent', async () => {
    const path = freshPath(json(REPLY));
    const order = orderTo(path, FETCH);
    const wrong = await proxyGet(account, order, {}, { passphrase: 'not the passphrase' });
    const nobody = await proxyGet(account, order, { user: 'nobody' });
    expect([wrong.outcome, nobody.outcome]).toEqual(['403 passphrase_wrong', '404 key_not_found']);
    expect(party.calls(path)).toEqual([]);
  });

  test('adds the metadata of a webhook that was given all the same', async () => {
    const path = freshPath(json(REPLY));
    const webhook = { url: party.url('/never-told'), metadata: { order: 1, status_code: 7 } };
    const order = { ...orderTo(path, FETCH), webhook };
    expect((await proxyGet(account, order)).json).toMatchObject({ order: 1, status_code: 200 });
    expect(party.calls('/never-told')).toEqual([]);
  });
});

describe('smart parse', () => {
  test('finds the card in a reply, stores it, and shows the reply without it', async () => {
    const holder = 'Grace Hopper';
    const card = { pan: NUMBER, cvv: '931', exp_month: '12', exp_year: '2031', name: holder };
    const answer = await fetched([json({ data: card })], { smart_parse: true });
    const stored: Record<string, unknown> = JSON.parse(await account.open('u', tokenOf(answer)));
    expect(stored).toMatchObject({
      ...{ card_number: NUMBER, cvv: '931', expiry_month: '12', expiry_year: '2031', card_holder: holder },
    });
    const shown: unknown = Object(answer.json).body;
    expect(shown).toBe(String(stored['original_data']));
    for (const value of [NUMBER, '931', 'Grace']) {
      expect(shown).not.toContain(value);
    }
    expect(answer.text).not.toContain(NUMBER);
    for (const tag of ['card_number', 'cvv', 'card_holder']) {
      expect(shown).toContain(`{{${tag}}}`);
    }
  });

  test('that finds nothing stores nothing', async () => {
    const reply = { body: 'Thank you for your order 4711.' };
    expect((await fetched([reply], { smart_parse: true })).outcome).toBe('502 reply_not_storable');
  });
});

describe('an asynchronous fetch', () => {
  test('tells its webhook the token, over failures in between', async () => {
    const receiver = createReceiver(party);
    const path = freshPath(503, json(REPLY));
    const webhook = { ...receiver.webhook, metadata: { order: 2, token_info: 'mine', body: 'mine' } };
    const order = { request: requestTo(party.url(path), FETCH), webhook };
    const { json: told, received } = await settled(proxyGet(account, order), receiver);
    expect(told).toEqual({
      headers: expect.any(Array),
      status_code: 200,
      token_info: {
        token: expect.any(String),
        user: 'u',
        stored_at: expect.any(String),
        created: expect.any(Boolean),
      },
      order: 2,
    });
    expect(received.text).not.toMatch(/55555555|\b9317\b|Hopper/);
    const { token } = (told as unknown as GetReply).token_info;
    expect(JSON.parse(await account.open('u', token))).toEqual(REPLY);
    expect(party.calls(path)).toHaveLength(2);
  });

  test('whose reply cannot be stored says so', async () => {
    const receiver = createReceiver(party);
    const webhook = { ...receiver.webhook, metadata: { order: 3 } };
    const order = { request: requestTo(party.url(freshPath({ body: 'nothing here' })), FETCH), webhook };
    const { json: told } = await settled(proxyGet(account, order), receiver);
    expect(told).toEqual({ error: expect.any(String), code: 'reply_not_storable', order: 3 });
  });

  test('is not stored under a key whose passphrase has changed since: the webhook says so', async () => {
    const owner = await newOwner();
    const receiver = createReceiver(party);
    const path = freshPath(async () => {
      const change = {
        user: 'u',
        passphrase: PASSPHRASE,
        new_passphrase: 'the passphrase of the key by now',
      };
      await owner.send('PUT', '/key', { body: change });
      return json(REPLY);
    });
    const order = { request: requestTo(party.url(path), FETCH), webhook: receiver.webhook };
    const { json: told } = await settled(proxyGet(owner, order), receiver);
    expect(told).toEqual({ error: expect.any(String), code: 'key_changed' });
    expect(await listed(owner)).toBe(0);
    await jobsDone(vault, owner);
  });
});

test('in production, published test numbers are not stored, and no network token is made up', async () => {
  const production = await openProxyVault({ environment: 'production' });
  const theirs = await newItem(production, { number: '123' });
  const fetched = await proxyGet(theirs.account, orderTo(freshPath(json(REPLY)), FETCH));
  expect(fetched.outcome).toMatch(/ test_card$/);
  expect(await listed(theirs.account)).toBe(1);
  const answer = await networkToken(theirs, { url: party.url('/never') }, { requester_id: 'sim' });
  expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'query.requester_id']);
  await production.close();
});
