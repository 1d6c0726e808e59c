import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createApp } from '../../server/boot/app.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { AUTHORIZATION, createStubParts, type StubParts } from './stub-parts.ts';
import { talkTo } from './talk.ts';

let parts: StubParts;
let server: ReturnType<typeof listen>;

beforeAll(() => {
  parts = createStubParts();
  server = listen(createApp(parts), { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 8 });
});
afterAll(() => server.stop(true));

const HEAD = `Host: vault.test\r\nAuthorization: ${AUTHORIZATION}\r\n`;
const STORE = `POST /v1/vault?user=u1&passphrase=pass HTTP/1.1\r\n${HEAD}`;
const CHUNKS = '2\r\n{}\r\n0\r\n\r\n';
/** The next request of the connection, which belongs to somebody else where a front end shares its connections. */
const CANARY = `GET /v1/whoami?canary HTTP/1.1\r\n${HEAD}\r\n`;

/** What comes back when a connection has been told two requests, the second of which must never be answered. */
async function refusalOf(bytes: string): Promise<string> {
  const asked = parts.asked.length;
  const { text, isClosed } = await talkTo(server.port, bytes + CANARY);
  expect(isClosed).toBe(true);
  expect(text).toMatch(/^(HTTP\/1\.1 [45]\d\d |$)/);
  expect(text.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThan(2);
  expect(parts.asked).toHaveLength(asked);
  return text;
}

function getting(path: string, head = HEAD): string {
  return `GET ${path} HTTP/1.1\r\n${head}\r\n`;
}

const FRAMING: Readonly<Record<string, string>> = {
  'two equal lengths': `${STORE}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
  'two equal lengths where no body is taken': `GET /v1/whoami HTTP/1.1\r\n${HEAD}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`,
  'two lengths': `${STORE}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
  'a list of lengths': `${STORE}Content-Length: 2, 2\r\n\r\n{}`,
  'a length with a sign': `${STORE}Content-Length: +2\r\n\r\n{}`,
  'a negative length': `${STORE}Content-Length: -2\r\n\r\n{}`,
  'a hexadecimal length': `${STORE}Content-Length: 0x2\r\n\r\n{}`,
  'an empty length': `${STORE}Content-Length:\r\n\r\n{}`,
  'a length beyond 64 bits': `${STORE}Content-Length: 18446744073709551618\r\n\r\n{}`,
  'a length and chunks': `${STORE}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
  'chunks and a length': `${STORE}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n${CHUNKS}`,
  'the coding identity': `${STORE}Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}`,
  'a coding before chunks': `${STORE}Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNKS}`,
  'a coding after chunks': `${STORE}Transfer-Encoding: chunked, gzip\r\n\r\n${CHUNKS}`,
  'a coding that is none': `${STORE}Transfer-Encoding: xchunked\r\n\r\n${CHUNKS}`,
  'chunks twice': `${STORE}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
  'chunks and another coding': `${STORE}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${CHUNKS}`,
  'a coding with a control character': `${STORE}Transfer-Encoding: \x0bchunked\r\n\r\n${CHUNKS}`,
  'a space before the colon': `${STORE}Transfer-Encoding : chunked\r\n\r\n${CHUNKS}`,
  'chunks in HTTP/1.0': `${STORE.replace('HTTP/1.1', 'HTTP/1.0')}Transfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
  'a chunk with a sign': `${STORE}Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n`,
  'a chunk with 0x': `${STORE}Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n`,
  'a chunk beyond 64 bits': `${STORE}Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n`,
  'a chunk that is longer than it says': `${STORE}Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n`,
  'chunks with bare LF': `${STORE}Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n`,
};

const HEADS: Readonly<Record<string, string>> = {
  'bare LF everywhere': getting('/v1/whoami').replaceAll('\r\n', '\n'),
  'bare LF after Host': getting('/v1/whoami', HEAD.replace('test\r\n', 'test\n')),
  'bare LF after a field': getting('/v1/whoami', `${HEAD}X-One: 1\nX-Two: 2\r\n`),
  'bare CR in a field': getting('/v1/whoami', `${HEAD}X-One: 1\rX-Two: 2\r\n`),
  'a folded field': getting('/v1/whoami', `${HEAD}X-One: 1\r\n more\r\n`),
  'a folded field with a tab': getting('/v1/whoami', `${HEAD}X-One: 1\r\n\tmore\r\n`),
  'a folded Host': getting('/v1/whoami', `Host:\r\n vault.test\r\nAuthorization: ${AUTHORIZATION}\r\n`),
  'a space before the first field': getting('/v1/whoami', ` ${HEAD}`),
  'a NUL in a value': getting('/v1/whoami', `${HEAD}X-One: 1\0\r\n`),
  'a NUL in a name': getting('/v1/whoami', `${HEAD}X\0: 1\r\n`),
  'a space in a name': getting('/v1/whoami', `${HEAD}X One: 1\r\n`),
  'no name': getting('/v1/whoami', `${HEAD}: 1\r\n`),
  'no colon': getting('/v1/whoami', `${HEAD}X-One\r\n`),
  'no Host': getting('/v1/whoami', `Authorization: ${AUTHORIZATION}\r\n`),
  'two Hosts': getting('/v1/whoami', `${HEAD}Host: other.test\r\n`),
  'two equal Hosts': getting('/v1/whoami', `${HEAD}Host: vault.test\r\n`),
  'a Host with two names': getting('/v1/whoami', HEAD.replace('vault.test', 'vault.test, other.test')),
  'a Host with a path': getting('/v1/whoami', HEAD.replace('vault.test', 'vault.test/v1')),
  'a Host with a user': getting('/v1/whoami', HEAD.replace('vault.test', 'user@vault.test')),
  'a field of 64 KB': getting('/v1/whoami', `${HEAD}X-Long: ${'x'.repeat(65_536)}\r\n`),
  '1,000 fields': getting(
    '/v1/whoami',
    HEAD + Array.from({ length: 1_000 }, (_, n) => `X-${n}: 1\r\n`).join(''),
  ),
  'a fragment': getting('/v1/whoami#x'),
  'two spaces': getting(' /v1/whoami'),
  tabs: getting('/v1/whoami').replaceAll(' ', '\t'),
  'HTTP/2.0': getting('/v1/whoami').replace('HTTP/1.1', 'HTTP/2.0'),
  'HTTP/0.9': 'GET /v1/whoami\r\n\r\n',
  'a name as the target': `GET vault.test:80 HTTP/1.1\r\n${HEAD}\r\n`,
};

describe('a request that can be read in two ways', () => {
  test.each(Object.entries({ ...FRAMING, ...HEADS }))('%s ends the connection', async (_, bytes) => {
    await refusalOf(bytes);
  });
});

describe('path_invalid', () => {
  const paths = [
    '/v1\\whoami',
    '/v1/whoami\\',
    '/v1/./whoami',
    '/v1/whoami/.',
    '/v1/../v1/whoami',
    '/../v1/whoami',
    '/.',
    '/v1/capture/../whoami',
    '/v1/capture/iframe/../../whoami',
    '/v1/%2e%2e/v1/whoami',
    '/v1/%2E/whoami',
    '/v1/%2e./v1/whoami',
    '/v1/whoami/%2e%2e/whoami',
    '/v1%2fwhoami',
    '/v1%5Cwhoami',
    '/v1/capture/a%2fb',
    '/v1/capture/a%zz%2Fb',
    '/v1/capture/a\\b',
    `${'/a/..'.repeat(20)}/v1/whoami`,
    `/v1/whoami${'/a/..'.repeat(20)}`,
    'http://vault.test/v1/../v1/whoami',
    '/metrics/../metrics',
    '/guide/%2e%2e/metrics',
  ];
  test.each(paths)('%s', async (path) => {
    const text = await refusalOf(getting(path));
    expect(text).toStartWith('HTTP/1.1 400 ');
    expect(text).toContain('"code":"path_invalid"');
    expect(text).toContain('Connection: close');
  });
});

describe('a path as it should be', () => {
  const isWhole = (text: string) => /\r\n\r\n.*\}$/s.test(text);
  const statusOf = async (path: string): Promise<string> => {
    const { text } = await talkTo(server.port, getting(path), isWhole);
    return text.slice(9, 12);
  };

  test.each([
    '/v1/whoami',
    '/v1/whoami/',
    '/v1/vault?reference_prefix=/../%2F%5C\\',
    'http://vault.test/v1/whoami',
    '/health/live',
  ])('200 %s', async (path) => {
    expect(await statusOf(path)).toBe('200');
  });

  test.each([
    '/',
    '/v1/',
    '//v1/whoami',
    '/v1/whoam%69',
    '/v1/.../whoami',
    '/v1/whoami/..a',
    '/v1/whoami/%252e%252e',
    `/v1${'/a'.repeat(40)}`,
  ])('404 %s', async (path) => {
    expect(await statusOf(path)).toBe('404');
  });
});
