import { describe, expect, test } from 'bun:test';
import { createClient } from './client.ts';
import { ENDPOINT } from './stub-endpoints.ts';
import { createStubApp, type Seen } from './stub-routes.ts';

const CAPTURE = `/v1/capture/${ENDPOINT.id}`;
const RETRIEVE = `/v1/retrieve/${ENDPOINT.id}`;
const NOBODY = { authorization: '' };

function open() {
  const seen: Seen[] = [];
  return { seen, client: createClient({}, createStubApp(seen)) };
}

describe('the secret', () => {
  const secrets: readonly (readonly [string, string])[] = [
    ['vcs1_abc', 'vcs1_abc'],
    ['with space, and comma', 'with space, and comma'],
    ['%41', '%41'],
    ['x'.repeat(256), 'x'.repeat(256)],
    ['x'.repeat(257), ''],
    ['x'.repeat(60_000), ''],
    ['', ''],
  ];
  test.each(secrets)('%s is handed on', async (header, secret) => {
    const { seen, client } = open();
    await client.send('POST', CAPTURE, { headers: { ...NOBODY, 'X-Vault-Capture-Secret': header } });
    await client.send('GET', RETRIEVE, { headers: { ...NOBODY, 'X-Vault-Retrieve-Secret': header } });
    expect(seen).toMatchObject([
      { operation: 'capture', secret },
      { operation: 'retrieve', secret },
    ]);
  });

  test('a missing one is an empty one, and both are wrong', async () => {
    const { seen, client } = open();
    const wrong: readonly Record<string, string>[] = [
      {},
      { 'X-Vault-Capture-Secret': '' },
      { 'X-Vault-Capture-Secret': 'vcs1_wrong' },
      { 'X-Vault-Capture-Secret': 'x'.repeat(300) },
      { 'X-Vault-Retrieve-Secret': ENDPOINT.secret },
      { authorization: `Bearer ${btoa('x')}` },
    ];
    const texts = await Promise.all(
      wrong.map(async (headers) => {
        const answer = await client.send('POST', CAPTURE, { headers: { ...NOBODY, ...headers } });
        return `${answer.status} ${answer.text}`;
      }),
    );
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toStartWith('403 ');
    expect(seen.map(({ secret }) => secret)).toEqual(['', '', 'vcs1_wrong', '', '', '']);
  });

  test('neither the query nor the body has it', async () => {
    const { seen, client } = open();
    const query = `?secret=${ENDPOINT.secret}&X-Vault-Capture-Secret=${ENDPOINT.secret}`;
    const body = JSON.stringify({ secret: ENDPOINT.secret });
    await client.send('POST', `${CAPTURE}${query}`, { headers: NOBODY, body });
    expect(seen).toMatchObject([{ secret: '' }]);
  });

  test('two of them are one wrong one', async () => {
    const { seen, client } = open();
    const headers = new Headers(NOBODY);
    headers.append('X-Vault-Capture-Secret', 'one');
    headers.append('X-Vault-Capture-Secret', 'two');
    await client.send('POST', CAPTURE, { headers });
    expect(seen).toMatchObject([{ secret: 'one, two' }]);
  });
});

describe('a route with a secret', () => {
  const headers = { ...NOBODY, 'X-Vault-Capture-Secret': ENDPOINT.secret };

  test('asks no account service, and bills nobody itself', async () => {
    const { seen, client } = open();
    const agent = { ...headers, 'User-Agent': 'browser', authorization: `Basic ${btoa('shop:wrong')}` };
    expect((await client.send('POST', CAPTURE, { headers: agent })).status).toBe(200);
    expect(client.parts.asked).toEqual([]);
    expect(client.parts.metered).toEqual([]);
    const origin = { ip: '127.0.0.1', userAgent: 'browser', requestId: 'fresh-request-id' };
    expect(seen[0]?.ctx).toMatchObject({ ...origin, account: undefined });
  });

  test.each(['cross-site', 'same-site', 'same-origin', 'none'])('serves a page that is %s', async (site) => {
    const { client } = open();
    const fromPage = { ...headers, 'Sec-Fetch-Site': site, Origin: 'https://elsewhere.test' };
    expect((await client.send('POST', CAPTURE, { headers: fromPage })).status).toBe(200);
  });

  test('refuses the same faults in the query for every id and secret', async () => {
    const { client } = open();
    for (const query of ['next_token=1&next_token=2', 'next_token=%ff', 'mode=c', 'mode=']) {
      const texts = await Promise.all(
        [CAPTURE, '/v1/capture/unknown'].flatMap((path) =>
          [headers, NOBODY].map(
            async (some) => (await client.send('POST', `${path}?${query}`, { headers: some })).text,
          ),
        ),
      );
      expect(new Set(texts).size).toBe(1);
      expect(texts[0]).toMatch(/"code":"(?:invalid_request|duplicate_parameter)"/);
    }
  });
});
