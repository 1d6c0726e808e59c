import { describe, expect, test } from 'bun:test';
import { createApp } from '../../server/boot/app.ts';
import { API, isPublic, ROUTES } from '../../server/boot/routes.ts';
import { buildOpenApi } from '../../server/http/openapi/document.ts';
import { createClient } from './client.ts';

/** What the public listener has where there are two, and nothing else. */
const PUBLIC = [
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map(
    (method) => `${method} /v1/inbound/{id}/{path}`,
  ),
  'POST /v1/capture/{unique_id}',
  'GET /v1/capture/{unique_id}',
  'GET /v1/capture/{unique_id}/bin/{digits}',
  'GET /v1/capture/{unique_id}/sealing-key',
  'GET /v1/retrieve/{unique_id}',
  'GET /v1/retrieve/iframe/{form_id}',
  'GET /v1/capture/iframe/{form_id}',
];

const publicOnly = createClient({}, (parts) => createApp(parts, 'public'));
const everything = createClient();

function pathOf(path: string): string {
  return path.replaceAll(/\{\w+\}/g, 'some-id');
}

async function shownOf(client: typeof publicOnly, method: string, path: string): Promise<string> {
  const { status, text, headers } = await client.send(method, path);
  const shown = [...headers].filter(([name]) => name !== 'x-request-id');
  return `${status} ${text.replaceAll(/"request_id":"[^"]*"/g, '')} ${JSON.stringify(shown)}`;
}

describe('the table of routes', () => {
  test('has these on the public listener', () => {
    const found = ROUTES.filter(isPublic).map(({ method, path }) => `${method} ${path}`);
    expect(found.toSorted()).toEqual(PUBLIC.toSorted());
  });

  const elsewhere = [...new Set(ROUTES.map(({ path }) => path))].filter(
    (path) =>
      !ROUTES.some((route) => route.path === path && isPublic(route)) &&
      // These stand where the id of an endpoint does.
      !/^\/v1\/(capture|retrieve)\/iframe$/.test(path),
  );
  test.each(elsewhere)('%s is an unknown path there, for every method', async (path) => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD']) {
      // Errors have another shape below the path of the relay, whatever is there.
      const root = path.startsWith('/v1/relay/') ? '/v1/relay/' : '/v1';
      const unknown = await shownOf(publicOnly, method, `${root}/no-such-path`);
      expect(unknown).toStartWith('404');
      expect(await shownOf(publicOnly, method, pathOf(path))).toBe(unknown);
    }
  });

  test('an inbound takes requests there, and has no address of its own', async () => {
    const unknown = await shownOf(publicOnly, 'POST', '/v1/no-such-path');
    for (const path of ['/v1/inbound/shop', '/v1/inbound/shop/']) {
      expect(await shownOf(publicOnly, 'POST', path)).toBe(unknown);
    }
    expect(await shownOf(publicOnly, 'POST', '/v1/inbound/shop/x')).toStartWith('403');
  });

  test('a path with methods of both kinds names only the public one', async () => {
    const answer = await publicOnly.send('DELETE', '/v1/capture/some-id');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('Allow')).toBe('POST, GET, HEAD, OPTIONS');
  });

  test.each(['capture', 'retrieve'])(
    '/v1/%s/iframe is the id of an endpoint that nobody has',
    async (noun) => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const path = `/v1/${noun}/`;
        expect(await shownOf(publicOnly, method, `${path}iframe`)).toBe(
          await shownOf(publicOnly, method, `${path}unknown`),
        );
      }
    },
  );

  test.each(ROUTES.map(({ method, path }) => [method, path] as const))(
    '%s %s is on the other listener',
    async (method, path) => {
      const { status } = await everything.send(method, pathOf(path));
      expect(status).not.toBe(405);
      expect(everything.parts.lines.at(-1)?.route).toBe(path);
    },
  );
});

describe('pages', () => {
  test.each([
    '/metrics',
    '/docs',
    '/guide',
    '/openapi.json',
    '/forms',
    '/forms/preview',
    '/sdk/cardvault-sdk.js',
  ])('%s is not public', async (path) => {
    expect(await shownOf(publicOnly, 'GET', path)).toBe(await shownOf(publicOnly, 'GET', '/no-such-page'));
    expect(await shownOf(publicOnly, 'POST', path)).toBe(await shownOf(publicOnly, 'POST', '/no-such-page'));
  });

  test.each(['/health/live', '/health/ready', '/forms/vault-forms.js', '/forms/sri.json'])(
    '%s is',
    async (path) => {
      expect((await publicOnly.send('GET', path)).status).toBe(200);
      expect((await everything.send('GET', path)).status).toBe(200);
    },
  );
});

test('the document names the public URL for public routes, and the server that gave it for the others', () => {
  const { servers, paths } = buildOpenApi(API, 'https://vault.example.com', isPublic);
  expect(servers).toEqual([{ url: '/v1' }]);
  for (const route of ROUTES) {
    const operation = paths[route.path.slice('/v1'.length)]?.[route.method.toLowerCase()];
    expect(operation?.['servers']).toEqual(
      isPublic(route) ? [{ url: 'https://vault.example.com/v1' }] : undefined,
    );
  }
});
