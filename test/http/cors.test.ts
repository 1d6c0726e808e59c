import { describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { type Answer, createClient } from './client.ts';
import { ENDPOINT } from './stub-endpoints.ts';
import { createStubParts } from './stub-parts.ts';
import { createStubApp, type Seen } from './stub-routes.ts';

const CAPTURE = '/v1/capture/shop';
const RETRIEVE = '/v1/retrieve/shop';
const FROM_PAGE = { authorization: '', Origin: 'https://elsewhere.test', 'Sec-Fetch-Site': 'cross-site' };
const OF_CAPTURE = { ...FROM_PAGE, 'X-Vault-Capture-Secret': ENDPOINT.secret };
const OF_RETRIEVE = { ...FROM_PAGE, 'X-Vault-Retrieve-Secret': ENDPOINT.secret };

function open(override = {}) {
  const seen: Seen[] = [];
  return { seen, client: createClient(override, createStubApp(seen)) };
}

function corsOf({ headers }: Answer): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control')));
}

const ANY_ORIGIN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'X-Vault-Next-Token, X-Request-Id, Idempotency-Replayed, Retry-After',
};

describe('every reply of an open route is for any origin', () => {
  const body = () => new Response(new Uint8Array(262_145)).body;
  const replies: readonly (readonly [number, string, string, RequestInit])[] = [
    [200, 'POST', CAPTURE, { headers: OF_CAPTURE, body: '{}' }],
    [200, 'POST', `${CAPTURE}/`, { headers: { 'X-Vault-Capture-Secret': ENDPOINT.secret } }],
    [200, 'GET', RETRIEVE, { headers: OF_RETRIEVE }],
    [200, 'GET', `${RETRIEVE}?want=stream`, { headers: OF_RETRIEVE }],
    [200, 'GET', '/v1/retrieve/iframe/f1', { headers: FROM_PAGE }],
    [400, 'POST', `${CAPTURE}?next_token=%ff`, { headers: OF_CAPTURE }],
    [400, 'POST', CAPTURE, { headers: { ...OF_CAPTURE, 'Idempotency-Key': '' } }],
    [400, 'PUT', '/v1/open', { headers: FROM_PAGE, body: '{' }],
    [403, 'POST', CAPTURE, { headers: FROM_PAGE }],
    [403, 'GET', '/v1/retrieve/unknown', { headers: OF_RETRIEVE }],
    [410, 'POST', `${CAPTURE}?want=gone`, { headers: OF_CAPTURE }],
    [413, 'POST', CAPTURE, { headers: OF_CAPTURE, body: body() }],
    [413, 'POST', CAPTURE, { headers: { ...OF_CAPTURE, 'Content-Length': '262145' }, body: body() }],
    [500, 'POST', `${CAPTURE}?want=bug`, { headers: OF_CAPTURE }],
    [500, 'GET', `${RETRIEVE}?want=misfit`, { headers: OF_RETRIEVE }],
    [503, 'GET', `${RETRIEVE}?want=busy`, { headers: OF_RETRIEVE }],
  ];
  test.each(replies)('%d %s %s', async (status, method, target, init) => {
    const answer = await open().client.send(method, target, init);
    expect(answer.status).toBe(status);
    expect(corsOf(answer)).toEqual(ANY_ORIGIN);
    expect(answer.headers.get('Set-Cookie')).toBeNull();
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    expect(answer.headers.get('Referrer-Policy')).toBe('no-referrer');
  });

  test('what it exposes is there', async () => {
    const { client } = open();
    const answer = await client.send('GET', `${RETRIEVE}?want=stream`, { headers: OF_RETRIEVE });
    expect(answer.headers.get('X-Vault-Next-Token')).toBe('more');
    expect(answer.headers.get('X-Request-Id')).toBe('fresh-request-id');
    const busy = await client.send('GET', `${RETRIEVE}?want=busy`, { headers: OF_RETRIEVE });
    expect(busy.headers.get('Retry-After')).toBe('1');
  });

  test('one that fails on the way in, before any of it is looked at', async () => {
    const body = new ReadableStream({ pull: () => Promise.reject(new Error('broken off')) });
    const answer = await open().client.send('POST', CAPTURE, { headers: OF_CAPTURE, body });
    expect(answer).toMatchObject({ status: 400, error: { field: 'body' } });
    expect(corsOf(answer)).toEqual(ANY_ORIGIN);
  });
});

describe('no other reply is', () => {
  const { signIns } = createStubParts();
  const signIn = () => Promise.reject(new VaultError('too_many_failures'));
  const others: readonly (readonly [number, string, string, RequestInit, object])[] = [
    [200, 'DELETE', CAPTURE, {}, {}],
    [200, 'GET', '/v1/retrieve/iframe', {}, {}],
    [401, 'DELETE', CAPTURE, { headers: { authorization: '', Origin: 'https://vault.test' } }, {}],
    [403, 'DELETE', CAPTURE, { headers: FROM_PAGE }, {}],
    [429, 'DELETE', CAPTURE, {}, { signIns: Object.assign(signIns, { signIn }) }],
    [404, 'POST', '/v1/capture/a/b', { headers: OF_CAPTURE }, {}],
    [405, 'PATCH', CAPTURE, { headers: OF_CAPTURE }, {}],
    [405, 'POST', RETRIEVE, { headers: OF_RETRIEVE }, {}],
    [405, 'OPTIONS', '/v1/retrieve/iframe', { headers: FROM_PAGE }, {}],
    [404, 'OPTIONS', '/v1/nothing', { headers: FROM_PAGE }, {}],
  ];
  test.each(others)('%d %s %s', async (status, method, target, init, override) => {
    const answer = await open(override).client.send(method, target, init);
    expect(answer.status).toBe(status);
    expect(corsOf(answer)).toEqual({});
  });
});

/** What pages may send to endpoints besides. */
const OF_ENDPOINTS = 'Authorization, X-Vault-Seal-To, traceparent, tracestate, baggage, sentry-trace';

describe('OPTIONS', () => {
  const asked = { 'Access-Control-Request-Method': 'DELETE', 'Access-Control-Request-Headers': 'x-canary' };
  const paths: readonly (readonly [string, string, string])[] = [
    [CAPTURE, 'POST', `Content-Type, Idempotency-Key, X-Request-Id, X-Vault-Capture-Secret, ${OF_ENDPOINTS}`],
    [
      `${CAPTURE}/`,
      'POST',
      `Content-Type, Idempotency-Key, X-Request-Id, X-Vault-Capture-Secret, ${OF_ENDPOINTS}`,
    ],
    [
      '/v1/capture/%ff',
      'POST',
      `Content-Type, Idempotency-Key, X-Request-Id, X-Vault-Capture-Secret, ${OF_ENDPOINTS}`,
    ],
    [
      RETRIEVE,
      'GET',
      `Content-Type, Idempotency-Key, X-Request-Id, X-Vault-Retrieve-Secret, ${OF_ENDPOINTS}`,
    ],
    ['/v1/retrieve/iframe/f1', 'GET', 'Content-Type, Idempotency-Key, X-Request-Id'],
    ['/v1/open?secret=1', 'PUT', 'Content-Type, Idempotency-Key, X-Request-Id'],
  ];
  test.each(paths)('%s says the same to everybody: %s', async (target, methods, headers) => {
    const { seen, client } = open();
    for (const some of [{ authorization: '' }, FROM_PAGE, { ...FROM_PAGE, ...asked }, asked]) {
      const answer = await client.send('OPTIONS', target, { headers: some });
      expect(answer).toMatchObject({ status: 204, text: '' });
      expect(corsOf(answer)).toEqual({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': methods,
        'access-control-allow-headers': headers,
        'access-control-max-age': '7200',
      });
      expect(answer.headers.get('Cache-Control')).toBe('no-store');
      expect(answer.headers.get('X-Request-Id')).toBe('fresh-request-id');
      expect(answer.headers.get('Content-Type')).toBeNull();
      expect(answer.headers.get('Set-Cookie')).toBeNull();
    }
    expect(seen).toEqual([]);
    expect(client.parts.asked).toEqual([]);
    expect(client.parts.lines).toHaveLength(4);
  });

  test('405 names it where there is one', async () => {
    const allowed: readonly (readonly [string, string])[] = [
      [CAPTURE, 'POST, DELETE, OPTIONS'],
      [RETRIEVE, 'GET, HEAD, OPTIONS'],
      ['/v1/retrieve/iframe', 'GET, HEAD'],
    ];
    for (const [target, allow] of allowed) {
      for (const method of ['PATCH', 'LINK', 'PROPFIND']) {
        const answer = await open().client.send(method, target);
        expect(answer.status).toBe(405);
        expect(answer.headers.get('Allow')).toBe(allow);
      }
    }
  });
});
