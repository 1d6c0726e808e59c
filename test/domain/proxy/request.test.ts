import { describe, expect, test } from 'bun:test';
import { VaultError } from '../../../server/core/errors.ts';
import { PROXY_METHODS } from '../../../server/core/third-party.ts';
import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  parseStoredObject,
} from '../../../server/domain/json/json.ts';
import { PROXY_LIMITS } from '../../../server/domain/proxy/fields.ts';
import { parseNetworkTokenOrder, parseProxyOrder } from '../../../server/domain/proxy/request.ts';
import { bodyFormat } from '../../../server/domain/text/media-type.ts';
import { UNUSABLE_SECRETS } from '../../helpers/webhook.ts';
import { utf8 } from '../json/arbitrary.ts';

function toJson(value: unknown): JsonObject {
  return parseStoredObject(utf8(JSON.stringify(value)));
}
/** Rows of one value each; a list alone would be spread over the arguments. */
function each(...values: readonly unknown[]): [unknown][] {
  return values.map((value) => [value]);
}

const request = { method: 'POST', url: 'https://api.example.com/v1/charge?x={{n}}' };
const webhook = { url: 'https://hooks.example.com/a' };

function fieldOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(VaultError);
    expect(error).toMatchObject({ code: 'invalid_request' });
    return error instanceof VaultError ? error.field : undefined;
  }
  return 'accepted';
}
function orderField(value: unknown): string | undefined {
  return fieldOf(() => parseProxyOrder(toJson(value)));
}
function requestField(part: object): string | undefined {
  return orderField({ request: { ...request, ...part } })?.replace('body.request.', '');
}
function webhookField(part: object): string | undefined {
  return orderField({ request, webhook: { ...webhook, ...part } })?.replace('body.webhook.', '');
}

describe('a proxy order', () => {
  test('comes out whole', () => {
    const order = parseProxyOrder(
      toJson({
        request: {
          method: 'put',
          url: 'HTTPS://API.Example.com:443/a/{{b}}?c#d',
          headers: [{ 'Content-Type': 'application/xml' }, { 'X-A': 'a {{b}}' }, { 'X-A': '2' }],
          body: '<a>{{b}}</a>',
          client_cert_id: 'cert_1',
          __proto__: 1,
          more: 1,
        },
        synchronous: true,
        webhook: { ...webhook, secret: 's e', max_attempts: 3, metadata: { a: 1 }, more: [] },
        more: {},
      }),
    );
    expect(order).toMatchObject({
      request: { method: 'PUT', origin: 'https://api.example.com', format: 'xml', clientCertId: 'cert_1' },
      synchronous: true,
      webhook: { url: webhook.url, secret: 's e', maxAttempts: 3 },
    });
    expect(order.request.headers.map(({ name }) => name)).toEqual(['Content-Type', 'X-A', 'X-A']);
    expect(order.webhook?.metadata).toEqual(new Map([['a', new JsonNumber('1')]]));
    expect(order.request.body?.parts).toHaveLength(3);
    expect(structuredClone(order)).toEqual(order);
  });

  test('has defaults; null counts as left out', () => {
    const none = { headers: null, body: null, client_cert_id: null };
    const order = parseProxyOrder(
      toJson({ request: { ...request, ...none }, synchronous: null, webhook: null }),
    );
    expect(order).toEqual(parseProxyOrder(toJson({ request })));
    expect(order).toMatchObject({ synchronous: false, request: { format: 'json', headers: [] } });
    expect([order.webhook, order.request.body, order.request.clientCertId].some(Boolean)).toBeFalse();
    expect(parseProxyOrder(toJson({ request, webhook })).webhook).toEqual({ ...webhook, maxAttempts: 8 });
  });

  test.each(PROXY_METHODS)('takes %s', (method) => {
    expect(parseProxyOrder(toJson({ request: { ...request, method } })).request.method).toBe(method);
  });

  test.each([
    [{}, 'body.request'],
    [{ request: [] }, 'body.request'],
    [{ request: 'x' }, 'body.request'],
    [{ request: {} }, 'body.request.method'],
    [{ request: { method: 'GET' } }, 'body.request.url'],
    [{ request, synchronous: 'true' }, 'body.synchronous'],
    [{ request, synchronous: 1 }, 'body.synchronous'],
    [{ request, webhook: 'https://a.example' }, 'body.webhook'],
    [{ request, webhook: {} }, 'body.webhook.url'],
  ])('%j is refused at %s', (value, field) => {
    expect(orderField(value)).toBe(field);
  });
});

describe('a request is refused', () => {
  test.each(each('', 'TRACE', 'CONNECT', 'GET ', 'G\nET', 5, ['GET']))('for the method %j', (method) => {
    expect(requestField({ method })).toBe('method');
  });

  const urls = [
    '',
    'api.example.com',
    '//a.example/',
    'http://a.example/',
    '{{scheme}}://a.example/',
    'https://',
    'https:a.example',
    'https:\\\\a.example\\',
    'https://a.example\\@b.example/',
    'https://u:p@a.example/',
    'https://u@a.example/',
    'https://a.example:{{port}}/',
    'https://a.example:70000/',
    'https://{{host}}/',
    'https://a.example{{path}}',
    'https://{{#x}}a{{/x}}.example/',
    'https://a.example/{{open',
    'https://a .example/',
    ' https://a.example/',
    'https://a.example/\r\nX: y',
    'https://a%2eexample/',
    `https://a.example/${'a'.repeat(PROXY_LIMITS.urlMax)}`,
    'https://a.example/\ud800',
  ];
  test.each(urls)('for the URL %j', (url) => {
    expect(requestField({ url })).toBe('url');
  });

  const good = { 'X-Good': 'yes' };
  const entries: unknown[] = [
    null,
    'a',
    [],
    {},
    { a: '1', b: '2' },
    { '': 'x' },
    { 'a b': 'x' },
    { 'a\r\nb': 'x' },
    { a: 1 },
    { a: ['x'] },
    { a: 'x\r\nEvil: 1' },
    { a: 'x\u0000' },
    { a: 'x\u0100' },
    { a: '{{' },
    { a: 'x'.repeat(PROXY_LIMITS.headerValueMax + 1) },
    { ['a'.repeat(257)]: 'x' },
    { 'content-type': '{{type}}' },
    ...[
      'Host',
      'content-length',
      'Transfer-Encoding',
      'CONNECTION',
      'Keep-Alive',
      'TE',
      'Trailer',
      'Upgrade',
    ],
    ...['Proxy-Authorization', 'Proxy-Connection', 'proxy-anything', 'Expect', 'X-Vault-Request-ID'],
    ...['webhook-id', 'Webhook-Timestamp', 'WEBHOOK-SIGNATURE', 'X-Vault-Webhook-Secret'],
  ].map((entry) => (typeof entry === 'string' && entry.length > 1 ? { [entry]: 'x' } : entry));
  test.each(each(...entries))('for the header %j', (entry) => {
    expect(requestField({ headers: [good, good, entry, good] })).toBe('headers[2]');
  });

  test('for other header lists', () => {
    const type = { 'Content-Type': 'text/plain' };
    expect(requestField({ headers: [type, { 'content-type': 'text/plain' }] })).toBe('headers[1]');
    expect(requestField({ headers: good })).toBe('headers');
    expect(requestField({ headers: Array(65).fill(good) })).toBe('headers');
    expect(requestField({ headers: Array(64).fill(good) })).toBe('accepted');
  });

  test.each(each(5, {}, [], '{{a', '{{=<% %>=}}', '\ud800', 'x'.repeat(PROXY_LIMITS.bodyMax + 1)))(
    'for a body',
    (body) => {
      expect(requestField({ body })).toBe('body');
    },
  );

  test.each(['', 'a b', 'x'.repeat(129), 7])('for the certificate %j', (id) => {
    expect(requestField({ client_cert_id: id })).toBe('client_cert_id');
  });
});

describe('a webhook is refused', () => {
  test.each([
    '',
    'http://a.example',
    'https://u@a.example/',
    'https://a.example/\n',
    5,
    `https://a.example/${'a'.repeat(2048)}`,
  ])('for the URL %j', (url) => {
    expect(webhookField({ url })).toBe('url');
  });
  test.each(each(0, 9, -1, 1.5, 1e1, '3', true, []))('for max_attempts %j', (count) => {
    expect(webhookField({ max_attempts: count })).toBe('max_attempts');
  });
  test.each(['', ' a', 'a\n', 'a\u0000', 7, 'x'.repeat(1025), ...UNUSABLE_SECRETS])(
    'for the secret %j',
    (secret) => {
      expect(webhookField({ secret })).toBe('secret');
    },
  );
  test.each(each(5, [], 'x', { a: 'x'.repeat(65_536) }))('for metadata', (metadata) => {
    expect(webhookField({ metadata })).toBe('metadata');
  });
  test('for an attempt that is not written as one digit', () => {
    const body = (text: string): JsonObject =>
      new Map<string, JsonValue>([...toJson(webhook), ['max_attempts', new JsonNumber(text)]]);
    expect(fieldOf(() => parseNetworkTokenOrder(body('8.0')))).toBe('body.max_attempts');
    expect(parseNetworkTokenOrder(body('8')).maxAttempts).toBe(8);
  });
});

test('a network token order is the webhook, bare or not', () => {
  const expected = { ...webhook, maxAttempts: 8 };
  expect(parseNetworkTokenOrder(toJson(webhook))).toEqual(expected);
  expect(parseNetworkTokenOrder(toJson({ webhook }))).toEqual(expected);
  expect(fieldOf(() => parseNetworkTokenOrder(toJson({})))).toBe('body.url');
  expect(fieldOf(() => parseNetworkTokenOrder(toJson({ webhook: {} })))).toBe('body.webhook.url');
});

test.each([
  [undefined, undefined],
  ['', undefined],
  ['application/json; charset=utf-8', 'json'],
  ['APPLICATION/VND.API+JSON', 'json'],
  ['text/xml', 'xml'],
  ['application/soap+xml;x', 'xml'],
  [' application/x-www-form-urlencoded ', 'form'],
  ['multipart/form-data', 'text'],
  ['application/jsonp', 'text'],
] as const)('%j is read as %s', (type, format) => {
  expect(bodyFormat(type)).toBe(format);
});
