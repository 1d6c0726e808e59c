import { describe, expect, test } from 'bun:test';
import type { Accounts } from '../../server/account/accounts.ts';
import type { Audit } from '../../server/audit/audit.ts';
import { ROUTES } from '../../server/boot/routes.ts';
import { ERRORS } from '../../server/core/error-table.ts';
import { type ErrorCode, VaultError } from '../../server/core/errors.ts';
import { isOpen } from '../../server/http/cors.ts';
import type { Metering } from '../../server/request/metering.ts';
import { Metrics } from '../../server/telemetry/metrics.ts';
import type { VaultTrees } from '../../server/vault/list/list.ts';
import type { Vault } from '../../server/vault/vault.ts';
import { createClient, samplePath } from './client.ts';
import { stub } from './stub-endpoints.ts';
import { createStubParts, TOKEN_INFO } from './stub-parts.ts';

const CANARY = 'canary-4929123412341234';
const STORE = '/v1/vault?user=u1&passphrase=pass';

function failing(error: unknown) {
  const remove = async () => {
    throw error;
  };
  return createClient({ vault: stub<Vault>({ remove }) });
}
const REMOVE = '/v1/vault?user=u1&token=tok';

describe('headers of every reply under /v1', () => {
  test.each([
    ['GET', '/v1/whoami'],
    ['PATCH', '/v1/whoami'],
    ['GET', '/v1/nothing'],
  ])('%s %s', async (method, target) => {
    const { headers } = await createClient().send(method, target);
    expect(headers.get('X-Request-Id')).toBe('fresh-request-id');
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(headers.get('Referrer-Policy')).toBe('no-referrer');
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(headers.get('Content-Type')).toBe('application/json');
  });

  test.each([
    ['abc45678', true],
    ['a.b:c_d-E'.repeat(14), true],
    ['x'.repeat(129), false],
    ['white space', false],
    ['<script>alert', false],
  ])('X-Request-Id %s is kept: %p', async (id, isKept) => {
    const answer = await createClient().send('GET', '/v1/luhn', { headers: { 'X-Request-Id': id } });
    expect(answer.headers.get('X-Request-Id')).toBe(isKept ? id : 'fresh-request-id');
    expect(answer.error.request_id).toBe(isKept ? id : 'fresh-request-id');
  });
});

describe('Idempotency-Key', () => {
  test.each(['k', 'x'.repeat(255), 'with space and ~!'])('%s is handed on', async (key) => {
    const client = createClient();
    const answer = await client.send('POST', STORE, { headers: { 'Idempotency-Key': key }, body: '{}' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Idempotency-Replayed')).toBeNull();
    expect(client.parts.asked.at(-1)?.ctx?.idempotencyKey).toBe(key);
  });

  test.each(['', 'x'.repeat(256), 'käy', 'a\tb'])('%p is refused', async (key) => {
    const answer = await createClient().send('POST', STORE, {
      headers: { 'Idempotency-Key': key },
      body: '{}',
    });
    expect(answer.error).toMatchObject({ code: 'invalid_request', field: 'header.Idempotency-Key' });
  });

  test('a kept reply says so', async () => {
    const target = '/v1/vault/update?user=u1&token=tok&passphrase=pass';
    const answer = await createClient().send('POST', target, { body: '{}' });
    expect(answer.headers.get('Idempotency-Replayed')).toBe('true');
    expect(JSON.parse(answer.text)).toEqual(TOKEN_INFO);
  });
});

describe('refusals', () => {
  let code: ErrorCode = 'internal';
  // No route publishes all codes.
  const anything = createClient({
    http: { ...createStubParts().http, checkReplies: false },
    vault: stub<Vault>({
      remove: async () => {
        throw new VaultError(code, { field: 'query.token' });
      },
    }),
  });

  test.each(Object.keys(ERRORS) as ErrorCode[])('%s from a service', async (each) => {
    code = each;
    const answer = await anything.send('DELETE', REMOVE);
    const { status, text, retryAfterSeconds } = ERRORS[code];
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toEqual({
      error: text,
      code,
      request_id: 'fresh-request-id',
      field: 'query.token',
    });
    expect(answer.headers.get('Retry-After')).toBe(retryAfterSeconds ? String(retryAfterSeconds) : null);
  });

  test('a code that the route does not publish is a bug', async () => {
    const client = failing(new VaultError('rule_not_found'));
    expect((await client.send('DELETE', REMOVE)).error).toMatchObject({ code: 'internal' });
    expect((await failing(new VaultError('token_not_found')).send('DELETE', REMOVE)).status).toBe(404);
  });

  test.each([
    ['Error', new Error(CANARY)],
    ['string', CANARY],
    ['null', null],
    ['object', { status: 418, message: CANARY, code: 'NOT_FOUND' }],
    ['Response', new Response(CANARY)],
  ])('an unknown error (%s) is internal and leaves one line', async (name, error) => {
    const client = failing(error);
    const answer = await client.send('DELETE', REMOVE);
    expect(answer.status).toBe(500);
    expect(Object.keys(answer.error)).toEqual(['error', 'code', 'request_id']);
    expect(answer.error.code).toBe('internal');
    const line = client.parts.lines.find(({ event }) => event === 'unexpected_error');
    expect(line).toMatchObject({
      error: name === 'Response' ? 'object' : name,
      request_id: 'fresh-request-id',
    });
    expect(JSON.stringify(client.parts.lines) + answer.text).not.toContain(CANARY);
  });

  test('a bug whose rejection cannot be recorded is in the log all the same', async () => {
    const remove = async () => {
      throw new TypeError(CANARY);
    };
    const record = async () => {
      throw new VaultError('store_unavailable');
    };
    const client = createClient({ vault: stub<Vault>({ remove }), audit: stub<Audit>({ record }) });
    const answer = await client.send('DELETE', REMOVE);
    expect(answer.error.code).toBe('store_unavailable');
    expect(client.parts.lines).toMatchObject([
      { event: 'unexpected_error', code: 'internal', error: 'TypeError' },
      { event: 'request', status: 503, code: 'store_unavailable' },
    ]);
  });

  test('a reply that does not fit its schema is a bug', async () => {
    const { accounts } = createStubParts();
    const whoami = async () => ({ ...(await accounts.whoami({} as never)), user: 7 as never });
    const answer = await createClient({ accounts: stub<Accounts>({ whoami }) }).send('GET', '/v1/whoami');
    expect(answer.error.code).toBe('internal');
  });

  test('a request that cannot be counted is not answered, and its stream is given up', async () => {
    let isGivenUp = false;
    const stream = new ReadableStream<Uint8Array>({
      cancel: () => {
        isGivenUp = true;
      },
    });
    const request = async () => {
      throw new VaultError('store_unavailable');
    };
    const client = createClient({
      trees: stub<VaultTrees>({ list: async () => ({ stream }) }),
      metering: stub<Metering>({ request }),
    });
    const answer = await client.send('GET', '/v1/vault');
    expect(answer.status).toBe(503);
    expect(answer.headers.get('Retry-After')).toBe('2');
    expect(isGivenUp).toBe(true);
  });
});

describe('404 and 405', () => {
  test.each(['/v1', '/v1/', '/V1/vault', '/v1//vault', '/v1/%00'])('GET %s', async (target) => {
    const client = createClient();
    const answer = await client.send('GET', target);
    expect(answer.status).toBe(404);
    expect(answer.error.code).toBe('not_found');
    expect(client.parts.lines).toMatchObject([{ route: '(none)', status: 404, code: 'not_found' }]);
  });

  test('every other method of a path is refused with the methods that it takes', async () => {
    const client = createClient();
    for (const [path, ofPath] of Map.groupBy(ROUTES, (route) => route.path)) {
      const isOpenPath = ofPath.some(isOpen);
      const allowed: readonly string[] = [
        ...ofPath.map((route) => route.method),
        ...(ofPath.some(({ method }) => method === 'GET') ? ['HEAD'] : []),
        ...(isOpenPath ? ['OPTIONS'] : []),
      ];
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'PROPFIND']) {
        if (allowed.includes(method)) {
          continue;
        }
        const answer = await client.send(method, samplePath(path));
        expect(answer.status).toBe(405);
        expect(answer.headers.get('Allow')).toBe(allowed.join(', '));
        if (method !== 'HEAD') {
          expect(JSON.stringify(answer.error.error)).toContain(allowed.join(', '));
        }
      }
    }
  }, 60_000);
});

describe('the request log and the metrics', () => {
  test('hold templates, codes and the account, and nothing that was sent', async () => {
    const client = createClient({ metrics: new Metrics() });
    const headers = { 'User-Agent': CANARY, 'Idempotency-Key': CANARY, 'X-Vault-Passphrase': CANARY };
    await client.send('POST', `/v1/vault/?user=u1&reference=${CANARY}`, {
      headers,
      body: `{"n":"${CANARY}"}`,
    });
    await client.send('GET', `/v1/vault?user=u1&limit=${CANARY}`, { headers });
    await client.send('GET', `/v1/${CANARY}`, { headers });
    expect(client.parts.lines).toMatchObject([
      { event: 'request', method: 'POST', route: '/v1/vault', status: 200, account: 'shop', level: 'info' },
      { event: 'request', method: 'GET', route: '/v1/vault', status: 400, code: 'invalid_request' },
      { event: 'request', method: 'GET', route: '(none)', status: 404, code: 'not_found' },
    ]);
    const metrics = await client.parts.metrics.render();
    expect(metrics).toContain(
      'vault_http_request_duration_seconds_count{route="/v1/vault",method="POST",status="2xx"} 1',
    );
    expect(metrics).toContain('vault_event_loop_delay_seconds_bucket');
    expect(JSON.stringify(client.parts.lines) + metrics).not.toContain(CANARY);
  });

  test('a long user agent is cut', async () => {
    const client = createClient();
    await client.send('GET', '/v1/whoami', { headers: { 'User-Agent': 'x'.repeat(5_000) } });
    expect(client.parts.asked.at(-1)?.ctx?.userAgent).toBe('x'.repeat(512));
  });
});
