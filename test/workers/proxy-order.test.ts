import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { textOf } from '../../workers/crypto/primitives/bytes.ts';
import { PROXY_JOBS } from '../../workers/jobs/proxy/jobs.ts';
import { codeOf, JOB, opened, openProxyBench, type ProxyBench, request } from './proxy-bench.ts';

let bench: ProxyBench;

beforeAll(async () => {
  bench = await openProxyBench();
});
afterAll(() => bench.close());

const KINDS = ['post', 'get'] as const;
const webhook = { url: 'https://shop.example/hooks' };

describe.each(KINDS)('an order of %s', (what) => {
  test('gives what the server needs to know of it', async () => {
    const asked = request({ url: 'https://PSP.example:8443/a?b', client_cert_id: 'c-1' });
    const { facts } = await bench.order(what, { request: asked, webhook: { ...webhook, secret: 's' } });
    expect(facts).toEqual({
      synchronous: false,
      origin: 'https://psp.example:8443/',
      clientCertId: 'c-1',
      webhook: { url: webhook.url, field: 'body.webhook.url' },
      repeatable: false,
      hasSections: false,
    });
    expect((await bench.order(what, { request: request(), synchronous: true })).facts).toEqual({
      synchronous: true,
      origin: 'https://psp.example/',
      repeatable: false,
      hasSections: false,
    });
  });

  test.each([
    ['GET', true],
    ['head', true],
    ['PUT', true],
    ['delete', true],
    ['OPTIONS', true],
    ['POST', false],
    ['patch', false],
  ])('by %s may be sent again: %p', async (method, repeatable) => {
    const order = { request: request({ method }), synchronous: true };
    expect((await bench.order(what, order)).facts.repeatable).toBe(repeatable);
  });

  test.each([
    ['a value', {}, false],
    ['a section in the body', { body: '{{#a}}{{b}}{{/a}}' }, true],
    ['an inverted section in a header', { headers: [{ A: '{{^a}}b{{/a}}' }] }, true],
    ['a section in the URL', { url: 'https://psp.example/{{#a}}b{{/a}}' }, true],
  ])('with %s has sections as a template alone: %p', async (_, change, expected) => {
    const { facts } = await bench.order(what, { request: request(change), synchronous: true });
    // What is fetched is sent as it stands.
    expect(facts.hasSections).toBe(what === 'post' && expected);
  });

  test('with an Idempotency-Key may be sent again', async () => {
    const headers = [{ 'idempotency-KEY': 'k' }];
    const order = { request: request({ headers }), synchronous: true };
    expect((await bench.order(what, order)).facts.repeatable).toBe(true);
  });

  // What the members of an order may be, test/domain/proxy/request.test.ts says.
  test.each<[string, unknown, string]>([
    ['no JSON', '{"a":', 'invalid_json'],
    ['an empty body', '', 'invalid_json'],
    ['a repeated name', '{"request":{},"request":{}}', 'invalid_json'],
    ['a list', [], 'invalid_request body'],
    ['a plain URL', { request: request({ url: 'http://a.example' }) }, 'invalid_request body.request.url'],
    ['nobody to tell', { request: request() }, 'invalid_request body.webhook'],
    ['null for nobody to tell', { request: request(), webhook: null }, 'invalid_request body.webhook'],
  ])('is refused for %s', async (_what, body, outcome) => {
    expect(await codeOf(bench.order(what, body))).toBe(outcome);
  });
});

test('templates are checked where they are filled, and taken as they stand where they are not', async () => {
  const url = 'https://psp.example/{{a';
  const orders = [
    [request({ url }), 'body.request.url'],
    [request({ headers: [{ 'X-A': '{{#a}}' }] }), 'body.request.headers[0]'],
    [request({ headers: [{ 'Content-Type': 'text/{{a}}' }] }), 'body.request.headers[0]'],
    [request({ body: '{{=<% %>=}}' }), 'body.request.body'],
  ] as const;
  for (const [asked, field] of orders) {
    const order = { request: asked, synchronous: true };
    expect(await codeOf(bench.order('post', order))).toBe(`invalid_request ${field}`);
    expect(await codeOf(bench.order('get', order))).toBe('ok');
  }
});

describe('an order of a network token', () => {
  test.each([
    [webhook, 'body.url'],
    [{ webhook }, 'body.webhook.url'],
  ])('is the webhook, bare or not: %j', async (body, field) => {
    const { facts } = await bench.order('network_token', body);
    expect(facts).toEqual({
      synchronous: false,
      webhook: { url: webhook.url, field },
      repeatable: false,
      hasSections: false,
    });
  });
});

describe('a fetch', () => {
  const body = '{"q":"{{card_number}}","r":"{{{"}';
  const asked = {
    request: request({
      url: 'https://psp.example/{{a}}/b?c={{#d}}#gone',
      headers: [{ 'Content-Type': 'text/{{x}}' }, { 'X-Q': '{{{card_number}}}' }],
      body,
      client_cert_id: 'cert-9',
    }),
    webhook,
  };

  test('is sent with its texts as they stand', async () => {
    const job = await bench.fetch(asked, {
      attempts: 3,
      rules: ['r-1'],
      smartParse: true,
      algorithm: 'luhn',
    });
    const { facts, request: sealed } = await bench.crypto.openJob({
      place: { aid: 'account-1', id: JOB },
      job,
    });
    expect(facts).toEqual({
      what: 'get',
      account: 'shop',
      user: 'customers',
      kid: 'key-1',
      gen: 1,
      ip: '203.0.113.7',
      ua: 'shop/1',
      attempts: 3,
      repeatable: false,
      synchronous: false,
      clientCertId: 'cert-9',
      algorithm: 'luhn',
      smartParse: true,
      rules: ['r-1'],
    });
    const { body: sent, ...rest } = sealed.expose();
    expect(rest).toEqual({
      method: 'POST',
      url: 'https://psp.example/%7B%7Ba%7D%7D/b?c={{',
      headers: [
        ['Content-Type', 'text/{{x}}'],
        ['X-Q', '{{{card_number}}}'],
      ],
    });
    expect(textOf(sent ?? new Uint8Array())).toBe(body);
  });

  test.each(['', 'FULL', 'partial_7_end', 'sha-256'])(
    'with the algorithm %j is refused',
    async (algorithm) => {
      expect(await codeOf(bench.fetch(asked, { algorithm }))).toBe('invalid_request query.algorithm');
    },
  );

  test('under another passphrase does not open the key', async () => {
    const { order } = await bench.order('get', asked);
    const params = {
      aid: 'account-1',
      kid: 'key-1',
      user: 'customers',
      account: 'shop',
      ip: '',
      ua: '',
      id: JOB,
      attempts: 1,
      algorithm: 'full',
      smartParse: false,
      forcedMask: false,
      summary: false,
      rules: [],
    };
    const other = bench.passphrase.map(() => new TextEncoder().encode('another passphrase for tests'));
    expect(await bench.crypto.prepareFetch({ params, blob: bench.blob, passphrase: other, order })).toEqual({
      kind: 'warm_miss',
    });
    expect(
      opened(
        await bench.crypto.prepareFetch({ params, blob: bench.blob, passphrase: bench.passphrase, order }),
      ).job,
    ).toBeDefined();
  });
});

test('what takes long travels alone: rules, sections, and much to read', () => {
  const laneOf = (change: object): unknown => {
    const { lane } = PROXY_JOBS.fillProxy;
    const input = { params: { hasSections: false }, rules: [], order: new Uint8Array(100), ...change };
    return typeof lane === 'function' ? lane(input as never) : lane;
  };
  expect(laneOf({})).toBe('hot');
  expect(laneOf({ params: { hasSections: true } })).toBe('bulk');
  expect(laneOf({ rules: [{ id: 'r', record: new Uint8Array(1) }] })).toBe('bulk');
  expect(laneOf({ order: new Uint8Array(16_385) })).toBe('bulk');
});
