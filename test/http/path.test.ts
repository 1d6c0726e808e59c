import { describe, expect, test } from 'bun:test';
import { Metrics } from '../../server/telemetry/metrics.ts';
import { createClient } from './client.ts';
import { ENDPOINT } from './stub-endpoints.ts';
import { createStubApp, type Seen } from './stub-routes.ts';

const SECRET = { 'X-Vault-Capture-Secret': '', 'X-Vault-Retrieve-Secret': '' };

function open(override = {}) {
  const seen: Seen[] = [];
  return { seen, client: createClient(override, createStubApp(seen)) };
}

describe('the parameter of a path', () => {
  const long = 'x'.repeat(5_000);
  const texts: readonly (readonly [string, string])[] = [
    ['shop', 'shop'],
    ['shop/', 'shop'],
    ['SHOP', 'SHOP'],
    ['a.b_c-d@e:f', 'a.b_c-d@e:f'],
    ['%2573hop', '%73hop'],
    ['a%2fb', 'a/b'],
    ['shop;x=1', 'shop;x=1'],
    ['shop%00', 'shop\u0000'],
    ['%F0%9F%98%80', '😀'],
    ['__proto__', '__proto__'],
    [':unique_id', ':unique_id'],
    [long, long],
    // What is not percent-encoded UTF-8 is no id, and nothing more is said of it.
    ['%', ''],
    ['shop%ff', ''],
    ['%ed%a0%80', ''],
  ];
  test.each(texts)('/v1/capture/%s is %p', async (segment, text) => {
    const { seen, client } = open();
    const answer = await client.send('POST', `/v1/capture/${segment}`, { headers: SECRET });
    expect(seen).toMatchObject([{ operation: 'capture', params: { unique_id: text } }]);
    expect(Object.keys(seen[0]?.params ?? {})).toEqual(['unique_id']);
    expect(answer.error.code).toBe('endpoint_refused');
  });

  test('an id that the schema would not take is refused like one that nobody has', async () => {
    const { client } = open();
    const texts = await Promise.all(
      ['unknown', 'MALFORMED', '%ff', long, 'a%2fb'].map(async (id) => {
        const answer = await client.send('POST', `/v1/capture/${id}`, { headers: SECRET });
        return `${answer.status} ${answer.text}`;
      }),
    );
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toStartWith('403 ');
  });

  test('a route without any has none, not even from the query', async () => {
    const { seen, client } = open();
    await client.send('GET', '/v1/retrieve/iframe');
    const answer = await client.send('GET', '/v1/retrieve/iframe?unique_id=shop');
    expect(seen).toEqual([{ operation: 'listForms', params: {} }]);
    expect(answer.error).toMatchObject({ code: 'unknown_parameter', field: 'query.unique_id' });
  });
});

describe('404', () => {
  const paths = [
    '/v1/capture',
    '/v1/capture//shop',
    '/v1/capture/shop//',
    '/v1/capture/shop/x',
    '/v1//capture/shop',
    '/V1/capture/shop',
    '/v1/captur%65/shop',
    '/v1/capture%2fshop',
    '/v1/capture;x=1/shop',
    '/v1/%2e/capture/shop/x',
    '/v1/capture/shop/%2e%2e',
    '/v1/capture/.',
    '/v1/retrieve/iframe/a/b',
  ];
  test.each(paths)('%s', async (path) => {
    const { seen, client } = open();
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      const answer = await client.send(method, path);
      expect(answer.status).toBe(404);
      expect(answer.headers.get('Access-Control-Allow-Origin')).toBeNull();
    }
    expect(seen).toEqual([]);
    expect(client.parts.lines.map((line) => line.route)).toEqual(Array(4).fill('(none)'));
  });
});

describe('plain words go before parameters', () => {
  const chosen: readonly (readonly [string, string, object])[] = [
    ['/v1/retrieve/iframe', 'listForms', {}],
    ['/v1/retrieve/iframe/', 'listForms', {}],
    ['/v1/retrieve/iframes', 'retrieve', { unique_id: 'iframes' }],
    ['/v1/retrieve/ifram', 'retrieve', { unique_id: 'ifram' }],
    ['/v1/retrieve/%69frame', 'retrieve', { unique_id: 'iframe' }],
    ['/v1/retrieve/iframe/f1', 'showForm', { form_id: 'f1' }],
    ['/v1/retrieve/iframe/f1/', 'showForm', { form_id: 'f1' }],
  ];
  test.each(chosen)('GET %s is %s', async (path, operation, params) => {
    const { seen, client } = open();
    await client.send('GET', path);
    expect(seen).toMatchObject([{ operation, params }]);
  });
});

test('the log and the metrics hold the template and never the id', async () => {
  const { client } = open({ metrics: new Metrics() });
  const headers = { 'X-Vault-Capture-Secret': ENDPOINT.secret };
  await client.send('POST', '/v1/capture/canary', { headers });
  await client.send('POST', `/v1/capture/${ENDPOINT.id}?reference=canary`, { headers, body: '{"canary":1}' });
  await client.send('POST', '/v1/capture/canary%zz', { headers: { 'X-Vault-Capture-Secret': 'canary' } });
  await client.send('DELETE', '/v1/capture/canary');
  await client.send('PATCH', '/v1/capture/canary');
  await client.send('OPTIONS', '/v1/capture/canary?canary', { headers: { Origin: 'https://canary' } });
  const route = '/v1/capture/{unique_id}';
  expect(client.parts.lines).toMatchObject([
    { method: 'POST', route, status: 403, code: 'endpoint_refused' },
    { method: 'POST', route, status: 200 },
    { method: 'POST', route, status: 403, code: 'endpoint_refused' },
    { method: 'DELETE', route, status: 200, account: 'shop' },
    { method: 'PATCH', route, status: 405, code: 'method_not_allowed' },
    { method: 'OPTIONS', route, status: 204, level: 'info' },
  ]);
  const metrics = await client.parts.metrics.render();
  expect(metrics).toContain(`seconds_count{route="${route}",method="OPTIONS",status="2xx"} 1`);
  const logged = JSON.stringify(client.parts.lines) + metrics;
  expect(logged).not.toContain('canary');
  expect(logged).not.toContain(ENDPOINT.secret);
});
