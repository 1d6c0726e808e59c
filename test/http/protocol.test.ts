import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createApp } from '../../server/boot/app.ts';
import { ROUTES } from '../../server/boot/routes.ts';
import { acceptsGzip } from '../../server/http/accept.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { buildGuide } from '../helpers/built-guide.ts';
import { createClient, OF_CONSOLE, samplePath } from './client.ts';
import { ENDPOINT } from './stub-endpoints.ts';
import { AUTHORIZATION, createStubParts, type StubParts } from './stub-parts.ts';
import { talkTo } from './talk.ts';

const HEAD = `Host: vault.test\r\nAuthorization: ${AUTHORIZATION}\r\n`;

/** What the runtime takes for a method, beside those that paths have. CONNECT it keeps to itself. */
const KNOWN_METHODS = [
  ...[
    'ACL',
    'BIND',
    'CHECKOUT',
    'COPY',
    'LINK',
    'LOCK',
    'MERGE',
    'MKACTIVITY',
    'MKCALENDAR',
    'MKCOL',
    'MOVE',
  ],
  ...['M-SEARCH', 'NOTIFY', 'PATCH', 'PROPFIND', 'PROPPATCH', 'PURGE', 'QUERY', 'REBIND', 'REPORT', 'SEARCH'],
  ...['SOURCE', 'SUBSCRIBE', 'TRACE', 'UNBIND', 'UNLINK', 'UNLOCK', 'UNSUBSCRIBE'],
];

/** What routes need beside a body. */
const NEEDED: Readonly<Record<string, string>> = {
  '/v1/vault': 'user=u1',
  '/v1/vault/update': 'user=u1&token=tok',
};

let parts: StubParts;
let server: ReturnType<typeof listen>;

beforeAll(() => {
  parts = createStubParts();
  server = listen(createApp(parts), { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
});
afterAll(() => server.stop(true));

/** The reply to a request that closes its connection. */
async function replyTo(start: string, head = HEAD): Promise<string> {
  return (await talkTo(server.port, `${start}\r\n${head}Connection: close\r\n\r\n`)).text;
}

describe('HTTP/1.0 without Host', () => {
  test.each(['/health/live', '/health/ready', '/health/live/'])('200 %s', async (path) => {
    for (const method of ['GET', 'HEAD']) {
      // The end of the connection is the end of the reply.
      const { text, isClosed } = await talkTo(server.port, `${method} ${path} HTTP/1.0\r\n\r\n`);
      expect(text).toStartWith('HTTP/1.1 200 ');
      expect(text.endsWith('\r\n\r\n')).toBe(method === 'HEAD');
      expect(isClosed).toBe(true);
    }
  });

  test.each(['/v1/whoami', '/health/../v1/whoami', '/metrics', '/'])('400 %s', async (path) => {
    const text = await replyTo(`GET ${path} HTTP/1.0`, `Authorization: ${AUTHORIZATION}\r\n`);
    expect(text).toStartWith('HTTP/1.1 400 ');
  });
});

describe('gzip', () => {
  beforeAll(buildGuide, 60_000);

  test.each([
    ['gzip', true],
    ['GZIP;q=0.5', true],
    ['br, *', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000, *', false],
    ['*;q=0', false],
    ['identity', false],
    [null, false],
  ])('Accept-Encoding %p: %p', (header, isTaken) => {
    expect(acceptsGzip(header)).toBe(isTaken);
  });

  const ask = (path: string, coding: string) =>
    createClient().send('GET', path, { headers: { 'Accept-Encoding': coding } });
  const paths = [...new Set(createApp(createStubParts()).routes.map(({ path }) => path))];

  test.each(['/openapi.json', '/docs', '/forms/sri.json'])('%s', async (path) => {
    expect((await ask(path, 'gzip')).headers.get('Content-Encoding')).toBe('gzip');
    expect((await ask(path, 'gzip;q=0')).headers.get('Content-Encoding')).toBeNull();
  });

  test.each(paths)('%s says so to caches, and is no reply about an account', async (path) => {
    const target = samplePath(path.replaceAll(/:(\w+)/g, '{$1}')).replace('*', 'capture');
    const packed = await ask(target, 'gzip');
    if (packed.headers.get('Content-Encoding') === 'gzip') {
      expect(path).not.toStartWith('/v1/');
      const plain = await ask(target, 'identity');
      expect([packed, plain].map(({ headers }) => headers.get('Vary'))).toEqual(
        Array(2).fill('Accept-Encoding'),
      );
    }
  });
});

describe('a body with a Content-Encoding', () => {
  const withBody = ROUTES.filter(({ body }) => body.kind !== 'none');

  test.each(withBody.map(({ method, path, auth }) => [method, path, auth]))(
    'is refused by %s %s',
    async (method, path, auth) => {
      const client = createClient();
      for (const coding of ['gzip', 'br', 'identity']) {
        const headers = {
          'Content-Encoding': coding,
          'X-Vault-Passphrase': 'pass',
          'X-Vault-Capture-Secret': ENDPOINT.secret,
          ...(auth === 'console' ? OF_CONSOLE : {}),
        };
        const answer = await client.send(method, `${samplePath(path)}?${NEEDED[path] ?? ''}`, {
          headers,
          body: '{}',
        });
        expect(answer.status).toBe(400);
        expect(answer.error).toMatchObject({
          code: 'content_encoding_unsupported',
          field: 'header.Content-Encoding',
        });
      }
      expect(client.parts.asked).toEqual([]);
      // Its credentials are not missing.
      expect(client.parts.recorded).toEqual([]);
    },
  );

  test.each([
    ['', '401 unauthenticated'],
    ['https://other.test', '403 not_allowed'],
  ])('is looked at after the caller: origin %p', async (origin, outcome) => {
    const headers = { Authorization: '', 'Content-Encoding': 'gzip', ...(origin && { Origin: origin }) };
    const { status, error } = await createClient().send('POST', '/v1/key', { headers, body: '{}' });
    expect(`${status} ${error.code}`).toBe(outcome);
  });
});

describe('Content-Length twice', () => {
  test.each([
    ['POST', '2', '{}'],
    ['GET', '0', ''],
  ])('%s', async (method, length, body) => {
    const field = `Content-Length: ${length}\r\n`;
    const { text, isClosed } = await talkTo(
      server.port,
      `${method} /v1/vault HTTP/1.1\r\n${HEAD}${field}${field}\r\n${body}`,
    );
    expect(text).toStartWith('HTTP/1.1 400 ');
    expect(text).toContain('"field":"header.Content-Length"');
    expect(isClosed).toBe(true);
  });
});

describe('a method that no path has', () => {
  test.each(KNOWN_METHODS)('%s is answered with 405', async (method) => {
    const text = await replyTo(`${method} /v1/whoami HTTP/1.1`);
    expect(text).toStartWith('HTTP/1.1 405 ');
    expect(text).toContain('\r\nAllow: GET, HEAD\r\n');
    expect(text).toContain('"code":"method_not_allowed"');
  });

  test.each(['FOO', 'get', 'GETS'])(
    '%s, which the runtime does not know, reaches nothing',
    async (method) => {
      const asked = parts.asked.length;
      const { text, isClosed } = await talkTo(server.port, `${method} /v1/whoami HTTP/1.1\r\n${HEAD}\r\n`);
      expect([text, isClosed]).toEqual(['', true]);
      expect(parts.asked).toHaveLength(asked);
    },
  );
});
