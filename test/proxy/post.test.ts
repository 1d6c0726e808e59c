import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import type { Query, Sending } from '../helpers/clients.ts';
import {
  acceptedId,
  anotherItem,
  attemptsBilled,
  CARD,
  CHARGE,
  CHARGED,
  jobsDone,
  newItem,
  proxyGet,
  proxyPost,
  requestTo,
  settled,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { connect } from '../helpers/relay.ts';
import { createReceiver } from '../helpers/webhook.ts';

const { vault, party, item, freshPath, orderTo, sent } = await openProxySetting();

describe('a synchronous request', () => {
  test('is filled from the stored object, unmasked, and answered with the reply as it came', async () => {
    const headers = [
      ['X-Reply', 'one'],
      ['Set-Cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ] as const;
    const body = '{"id":"ch_1","text":"größe \\u00e9"}';
    const path = freshPath({ status: 201, headers, body });
    const answer = await proxyPost(item, orderTo(path));
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
      const { json } = await proxyPost(item, orderTo(path));
      expect(json).toMatchObject({ status_code: status, body: 'no' });
      expect([party.calls(path).length, party.calls(elsewhere).length]).toEqual([1, 0]);
    },
  );

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
    const order = orderTo(path);
    expect((await proxyPost(item, order, {}, sending)).outcome).toBe('200');
    const { head, header } = await party.call(path);
    expect(head).not.toMatch(/canary|authorization|cookie|passphrase|forwarded|tests\/1\.0/i);
    expect(header('idempotency-key')).toBeUndefined();
  });

  test('whose item has a reference needs it, and reaches the item with it', async () => {
    const other = await anotherItem(item, CARD, { reference: 'r 1' });
    expect((await sent({}, { ...other, reference: 'r 1' })).text).toBe(CHARGED);
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
  const order = (path: string, change: object = {}) => orderTo(path, change);
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
    ['two headers in one', { headers: [{ a: 'b' }, { a: 'b', c: 'd' }] }, 'body.request.headers[1]'],
    ['an id of its own', { headers: [{ 'X-Vault-Request-Id': 'x' }] }, 'body.request.headers[0]'],
    ['a body that is no text', { body: { a: 1 } }, 'body.request.body'],
    ['a template that does not end', { body: '{{#a}}' }, 'body.request.body'],
    ['a host out of the stored object', { url: 'https://{{host}}/x' }, 'body.request.url'],
  ])('with %s', async (_, change, field) => {
    expect(await refusal((path) => order(path, change))).toBe(`400 invalid_request ${field}`);
  });

  test('without JSON, without a request, or over 1 MB', async () => {
    expect(await refusal(() => '{"request"')).toBe('400 invalid_json body');
    expect(await refusal(() => ({ synchronous: true }))).toBe('400 invalid_request body.request');
    expect(await refusal((path) => order(path, { body: 'x'.repeat(1_100_000) }))).toBe(
      '413 body_too_large body',
    );
  });
});

describe('requests through a connection', () => {
  const KEY = 'sk_canary_of_the_connection';

  function orderBy(connection: string, changes: Readonly<Record<string, unknown>> = {}) {
    const request = {
      method: 'POST',
      url: '/charges?a={{expiry_month}}',
      connection,
      body: CHARGE,
      ...changes,
    };
    return { synchronous: true, request };
  }

  test('have its base URL, headers and signature, and debug output shows none of them', async () => {
    const connection = await connect(item.account, party, {
      base_url: party.url('/v1'),
      headers: [{ Authorization: KEY }],
      sign: {
        algorithm: 'hmac-sha-256',
        key: 'k',
        header: 'X-Sign',
        payload: '{{method}} {{path}} {{body}}',
      },
    });
    party.script('/v1/charges', { body: '{}' });
    const headers = [{ authorization: 'of the caller' }, { 'X-Own': '1' }];
    const answer = await proxyPost(item, orderBy(connection, { headers }), { debug: true });
    expect(answer.outcome).toBe('200');
    const [received] = party.calls('/v1/charges');
    expect([received?.target, received?.text]).toEqual(['/v1/charges?a=12', CHARGED]);
    expect(received?.headers.filter(([name]) => name.toLowerCase() === 'authorization')).toEqual([
      ['Authorization', KEY],
    ]);
    expect(received?.header('x-own')).toBe('1');
    const signed = `POST /v1/charges?a=12 ${CHARGED}`;
    expect(received?.header('x-sign')).toBe(createHmac('sha256', 'k').update(signed).digest('hex'));
    expect(answer.text).not.toContain(KEY);
  });

  test('may be asynchronous', async () => {
    const connection = await connect(item.account, party, { headers: [{ Authorization: KEY }] });
    party.script('/later', { status: 201, body: 'done' });
    const receiver = createReceiver(party);
    const request = { method: 'POST', url: '/later', connection };
    expect((await proxyPost(item, { request, webhook: receiver.webhook })).outcome).toBe('200');
    await jobsDone(vault, item.account);
    expect(party.calls('/later')[0]?.header('authorization')).toBe(KEY);
  });

  test('are refused where it does not exist, is not for them, or a whole URL stands beside it', async () => {
    const connection = await connect(item.account, party, { methods: ['POST'], paths: ['/charges'] });
    for (const [changes, outcome, field] of [
      [{ connection: 'none' }, '404 connection_not_found', undefined],
      [{ url: party.url('/charges') }, '400 invalid_request', 'body.request.url'],
      [{ url: '//evil.example/charges' }, '400 invalid_request', 'body.request.url'],
      [{ url: '/refunds' }, '403 not_allowed', 'path'],
      [{ url: '/charges/../refunds' }, '400 invalid_request', 'body.request.url'],
      [{ method: 'PUT' }, '403 not_allowed', 'method'],
      [{ client_cert_id: 'x' }, '400 invalid_request', 'body.request.client_cert_id'],
    ] as const) {
      const answer = await proxyPost(item, orderBy(connection, changes));
      expect([answer.outcome, answer.field]).toEqual([outcome, field]);
    }
    const get = await proxyGet(item.account, orderBy(connection));
    expect(get.status).toBe(400);
    expect(party.calls('/charges')).toEqual([]);
  });
});
