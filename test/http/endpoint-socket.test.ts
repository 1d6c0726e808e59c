import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { listen } from '../../server/http/listen/listen.ts';
import { ENDPOINT } from './stub-endpoints.ts';
import { AUTHORIZATION, createStubParts } from './stub-parts.ts';
import { createStubApp, type Seen } from './stub-routes.ts';
import { type TalkArguments, talkTo } from './talk.ts';

const HEAD = `Host: vault.test\r\nX-Vault-Capture-Secret: ${ENDPOINT.secret}\r\n`;
const CAPTURE = `POST /v1/capture/${ENDPOINT.id} HTTP/1.1\r\n${HEAD}`;
const PREFLIGHT = `OPTIONS /v1/capture/${ENDPOINT.id} HTTP/1.1\r\nHost: vault.test\r\nOrigin: https://a.test\r\n`;
const REMOVE = `DELETE /v1/capture/${ENDPOINT.id} HTTP/1.1\r\nHost: vault.test\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`;
const LAST = `GET /v1/nothing HTTP/1.1\r\nHost: vault.test\r\nConnection: close\r\n\r\n`;

const seen: Seen[] = [];
let server: ReturnType<typeof listen>;

beforeAll(() => {
  const stubs = createStubParts();
  const parts = { ...stubs, http: { ...stubs.http, bodyTimeoutMs: 200 } };
  const app = createStubApp(seen)(parts);
  server = listen(app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
});
afterAll(() => server.stop(true));
beforeEach(() => seen.splice(0));

function talk(...args: TalkArguments) {
  return talkTo(server.port, ...args);
}
function statuses(text: string) {
  return [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));
}

describe('a preflight', () => {
  test('has no body and no length, and the connection goes on', async () => {
    const { text } = await talk(`${PREFLIGHT}\r\n${CAPTURE}Content-Length: 2\r\n\r\n{}${LAST}`);
    expect(statuses(text)).toEqual([204, 200, 404]);
    const [head = ''] = text.split('\r\n\r\n');
    expect(head).toContain('Access-Control-Allow-Origin: *');
    expect(head).not.toMatch(/content-length|transfer-encoding|set-cookie/i);
    expect(seen).toMatchObject([{ operation: 'capture', body: '{}' }]);
  });

  test('with a body does not make a request of it', async () => {
    const { text } = await talk(`${PREFLIGHT}Content-Length: ${REMOVE.length}\r\n\r\n${REMOVE}${LAST}`);
    expect(statuses(text)).toEqual([204, 404]);
    expect(seen).toEqual([]);
  });

  test('with a long or endless one ends the connection', async () => {
    for (const rest of ['Content-Length: 100000\r\n\r\n{', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n']) {
      const { text, isClosed } = await talk(PREFLIGHT + rest);
      expect(statuses(text)).toEqual([204]);
      expect(isClosed).toBe(true);
    }
  });
});

describe('a capture', () => {
  test('over the limit is refused for any origin, and the connection ends', async () => {
    for (const rest of [
      'Content-Length: 262145\r\n\r\n{',
      `Transfer-Encoding: chunked\r\n\r\n40001\r\n${' '.repeat(262_145)}\r\n`,
    ]) {
      const { text, isClosed } = await talk(CAPTURE + rest);
      expect(statuses(text)).toEqual([413]);
      expect(text).toContain('Access-Control-Allow-Origin: *');
      expect(isClosed).toBe(true);
    }
  });

  test('that does not arrive in time says so to any origin', async () => {
    const { text } = await talk(`${CAPTURE}Content-Length: 10\r\n\r\n{"n"`);
    expect(statuses(text)).toEqual([400]);
    expect(text).toContain('Access-Control-Allow-Origin: *');
  });
});
