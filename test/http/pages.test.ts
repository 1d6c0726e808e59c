import { beforeAll, describe, expect, test } from 'bun:test';
import type { Health } from '../../server/http/health.ts';
import { buildGuide } from '../helpers/built-guide.ts';
import { createClient } from './client.ts';
import { stub } from './stub-endpoints.ts';
import { createStubParts } from './stub-parts.ts';

const NOBODY = { headers: { authorization: '' } };

beforeAll(buildGuide, 60_000);

describe('health', () => {
  test('live asks nobody', async () => {
    const ready = () => Promise.reject(new Error('away'));
    const answer = await createClient({ health: stub<Health>({ ready }) }).send(
      'GET',
      '/health/live',
      NOBODY,
    );
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual({ status: 'ok' });
  });

  test.each([
    [true, 200, 'ok'],
    [false, 503, 'failing'],
  ] as const)('ready %p: %d', async (ready, status, word) => {
    const checks = { redis: ready ? 'ok' : 'failing' } as const;
    const client = createClient({ health: stub<Health>({ ready: async () => ({ ready, checks }) }) });
    const answer = await client.send('GET', '/health/ready/', NOBODY);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toEqual({ status: word, checks });
    expect(answer.headers.get('X-Request-Id')).toBe('fresh-request-id');
  });

  test('a health check that fails is a bug, not a word of the framework', async () => {
    const ready = () => Promise.reject(new Error('redis://secret'));
    const answer = await createClient({ health: stub<Health>({ ready }) }).send('GET', '/health/ready');
    expect(answer.status).toBe(500);
    expect(answer.error.code).toBe('internal');
  });
});

test('metrics are Prometheus text', async () => {
  const answer = await createClient().send('GET', '/metrics', NOBODY);
  expect(answer.headers.get('Content-Type')).toStartWith('text/plain; version=0.0.4');
  expect(answer.text).toContain('# TYPE vault_http_request_duration_seconds histogram');
});

describe('the landing page', () => {
  const ask = (accept: string) => createClient().send('GET', '/', { headers: { authorization: '', accept } });

  test('is for those who ask for a page, and has no script', async () => {
    const answer = await ask('text/html,application/xhtml+xml,*/*;q=0.8');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Security-Policy')).toStartWith(
      "default-src 'none'; style-src 'sha256-",
    );
    expect(answer.headers.get('Vary')).toBe('Accept, Accept-Encoding');
    expect(answer.text).toContain('Staging, version');
    expect(answer.text).not.toContain('<script');
    for (const link of ['/guide', '/docs', '/console', '/forms', '/health/ready']) {
      expect(answer.text).toContain(`href="${link}"`);
    }
  });

  test('says what comes first: a key, and a card', async () => {
    const { text } = await ask('text/html');
    const steps = [...text.matchAll(/<li><a href="([^"]+)">([^<]+)<\/a>/g)].map(([, ...step]) => step);
    expect(steps).toEqual([
      ['/console#/keys', 'Make a key'],
      ['/guide/quick-start#4-store-a-card', 'Store a card'],
    ]);
  });

  test.each(['', '*/*', 'application/json', 'application/json, text/html;q=0.9'])(
    'is an unknown path for %p',
    async (accept) => {
      const answer = await ask(accept);
      expect(answer.status).toBe(404);
      expect(answer.error.code).toBe('not_found');
    },
  );
});

test.each([
  [{}, {}],
  [{ hasAdmin: true }, { api: 'https://vault.test' }],
  [{ formsUrl: 'https://forms.test' }, { forms: 'https://forms.test' }],
])('the console of %p links to other people at %p', async (settings, origins) => {
  const { http } = createStubParts();
  const client = createClient({ http: { ...http, ...settings } });
  const answer = await client.send('GET', '/console/origins', NOBODY);
  const sign_in = { passkey: true, oidc: false, password: true };
  expect(JSON.parse(answer.text)).toEqual({ ...origins, sign_in, session: false });
});

test('the console learns whether the browser has the cookie of a session', async () => {
  const cookie = `a=b; __Host-vault_session=${'x'.repeat(43)}`;
  for (const [header, session] of [
    [cookie, true],
    [cookie.slice(0, -1), false],
    ['other=1', false],
  ] as const) {
    const answer = await createClient().send('GET', '/console/origins', { headers: { cookie: header } });
    expect(JSON.parse(answer.text)).toMatchObject({ session });
  }
});

test('pages take GET and HEAD alone', async () => {
  for (const path of ['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs']) {
    expect(await createClient().send('HEAD', path, NOBODY)).toMatchObject({ status: 200, text: '' });
    const answer = await createClient().send('POST', path, NOBODY);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('Allow')).toBe('GET, HEAD');
  }
});

test('the document names the server and no other host but those of its own texts', async () => {
  const answer = await createClient().send('GET', '/openapi.json', NOBODY);
  expect(JSON.parse(answer.text).servers).toEqual([{ url: 'https://vault.test/v1' }]);
});

test('the document for generators has no webhooks and no schema that only they use', async () => {
  const client = createClient();
  const whole = JSON.parse((await client.send('GET', '/openapi.json', NOBODY)).text);
  const calls = JSON.parse((await client.send('GET', '/openapi.json?webhooks=false', NOBODY)).text);
  expect(whole.webhooks.proxyPost.post.tags).toEqual(['webhook']);
  expect(whole.tags.map(({ name }: { name: string }) => name)).toContain('webhook');
  expect(calls.webhooks).toBeUndefined();
  expect(calls.paths).toEqual(whole.paths);
  expect(Object.keys(calls.components.schemas)).not.toContain('PostWebhook');
  expect(Object.keys(calls.components.schemas)).toContain('GetWebhook');
});
