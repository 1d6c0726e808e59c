import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createApp } from '../../server/http/app.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { acceptsGzip } from '../../server/http/plugins/accept.ts';
import { ROUTES } from '../../server/http/routes/table.ts';
import { createClient, samplePath } from './client.ts';
import { AUTHORIZATION, createStubParts, type StubParts } from './stub-parts.ts';
import { talkTo } from './talk.ts';

const HEAD = `Host: vault.test\r\nAuthorization: ${AUTHORIZATION}\r\n`;

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

describe('HEAD', () => {
  test.each([...new Set(ROUTES.filter(({ method }) => method === 'GET').map(({ path }) => path))])(
    '%s has no body and no error of its own',
    async (path) => {
      const text = await replyTo(`HEAD ${samplePath(path)} HTTP/1.1`);
      expect(text).not.toStartWith('HTTP/1.1 405 ');
      expect(text).toEndWith('\r\n\r\n');
    },
  );
});

describe('HTTP/1.0 without Host', () => {
  test.each(['/health/live', '/health/ready', '/health/live/'])('200 %s', async (path) => {
    expect(await replyTo(`GET ${path} HTTP/1.0`, '')).toStartWith('HTTP/1.1 200 ');
  });

  test.each(['/v1/whoami', '/health/../v1/whoami', '/metrics', '/'])('400 %s', async (path) => {
    const text = await replyTo(`GET ${path} HTTP/1.0`, `Authorization: ${AUTHORIZATION}\r\n`);
    expect(text).toStartWith('HTTP/1.1 400 ');
  });
});

describe('gzip', () => {
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

  test.each(['/openapi.json', '/docs', '/forms/sri.json'])('%s', async (path) => {
    const ask = (coding: string) =>
      createClient().send('GET', path, { headers: { 'Accept-Encoding': coding } });
    expect((await ask('gzip')).headers.get('Content-Encoding')).toBe('gzip');
    expect((await ask('gzip;q=0')).headers.get('Content-Encoding')).toBeNull();
  });

  test('data is never compressed', async () => {
    const answer = await createClient().send('GET', '/v1/vault', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Encoding')).toBeNull();
  });
});

test.each(['gzip', 'br', 'identity'])('a body with Content-Encoding %s is refused', async (coding) => {
  const client = createClient();
  const headers = { 'Content-Encoding': coding };
  const target = '/v1/vault?user=u1&passphrase=pass';
  const answer = await client.send('POST', target, { headers, body: '{}' });
  expect(answer.status).toBe(400);
  expect(answer.error.code).toBe('content_encoding_unsupported');
  expect(client.parts.asked).toEqual([]);
});
