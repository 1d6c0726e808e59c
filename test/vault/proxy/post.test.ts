import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AccountClient, Query, Sending } from '../../helpers/clients.ts';
import {
  acceptedId,
  anotherItem,
  attemptsBilled,
  CARD,
  CHARGE,
  CHARGED,
  type Item,
  newItem,
  openProxyVault,
  proxyPost,
  requestTo,
  settled,
} from '../../helpers/proxy.ts';
import { type Received, startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import type { TestVault } from '../../helpers/vault.ts';
import { createReceiver } from '../../helpers/webhook.ts';

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
/** A path that no other test uses, which answers 200 and nothing unless told otherwise. */
function freshPath(...acts: Parameters<ThirdParty['script']>[1][]): string {
  paths += 1;
  const path = `/p${paths}`;
  party.script(path, ...(acts.length === 0 ? [200] : acts));
  return path;
}
/** What the third party receives of a synchronous request. */
async function sent(
  changes: Parameters<typeof requestTo>[1] & { readonly rest?: string },
  of: Item = item,
  query: Query = {},
): Promise<Received> {
  const { rest = '', ...request } = changes;
  const path = freshPath();
  const order = { request: requestTo(party.url(path + rest), request), synchronous: true };
  expect((await proxyPost(of, order, query)).outcome).toBe('200');
  const [first, ...more] = party.calls(path);
  expect(more).toEqual([]);
  if (first === undefined) {
    throw new Error('nothing was received');
  }
  return first;
}

describe('a synchronous request', () => {
  test('is filled from the stored object, unmasked, and answered with the reply as it came', async () => {
    const headers = [
      ['X-Reply', 'one'],
      ['Set-Cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ] as const;
    const body = '{"id":"ch_1","text":"größe \\u00e9"}';
    const path = freshPath({ status: 201, headers, body });
    const answer = await proxyPost(item, { request: requestTo(party.url(path)), synchronous: true });
    expect(answer.json).toEqual({
      status_code: 201,
      headers: [
        { 'X-Reply': 'one' },
        { 'Set-Cookie': 'a=1' },
        { 'set-cookie': 'b=2' },
        { 'Content-Length': String(Buffer.byteLength(body)) },
      ],
      body,
    });
    expect(party.calls(path).map(({ method, text }) => [method, text])).toEqual([['POST', CHARGED]]);
  });

  test.each([301, 302, 307, 308, 400, 402, 404, 409, 422, 499])(
    'that is answered with %d is not sent again, nor anywhere else',
    async (status) => {
      const elsewhere = freshPath();
      const path = freshPath({ status, headers: [['Location', party.url(elsewhere)]], body: 'no' });
      const answer = await proxyPost(item, { request: requestTo(party.url(path)), synchronous: true });
      expect(answer.json).toMatchObject({ status_code: status, body: 'no' });
      expect([party.calls(path).length, party.calls(elsewhere).length]).toEqual([1, 0]);
    },
  );

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('may be a %s', async (method) => {
    const body = method === 'PUT' || method === 'PATCH' ? CHARGE : undefined;
    const received = await sent({ method, body });
    expect([received.method, received.text]).toEqual([method, body === undefined ? '' : CHARGED]);
  });

  test('carries exactly the headers that were asked for, those of the connection and its id', async () => {
    const headers = [
      { 'X-One': 'card of {{card_holder}}' },
      { Authorization: 'Bearer third' },
      { 'x-one': 'again' },
      { 'Idempotency-Key': 'theirs' },
    ];
    const { head, header } = await sent({ headers });
    const [line, ...lines] = head.trimEnd().split('\r\n');
    expect(line).toMatch(/^POST \/p\d+ HTTP\/1\.1$/);
    const id = header('x-vault-request-id') ?? '';
    expect(id).toMatch(/^[\w-]{16,}$/);
    const own = lines.filter((text) => !/^(?:user-agent|accept-encoding|connection): /i.test(text));
    expect(own.toSorted()).toEqual(
      [
        `Host: 127.0.0.1:${party.port}`,
        'X-One: card of Ada Lovelace',
        'Authorization: Bearer third',
        'x-one: again',
        'Idempotency-Key: theirs',
        `X-Vault-Request-Id: ${id}`,
        `Content-Length: ${CHARGED.length}`,
      ].toSorted(),
    );
    expect(own.filter((text) => /^x-one/i.test(text))).toEqual([
      'X-One: card of Ada Lovelace',
      'x-one: again',
    ]);
  });

  test('carries nothing of what its caller sent to the vault', async () => {
    const path = freshPath();
    const sending: Sending = {
      headers: {
        cookie: 'session=canary-cookie',
        'x-forwarded-for': '203.0.113.9',
        'x-request-id': 'canary-id',
      },
      idempotencyKey: 'canary-idempotency',
    };
    const order = { request: requestTo(party.url(path)), synchronous: true };
    expect((await proxyPost(item, order, {}, sending)).outcome).toBe('200');
    const { head, header } = await party.call(path);
    expect(head).not.toMatch(/canary|authorization|cookie|passphrase|forwarded|tests\/1\.0/i);
    expect(header('idempotency-key')).toBeUndefined();
  });

  test('uses a new id for each request', async () => {
    const ids = [await sent({}), await sent({})].map(({ header }) => header('x-vault-request-id'));
    expect(new Set(ids).size).toBe(2);
  });

  test('whose item has a reference needs it, and reaches the item with it', async () => {
    const other = await anotherItem(item, CARD, { reference: 'r 1' });
    expect((await sent({}, { ...other, reference: 'r 1' })).text).toBe(CHARGED);
  });
});

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

  test('are escaped in XML, and raw where three braces ask for it', async () => {
    const of = await anotherItem(item, { number: '1', hostile: '<a b="c">&\'', raw: '"x"' });
    const headers = [{ 'Content-Type': 'text/xml' }];
    const { text } = await sent({ headers, body: '<v>{{hostile}}</v>{{{raw}}}' }, of);
    expect(text).toMatch(/^<v>&lt;a b=(?:"|&quot;)c(?:"|&quot;)&gt;&amp;(?:'|&apos;|&#39;)<\/v>"x"$/);
  });

  test('have no prototype behind them', async () => {
    const body = '{"a":"{{constructor}}{{__proto__}}{{toString}}{{hasOwnProperty}}"}';
    expect((await sent({ body }, item, { allow_missing: true })).text).toBe('{"a":""}');
  });

  test('that a header cannot carry refuse the request, and nothing is sent', async () => {
    const of = await anotherItem(item, { number: '1', hostile: 'a\r\nX-Evil: 1' });
    const path = freshPath();
    const request = requestTo(party.url(path), { headers: [{ 'X-A': 'a' }, { 'X-B': '{{hostile}}' }] });
    const answer = await proxyPost(of, { request, synchronous: true });
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
    const order = { request: requestTo(party.url(path)), synchronous: true };
    expect((await proxyPost(item, order, { rules: 'nobody-made-this' })).outcome).toBe('404 rule_not_found');
    expect(party.calls(path)).toEqual([]);
  });
});

describe('debug', () => {
  test('shows the request as it was filled, and sends it all the same', async () => {
    const path = freshPath();
    const headers = [{ 'X-Holder': '{{card_holder}}' }];
    const request = requestTo(party.url(`${path}?h={{card_holder}}`), { headers });
    const answer = await proxyPost(item, { request, synchronous: true }, { debug: true });
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
    const order = { request: requestTo(party.url(freshPath())), synchronous: true };
    expect((await proxyPost(item, order)).json).not.toHaveProperty('populated_template');
  });
});

describe('an asynchronous request', () => {
  test('is accepted at once, and its webhook told what was answered', async () => {
    const receiver = createReceiver(party);
    const path = freshPath({ status: 402, headers: [['X-A', 'b']], body: 'declined: ü' });
    const metadata = { order: '4711', big: [1, { deep: null }], body: 'mine', status_code: 1, headers: [] };
    const order = { request: requestTo(party.url(path)), webhook: { ...receiver.webhook, metadata } };
    const answer = await proxyPost(item, order);
    expect(answer.json).toEqual({
      message: expect.stringMatching(/\.$/),
      id: expect.stringMatching(/^[\w-]+$/),
    });
    const { id, json, received } = await receiver.next();
    expect(json).toEqual({
      headers: [{ 'X-A': 'b' }, { 'Content-Length': '12' }],
      body: 'declined: ü',
      status_code: 402,
      order: '4711',
      big: [1, { deep: null }],
    });
    expect([received.method, received.header('content-type')]).toEqual(['POST', 'application/json']);
    expect([id, (await party.call(path)).header('x-vault-request-id')]).toEqual([
      acceptedId(answer),
      acceptedId(answer),
    ]);
    expect((await party.call(path)).text).toBe(CHARGED);
  });

  test('keeps every digit of its metadata', async () => {
    const receiver = createReceiver(party);
    const { url } = receiver.webhook;
    const text = `{"request":${JSON.stringify(requestTo(party.url(freshPath())))},"webhook":{"url":"${url}","metadata":{"amount":1.10,"id":12345678901234567890}}}`;
    const { received } = await settled(proxyPost(item, text), receiver);
    expect(received.text).toContain('"amount":1.10');
    expect(received.text).toContain('"id":12345678901234567890');
  });

  test('without a webhook is refused, and nothing is sent', async () => {
    const path = freshPath();
    const answer = await proxyPost(item, { request: requestTo(party.url(path)) });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body.webhook']);
    expect(party.calls(path)).toEqual([]);
  });
});

describe('a request is refused, and nothing is sent or billed', () => {
  const order = (path: string, change: object = {}) => ({
    request: { ...requestTo(party.url(path)), ...change },
    synchronous: true,
  });
  const refusal = async (body: (path: string) => unknown, query: Query = {}, sending: Sending = {}) => {
    const path = freshPath();
    const before = await attemptsBilled(vault, item.account);
    const { outcome, field } = await proxyPost(item, body(path), query, sending);
    expect([party.calls(path).length, (await attemptsBilled(vault, item.account)) - before]).toEqual([0, 0]);
    return field === undefined ? outcome : `${outcome} ${field}`;
  };

  test('without the right passphrase, key, token or reference', async () => {
    const other = await anotherItem(item, CARD, { reference: 'only here' });
    const outcomes = [
      await refusal(order, {}, { passphrase: 'not the passphrase' }),
      await refusal(order, { user: 'nobody' }),
      await refusal(order, { token: 'nothing' }),
      await refusal(order, { reference: 'of another item' }),
      await refusal(order, { token: other.token }),
      await refusal(order, { token: other.token, reference: 'wrong' }),
    ];
    expect(outcomes).toEqual([
      '403 passphrase_wrong',
      '404 key_not_found query.user',
      '404 token_not_found',
      '404 token_not_found',
      '400 reference_required',
      '404 token_not_found',
    ]);
    const stranger = await newItem(vault);
    const path = freshPath();
    const theirs = await proxyPost({ ...stranger, token: other.token }, order(path), {
      reference: 'only here',
    });
    expect([theirs.outcome, party.calls(path).length]).toEqual(['404 token_not_found', 0]);
  });

  test.each(['0', '17', '-1', '1.5', 'many'])('with attempts=%s', async (attempts) => {
    expect(await refusal(order, { attempts })).toBe('400 invalid_request query.attempts');
  });

  test.each<[string, object, string]>([
    ['no method', { method: undefined }, 'body.request.method'],
    ['a method that connects', { method: 'CONNECT' }, 'body.request.method'],
    ['a header list that is none', { headers: { a: 'b' } }, 'body.request.headers'],
    ['two headers in one', { headers: [{ a: 'b' }, { a: 'b', c: 'd' }] }, 'body.request.headers[1]'],
    ['a host of its own', { headers: [{ Host: 'x' }] }, 'body.request.headers[0]'],
    ['a length of its own', { headers: [{ 'content-length': '1' }] }, 'body.request.headers[0]'],
    ['an id of its own', { headers: [{ 'X-Vault-Request-Id': 'x' }] }, 'body.request.headers[0]'],
    ['a line break in a header', { headers: [{ a: 'b\r\nc: d' }] }, 'body.request.headers[0]'],
    ['a body that is no text', { body: { a: 1 } }, 'body.request.body'],
    ['a template that does not end', { body: '{{#a}}' }, 'body.request.body'],
  ])('with %s', async (_, change, field) => {
    expect(await refusal((path) => order(path, change))).toBe(`400 invalid_request ${field}`);
  });

  test('with a host or port out of the stored object', async () => {
    for (const url of ['https://{{host}}/x', 'https://127.0.0.1:{{port}}/x', '{{scheme}}://127.0.0.1/x']) {
      expect(await refusal(() => order('/', { url }))).toBe('400 invalid_request body.request.url');
    }
  });

  test('without JSON, without a request, or over 1 MB', async () => {
    expect(await refusal(() => '{"request"')).toBe('400 invalid_json');
    expect(await refusal(() => ({ synchronous: true }))).toBe('400 invalid_request body.request');
    expect(await refusal((path) => order(path, { body: 'x'.repeat(1_100_000) }))).toBe(
      '413 body_too_large body',
    );
  });

  test('with a flag or webhook that is none', async () => {
    const bad = (change: object) => (path: string) => ({ ...order(path), ...change });
    expect(await refusal(bad({ synchronous: 'yes' }))).toBe('400 invalid_request body.synchronous');
    const webhook = { url: party.url('/never') };
    for (const [change, field] of [
      [{ url: 'nowhere' }, 'url'],
      [{ max_attempts: 9 }, 'max_attempts'],
      [{ max_attempts: 0 }, 'max_attempts'],
      [{ secret: 'a\nb' }, 'secret'],
      [{ metadata: [] }, 'metadata'],
    ] as const) {
      const refused = await refusal(bad({ synchronous: false, webhook: { ...webhook, ...change } }));
      expect(refused).toBe(`400 invalid_request body.webhook.${field}`);
    }
  });
});
