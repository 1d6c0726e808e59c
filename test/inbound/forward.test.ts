/** What of a request arrives at the merchant, and what the sender sees of the reply. */
import { describe, expect, spyOn, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import type { Answer } from '../helpers/clients.ts';
import {
  connectInbound,
  type InboundSending,
  type MadeInbound,
  newInbound,
  sendThrough,
} from '../helpers/inbound.ts';
import { openProxyVault } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { SILENT } from '../helpers/third-party.ts';

const setting = await openProxySetting();
const { vault, party, item, freshPath } = setting;
const { account } = item;
const shop = await connectInbound(account, party, { headers: [{ 'X-Key': 'sk_canary_0123' }] });
const orders = await newInbound(account, { connection: shop });
const NUMBER = '4111111111111111';
const OTHER = '5555555555554444';
const CARD = `{"card":{"number":"${NUMBER}","cvc":"123"}}`;

const send = (path: string, sending: InboundSending = {}, inbound = orders): Promise<Answer> =>
  sendThrough(vault.handle, inbound, path, sending);
const opened = async (token: string, reference: string = orders.id): Promise<unknown> =>
  JSON.parse(await account.open('u', token, { reference }));
function tokenIn(text: string): string {
  return /[0-9a-f]{64}/.exec(text)?.[0] ?? '';
}

describe('a request', () => {
  test('arrives with tokens in the places of its cards, and nothing else changed', async () => {
    const path = freshPath({ status: 201, headers: [['X-Answer', 'yes']], body: 'done' });
    const sent = `{ "order" : 1.10,\n "card":{"number":"${NUMBER}","cvc":"123"},"z":[1e400] }`;
    const answer = await send(`${path}?a=1&&b=%20`, {
      body: sent,
      headers: { 'x-own': 'header', 'idempotency-key': 'once' },
    });
    expect([answer.status, answer.text]).toEqual([201, 'done']);
    expect(answer.headers.get('x-vault-stored')).toBe('1');
    expect(answer.headers.get('x-answer')).toBe('yes');
    const got = await party.call(path);
    const token = tokenIn(got.text);
    expect(got.text).toBe(sent.replace(NUMBER, token).replace('123', '***'));
    expect(got.header('x-own')).toBe('header');
    expect(got.header('idempotency-key')).toBe('once');
    expect(got.header('x-key')).toBe('sk_canary_0123');
    expect(got.target).toBe(`${path}?a=1&&b=%20`);
    expect(got.headers.filter(([name]) => /^x-vault/i.test(name))).toEqual([]);
    expect(await opened(token)).toEqual({ card_number: NUMBER, cvv: '123' });
  });

  test.each([
    [
      'application/x-www-form-urlencoded',
      'card.number=4111+1111+1111+1111&card.cvc=123&x=%C3%A9',
      { number: '["card.number"]', code: '["card.cvc"]' },
      (token: string) => `card.number=${token}&card.cvc=***&x=%C3%A9`,
    ],
    [
      'text/xml; charset=ISO-8859-1',
      Buffer.from(`<o:Order xmlns:o="x"><c n="é"> ${NUMBER} </c><v>123</v></o:Order>`, 'latin1'),
      { number: 'Order.c', code: 'Order.v' },
      (token: string) => `<o:Order xmlns:o="x"><c n="é"> ${token} </c><v>***</v></o:Order>`,
    ],
  ])('of type %s too', async (type, body, source, expected) => {
    const inbound = await newInbound(account, { connection: shop, extract: [source] });
    const path = freshPath();
    expect((await send(path, { body, headers: { 'content-type': type } }, inbound)).status).toBe(200);
    const got = await party.call(path);
    const text = got.body.toString('latin1');
    expect(got.header('content-type')).toBe(type);
    expect(text).toBe(expected(tokenIn(text)));
  });

  test('has any method, and may be empty', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const path = freshPath();
      const answer = await send(path, { method });
      expect([answer.status, answer.headers.get('x-vault-stored')]).toEqual([200, '0']);
      expect((await party.call(path)).method).toBe(method);
    }
    const path = freshPath({ headers: [['X-A', 'b']], body: 'twelve bytes' });
    const head = await send(path, { method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('x-a')]).toEqual([200, '', 'b']);
    expect(head.headers.get('content-length')).toBe('12');
  });

  test('stores each of its cards under its own reference, once for each', async () => {
    const inbound = await newInbound(account, {
      connection: shop,
      extract: [{ number: 'g[*].n', code: 'g[*].c', include: { holder: 'g[*].h' }, reference: 'g[*].id' }],
      metadata: { channel: 'market' },
      ttl: 'P1D',
    });
    const path = freshPath();
    const guests = [
      { id: 'a', n: NUMBER, c: '123', h: 'Ada' },
      { id: 'b', n: OTHER, h: 'Bob' },
      { id: 'a', n: NUMBER, c: '999', h: 'Ada L.' },
      { id: 'c', n: '************1111', c: '55' },
    ];
    const answer = await send(path, { body: JSON.stringify({ g: guests }) }, inbound);
    expect(answer.headers.get('x-vault-stored')).toBe('3');
    const { g } = JSON.parse((await party.call(path)).text) as { g: { n: string; c?: string }[] };
    expect(g.map(({ c }) => c)).toEqual(['***', undefined, '***', '**']);
    expect(g[2]?.n).toBe(g[0]?.n);
    expect(g[3]?.n).toBe('************1111');
    expect(await opened(g[0]?.n ?? '', 'a')).toEqual({ card_number: NUMBER, cvv: '999', holder: 'Ada L.' });
    expect(await opened(g[1]?.n ?? '', 'b')).toEqual({ card_number: OTHER, holder: 'Bob' });
    const listed = await account.send('GET', '/vault', { query: { user: 'u', reference: 'b' } });
    expect(listed.text).toContain('"metadata":{"channel":"market"}');
    expect(listed.text).toContain('expires_at');
  });

  test('that is repeated gets the same tokens, also while its first is under way', async () => {
    const path = freshPath();
    const all = await Promise.all([1, 2, 3, 4].map(() => send(path, { body: CARD })));
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(party.calls(path).map(({ text }) => text)).size).toBe(1);
  });

  test('is logged, billed and counted', async () => {
    const other = await vault.account();
    await other.key('u');
    const inbound = await newInbound(other, { connection: await connectInbound(other, party) });
    const path = freshPath();
    await send(path, { body: CARD, headers: { 'user-agent': 'partner/1' } }, inbound);
    const token = tokenIn((await party.call(path)).text);
    const log = await other.send('GET', '/vault/metadata', {
      query: { user: 'u', token, reference: inbound.id },
    });
    expect(log.json).toMatchObject([
      {
        ...{ action: 'encrypt', source: 'inbound', user_agent: 'partner/1', outcome: 'ok' },
        ...{ endpoint: inbound.id, ip_address: '127.0.0.1' },
      },
    ]);
    expect(await vault.usage(other)).toMatchObject({ capture_create: 1, capture: 1, proxy_attempt: 1 });
    await send(path, { body: `{"n":"${NUMBER}"}` }, inbound);
    const audit = (await other.send('GET', '/audit')).as<Record<string, unknown>[]>();
    const own = audit.filter(({ object }) => object === `endpoint/${inbound.id}`);
    expect(own).toMatchObject([
      { action: 'endpoint.use', outcome: 'card_not_extracted', actor: `endpoint/${inbound.id}` },
      { action: 'endpoint.create', outcome: 'success', actor: `account/${other.name}` },
    ]);
  });

  test('gets no route of the vault without a path behind the id', async () => {
    for (const rest of ['', '/']) {
      expect((await send(rest, { body: CARD })).outcome).toBe('405 method_not_allowed');
      expect((await send(rest, { method: 'GET' })).outcome).toBe('401 unauthenticated');
    }
  });

  test('gets no permission for pages', async () => {
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
    const answers = [
      await send(freshPath(), { body: CARD, headers }),
      await send('/x', { method: 'OPTIONS', headers, secret: null }),
      await send('/x', { body: CARD, headers, secret: null }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403]);
    for (const answer of answers) {
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });
});

describe('nothing is forwarded', () => {
  const others = Array.from({ length: 20 }, (_, n) => `{"n":"40000000000${String(n).padStart(5, '0')}"}`);
  const body = `{"g":[{"n":"${NUMBER}"},${others.join()}]}`;
  const extract = [{ number: 'g[*].n' }];

  test('unless all is stored', async () => {
    const inbound = await newInbound(account, { connection: shop, extract });
    const path = freshPath();
    const { itemStore } = vault.opened.stores;
    const write = itemStore.writeMany.bind(itemStore);
    let writes = 0;
    const failing = spyOn(itemStore, 'writeMany').mockImplementation((...args) => {
      writes += 1;
      return writes === 2 ? Promise.reject(new VaultError('store_unavailable')) : write(...args);
    });
    const answer = await send(path, { body }, inbound);
    expect(answer.outcome).toBe('503 store_unavailable');
    expect(answer.headers.get('retry-after')).not.toBeNull();
    failing.mockRestore();
    expect(party.calls(path)).toEqual([]);
    expect((await send(path, { body }, inbound)).headers.get('x-vault-stored')).toBe('21');
  });

  test('with a published test number in production', async () => {
    const strict = await openProxyVault({ environment: 'production' });
    const owner = await strict.account();
    await owner.key('u');
    const inbound = await newInbound(owner, { connection: await connectInbound(owner, party), extract });
    const path = freshPath();
    const refused = await sendThrough(strict.handle, inbound, path, { body });
    await strict.close();
    expect(refused.outcome).toBe('400 test_card');
    expect(party.calls(path)).toEqual([]);
  });
});

describe('strict', () => {
  const strays: readonly [string, string, InboundSending, string][] = [
    ['a member', '', { body: `{"note":"${NUMBER}"}` }, '400 card_not_extracted body.*'],
    ['the path', `/${NUMBER}`, { body: '{}' }, '400 card_not_extracted path'],
    ['the query', `?a=${NUMBER}`, { body: '{}' }, '400 card_not_extracted query.*'],
    ['a header', '', { body: '{}', headers: { 'x-a': `pan ${NUMBER}` } }, '400 card_not_extracted header.*'],
    ['a code', '', { body: '{"cvv":"123"}' }, '400 code_not_extracted body.*'],
    ['a code in the query', '?cvv=123', { body: '{}' }, '400 code_not_extracted query.*'],
  ];

  test.each(strays)('refuses %s, and forwards and stores nothing', async (_, rest, sending, expected) => {
    const path = freshPath();
    const body = `${String(sending.body).slice(0, -1)}${sending.body === '{}' ? '' : ','}"card":{"number":"${OTHER}"}}`;
    const inbound = await newInbound(account, { connection: shop });
    const answer = await send(path + rest, { ...sending, body }, inbound);
    expect(`${answer.outcome} ${answer.field?.replace(/\.x-a$/i, '.*')}`).toBe(expected);
    expect(answer.text).not.toContain('4111');
    expect(party.calls(path)).toEqual([]);
    const listed = await account.send('GET', '/vault', { query: { user: 'u', reference: inbound.id } });
    expect(listed.json).toEqual({ u: [] });
  });

  test('as `mask` replaces the digits, as `false` lets them pass', async () => {
    const body = `{"note":"pan ${NUMBER}!","cvv":"123","card":{"number":"${OTHER}"}}`;
    for (const [strict, expected] of [
      ['mask', `{"note":"pan ****************!","cvv":"***","card":{"number":"`],
      [false, `{"note":"pan ${NUMBER}!","cvv":"123","card":{"number":"`],
    ] as const) {
      const inbound = await newInbound(account, { connection: shop, strict });
      const path = freshPath();
      expect((await send(path, { body }, inbound)).status).toBe(200);
      expect((await party.call(path)).text).toStartWith(expected);
    }
  });

  test('leaves what its owner allows', async () => {
    const inbound = await newInbound(account, { connection: shop, allow: ['order.barcode', 'order.code'] });
    const path = freshPath();
    const body = `{"order":{"barcode":"${NUMBER}","code":"123"}}`;
    expect((await send(path, { body }, inbound)).status).toBe(200);
    expect((await party.call(path)).text).toBe(body);
  });
});

describe('cards that the vault recognises', () => {
  test('become tokens without paths', async () => {
    const inbound = await newInbound(account, { connection: shop, extract: 'cards' });
    const path = freshPath();
    const body = `{"payments":[{"cardNumber":"${NUMBER}","cvv":"123"},{"cardNumber":"${OTHER}","cvv":"456"}]}`;
    const answer = await send(path, { body }, inbound);
    expect([answer.status, answer.headers.get('x-vault-stored')]).toEqual([200, '2']);
    const got = (await party.call(path)).text;
    expect(got.replaceAll(/[0-9a-f]{64}/g, 'T')).toBe(
      '{"payments":[{"cardNumber":"T","cvv":"***"},{"cardNumber":"T","cvv":"***"}]}',
    );
  });
});

describe('the secret', () => {
  const basic = (text: string): string => `Basic ${btoa(text)}`;
  const { secret } = orders;

  test('is taken from its header, after Bearer, and as a password of any name', async () => {
    for (const authorization of [`Bearer ${secret}`, basic(`any:${secret}`)]) {
      const path = freshPath();
      const answer = await send(path, { body: CARD, headers: { authorization }, secret: null });
      expect(answer.status).toBe(200);
      expect((await party.call(path)).header('authorization')).toBeUndefined();
    }
    for (const wrong of [null, '', 'wrong', `${secret}x`]) {
      expect((await send('/x', { body: CARD, secret: wrong })).outcome).toBe('403 endpoint_refused');
    }
    const unknown = await send('/x', { body: CARD }, { ...orders, url: '/v1/inbound/nobody' });
    expect(unknown.outcome).toBe('403 endpoint_refused');
    const other = await newInbound(account, { connection: shop });
    const both = await send('/x', { body: CARD, headers: { authorization: `Bearer ${other.secret}` } });
    expect(both.outcome).toBe('400 conflicting_parameters');
  });

  test('beside an Authorization lets that go on, unless it holds a secret of the vault', async () => {
    for (const authorization of ['Bearer of-the-merchant', basic('shop:their-own')]) {
      const path = freshPath();
      expect((await send(path, { body: CARD, headers: { authorization } })).status).toBe(200);
      expect((await party.call(path)).header('authorization')).toBe(authorization);
    }
    for (const held of [`Bearer ${secret}`, basic(`x:${secret}`), `Token ${secret}`]) {
      const path = freshPath();
      expect((await send(path, { body: CARD, headers: { authorization: held } })).status).toBe(200);
      expect((await party.call(path)).header('authorization')).toBeUndefined();
    }
    const credential = `vak1_${'a'.repeat(43)}`;
    for (const authorization of [`Bearer ${credential}`, basic(`cred_1:${credential}`)]) {
      const answer = await send(freshPath(), { body: CARD, headers: { authorization } });
      expect(`${answer.outcome} ${answer.field}`).toBe('400 invalid_request header.Authorization');
    }
    const own = await connectInbound(account, party, {
      headers: [{ Authorization: 'Bearer of-connection' }],
    });
    const inbound = await newInbound(account, { connection: own });
    const path = freshPath();
    await send(path, { body: CARD, headers: { authorization: 'Bearer of-the-merchant' } }, inbound);
    expect((await party.call(path)).header('authorization')).toBe('Bearer of-connection');
  });

  test('works from the addresses of the inbound alone, and as often as it allows', async () => {
    const far = await newInbound(account, { connection: shop, ips: ['192.0.2.0/24'] });
    const answer = await send('/x', { body: CARD }, far);
    expect(`${answer.outcome} ${answer.field}`).toBe('403 not_allowed source_ip');
    const near = await newInbound(account, { connection: shop, ips: ['127.0.0.1'], rate: '2/h' });
    const statuses: number[] = [];
    for (const wanted of ['wrong', near.secret, near.secret, near.secret]) {
      statuses.push((await send(freshPath(), { body: CARD, secret: wanted }, near)).status);
    }
    expect(statuses).toEqual([403, 200, 200, 429]);
  });
});

describe('the connection', () => {
  test('limits methods and paths, before anything is stored', async () => {
    const limited = await connectInbound(account, party, { methods: ['POST'], paths: ['/p'] });
    const inbound = await newInbound(account, { connection: limited });
    const outcomes = [
      await send('/p/x', { method: 'PUT', body: CARD }, inbound),
      await send('/other', { body: CARD }, inbound),
      await send('/p/%2e%2e/other', { body: CARD }, inbound),
      await send('/p/%2541', { body: CARD }, inbound),
    ].map(({ outcome, field }) => `${outcome} ${field}`);
    expect(outcomes).toEqual([
      '403 not_allowed method',
      '403 not_allowed path',
      expect.stringMatching(/^40[0-4] /),
      '400 path_invalid path',
    ]);
    const listed = await account.send('GET', '/vault', { query: { user: 'u', reference: inbound.id } });
    expect(listed.json).toEqual({ u: [] });
  });

  test('is asked at each use, and so are the hosts of the account', async () => {
    const own = await connectInbound(account, party);
    const inbound = await newInbound(account, { connection: own });
    const base_url = party.url('');
    await account.send('PUT', `/connection/${own}`, { body: { base_url } });
    const closed = await send(freshPath(), { body: CARD }, inbound);
    expect(`${closed.outcome} ${closed.field}`).toBe('403 not_allowed connection');
    await account.send('DELETE', `/connection/${own}`);
    expect((await send(freshPath(), { body: CARD }, inbound)).outcome).toBe('404 connection_not_found');
    const limited = await vault.account({ hosts: ['127.0.0.1'] });
    await limited.key('u');
    const theirs = await newInbound(limited, { connection: await connectInbound(limited, party) });
    expect((await send(freshPath(), { body: CARD }, theirs)).status).toBe(200);
    await vault.opened.services.accounts.set(limited.name, { hosts: ['api.example'] });
    const refused = await send(freshPath(), { body: CARD }, theirs);
    expect(`${refused.outcome} ${refused.field}`).toBe('400 destination_refused connection');
    const listed = await limited.send('GET', '/vault', { query: { user: 'u', reference: theirs.id } });
    expect(listed.as<{ u: unknown[] }>().u).toHaveLength(1);
  });

  test('signs what arrives', async () => {
    const sign = { algorithm: 'hmac-sha-256', key: 'k_canary_12345', header: 'X-Sig', payload: '{{body}}' };
    const inbound = await newInbound(account, { connection: await connectInbound(account, party, { sign }) });
    const path = freshPath();
    await send(path, { body: CARD }, inbound);
    const got = await party.call(path);
    const hash = new Bun.CryptoHasher('sha256', sign.key).update(got.body).digest('hex');
    expect(got.header('x-sig')).toBe(hash);
  });

  test('that does not answer costs the sender its request, and its cards stay', async () => {
    const slow = await connectInbound(account, party, { timeout_ms: 1_000 });
    const cases: readonly [MadeInbound, string, string][] = [
      [await newInbound(account, { connection: slow }), freshPath(SILENT), '504 target_timeout'],
      [await newInbound(account, { connection: shop }), freshPath('reset'), '502 outcome_unknown'],
    ];
    for (const [inbound, path, expected] of cases) {
      expect((await send(path, { body: CARD }, inbound)).outcome).toBe(expected);
      const listed = await account.send('GET', '/vault', { query: { user: 'u', reference: inbound.id } });
      expect(listed.as<{ u: unknown[] }>().u).toHaveLength(1);
      expect(party.calls(path)).toHaveLength(1);
    }
    const dead = await setting.newParty();
    const inbound = await newInbound(account, { connection: await connectInbound(account, dead) });
    dead.stop();
    expect((await send('/x', { body: CARD }, inbound)).outcome).toBe('502 target_unreachable');
  });

  test('shows no value of its own in a reply, also one that streams', async () => {
    const path = freshPath((request) => ({
      headers: [['X-Echo', request.header('x-key') ?? '']],
      body: `${'x'.repeat(70_000)} ${request.header('x-key')}`,
    }));
    const answer = await send(path, { body: CARD });
    expect(answer.status).toBe(200);
    expect(answer.text.length).toBeGreaterThan(70_000);
    expect(answer.text + [...answer.headers].join()).not.toContain('sk_canary');
  });
});
