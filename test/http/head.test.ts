import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createApp } from '../../server/boot/app.ts';
import { ROUTES } from '../../server/boot/routes.ts';
import { listen } from '../../server/http/listen/listen.ts';
import type { VaultTrees } from '../../server/vault/list/list.ts';
import { overriding } from '../helpers/hold.ts';
import { ENDPOINT, stub } from './stub-endpoints.ts';
import { AUTHORIZATION, createStubParts, type StubParts } from './stub-parts.ts';
import { talkTo } from './talk.ts';

/** What a reading needs beside the credentials, so that it succeeds. */
const QUERIES: Readonly<Record<string, string>> = {
  '/v1/luhn': 'number=4242424242424242',
  '/v1/vault': 'user=u1&token=tok&passphrase=pass',
  '/v1/vault/metadata': 'user=u1&token=tok',
  '/v1/retrieve/:unique_id': 'token=tok',
};
/** The same routes, asked for something else. */
const OTHERS = [
  '/v1/vault',
  '/v1/vault?user=u1&passphrase=pass&decrypt_all=true',
  '/v1/retrieve/shop?decrypt_all=true',
];

let parts: StubParts;
let server: ReturnType<typeof listen>;
const paths = [...new Set(createApp(createStubParts()).routes.map(({ path }) => path))];

beforeAll(() => {
  parts = createStubParts();
  server = listen(createApp(parts), { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
});
afterAll(() => server.stop(true));

function targetOf(path: string): string {
  const query = QUERIES[path];
  return (
    path.replaceAll(/:\w+/g, ENDPOINT.id).replace('*', 'capture') + (query === undefined ? '' : `?${query}`)
  );
}

interface Replied {
  readonly status: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What the services were asked for. */
  readonly asked: readonly string[];
}

async function ask(method: string, target: string, port = server.port): Promise<Replied> {
  const before = parts.asked.length;
  const head = `Host: vault.test\r\nAuthorization: ${AUTHORIZATION}\r\nX-Vault-Retrieve-Secret: ${ENDPOINT.secret}\r\n`;
  const { text } = await talkTo(port, `${method} ${target} HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
  const end = text.indexOf('\r\n\r\n');
  const [status = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = lines.map(
    (line) => [line.split(':')[0]?.toLowerCase() ?? '', line.replace(/^[^:]*:\s*/, '')] as const,
  );
  return {
    status,
    headers: Object.fromEntries(headers),
    body: text.slice(end + 4),
    asked: parts.asked.slice(before).map(({ operation }) => operation),
  };
}

test('every route that is read is among the paths', () => {
  const read = ROUTES.filter(({ method }) => method === 'GET').map(({ path }) =>
    path.replace('{path}', '*').replaceAll(/\{(\w+)\}/g, ':$1'),
  );
  expect(read.filter((path) => !paths.includes(path))).toEqual([]);
});

/** What is left of headers that are the same whenever it is asked: metrics count the requests themselves. */
function lasting(
  target: string,
  { date = '', 'content-length': length = '', ...headers }: Replied['headers'],
) {
  return { ...headers, date: date.slice(-3), length: target === '/metrics' ? 'any' : length };
}

describe('HEAD tells what GET tells, without the body, and does the same', () => {
  test.each([...paths.map(targetOf), ...OTHERS])('%s', async (target) => {
    const got = await ask('GET', target);
    const told = await ask('HEAD', target);
    expect(told).toEqual({ ...got, headers: told.headers, body: '' });
    expect(lasting(target, told.headers)).toEqual(lasting(target, got.headers));
    expect(told.headers['content-length']).toMatch(/^[1-9]\d*$/);
  });
});

/** A listing without an end, which counts how often more of it was asked for. */
function createEndless() {
  const seen = { pieces: 0, isCancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        seen.pieces += 1;
        controller.enqueue(new Uint8Array(40_000));
      },
      cancel: () => {
        seen.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { seen, stream };
}

describe('HEAD of a long listing', () => {
  test.each([
    '/v1/vault?user=u1&passphrase=pass&decrypt_all=true&limit=-1',
    '/v1/retrieve/shop?decrypt_all=true&limit=-1',
  ])('%s reads only its beginning', async (target) => {
    const { seen, stream } = createEndless();
    const { retrievals } = createStubParts();
    const endless = createApp(
      createStubParts({
        trees: stub<VaultTrees>({ decryptAll: async () => ({ stream }) }),
        retrievals: overriding(retrievals, { use: async () => ({ stream }) }),
      }),
    );
    const own = listen(endless, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
    const { status, headers, body } = await ask('HEAD', target, own.port);
    await own.stop(true);
    expect([status, body]).toEqual(['HTTP/1.1 200 OK', '']);
    expect(headers).toMatchObject({ 'transfer-encoding': 'chunked' });
    expect(headers).not.toHaveProperty('content-length');
    expect(seen).toEqual({ pieces: 2, isCancelled: true });
  });
});
