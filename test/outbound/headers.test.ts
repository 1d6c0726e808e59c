import { expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import type { HeaderEntries } from '../../server/core/headers.ts';
import { checkHeaders } from '../../server/outbound/https.ts';

function refusal(headers: HeaderEntries): VaultError {
  try {
    checkHeaders(headers, 'body.request.headers');
  } catch (error) {
    if (error instanceof VaultError) {
      return error;
    }
  }
  throw new TypeError('was not refused');
}

const NAMES =
  `Host host HOST Connection connection Content-Length content-length Transfer-Encoding transfer-encoding TE te
Trailer Upgrade upgrade Expect Keep-Alive keep-alive HTTP2-Settings Proxy-Connection Proxy-Authorization
proxy-authenticate Proxy-Anything proxy- (a) a,b a/b a:b a;b a<b a=b a>b a?b a@b a[b a]b a\\b a{b a}b a"b é`
    .split(/\s+/)
    .concat([
      '',
      ' ',
      'a b',
      ' Host',
      'Host ',
      'Host\t',
      'a\r\nHost',
      'a\nb',
      'a\rb',
      'a\0b',
      'a\u007fb',
      'a'.repeat(257),
    ]);

test.each(NAMES)('the name %j is refused', (name) => {
  const error = refusal([
    ['X-Fine', 'a'],
    [name, 'some value'],
  ]);
  expect(error.code).toBe('invalid_request');
  expect(error.field).toBe('body.request.headers[1]');
  expect(JSON.stringify(error) + error.message).not.toContain('some value');
});

const CONTROLS = [...Array(32).keys(), 0x7f];

test.each(CONTROLS)('a value with the control character %d is refused wherever it stands', (code) => {
  const control = String.fromCharCode(code);
  for (const value of [control, `a${control}`, `${control}a`, `a${control}Host: b`]) {
    expect(refusal([['X-A', value]]).field).toBe('body.request.headers[0]');
  }
});

test.each([
  'a\r\nHost: b',
  'a\r\n\r\nGET / HTTP/1.1',
  'a\n b',
  '\u010d\u010a',
  '嘊嘍',
  '€',
  '😀',
  '\ud800',
  '\u2028',
])('the value %j is refused', (value) => {
  expect(refusal([['X-A', value]]).code).toBe('invalid_request');
});

test('good headers pass as they are, repeated ones too', () => {
  const headers: HeaderEntries = [
    ['Authorization', 'Bearer a.b.c'],
    ['Content-Type', 'application/json; charset=utf-8'],
    ['X-A', '1'],
    ['x-a', '2'],
    ['X-Empty', ''],
    ['X-Name', 'José Núñez "x" \\ ~'],
    ["!#$%&'*+-.^_`|~09", 'a'],
    ['__proto__', 'a'],
    ['Cookie', 'a=b'],
    ['Proxy', 'a'],
  ];
  expect(() => checkHeaders(headers, 'f')).not.toThrow();
  expect(() => checkHeaders([], 'f')).not.toThrow();
});

test('a text may travel as the bytes of its UTF-8', () => {
  const value = Buffer.from('🔑 schlüssel 鍵').toString('latin1');
  expect(() => checkHeaders([['X-A', value]], 'f')).not.toThrow();
});

test('128 headers and 32 KB are the most', () => {
  const many = (count: number): HeaderEntries =>
    Array.from({ length: count }, (): [string, string] => ['X', 'a']);
  expect(() => checkHeaders(many(128), 'f')).not.toThrow();
  expect(refusal(many(129)).field).toBe('body.request.headers');
  expect(() => checkHeaders([['X', 'a'.repeat(32_763)]], 'f')).not.toThrow();
  expect(refusal([['X', 'a'.repeat(32_764)]]).field).toBe('body.request.headers');
});
