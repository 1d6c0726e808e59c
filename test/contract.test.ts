import { describe, expect, test } from 'bun:test';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { captureClient, retrieveClient, Vault } from '../sdk/index.ts';
import { isErrorCode } from '../server/core/errors.ts';
import { buildOpenApi } from '../server/http/openapi/document.ts';
import { type AuthRule, routeErrors, scopesOf } from '../server/http/plugins/route.ts';
import { ROUTES } from '../server/http/routes/table.ts';
import { SCOPES } from '../server/http/schema/credential.ts';
import { callNames } from './sdk/call-names.ts';
import { WIRES } from './sdk/wires.ts';

const document = buildOpenApi(ROUTES, 'https://vault.test');

/** The routes that need no account, and what they need instead. */
const OPEN: Readonly<Record<string, AuthRule>> = {
  'POST /v1/capture/{unique_id}': 'capture_secret',
  'GET /v1/capture/{unique_id}': 'capture_secret',
  'GET /v1/capture/{unique_id}/sealing-key': 'public',
  'GET /v1/retrieve/{unique_id}': 'retrieve_secret',
  'GET /v1/retrieve/iframe/{form_id}': 'public',
  'GET /v1/capture/iframe/{form_id}': 'public',
};

/** Whether the SDK leaves a route out: pages are for browsers, and forms need one of their two paths alone. */
function isLeftOut({ path, html }: (typeof ROUTES)[number]): boolean {
  return html === 'always' || path.startsWith('/v1/capture/iframe');
}

/** The routes that change something and are told everything in the path and the query. */
const BODILESS = ['POST /v1/capture', 'POST /v1/retrieve', 'POST /v1/proxy/job/{id}/redeliver'];

test('every scope is needed by a route', () => {
  const needed = new Set<string>(ROUTES.flatMap(({ scope }) => scopesOf(scope)));
  expect(SCOPES.filter((scope) => !needed.has(scope))).toEqual([]);
});

test('operationIds are unique, and so are methods of a path', () => {
  for (const names of [
    ROUTES.map((route) => route.operationId),
    ROUTES.map((route) => `${route.method} ${route.path}`),
  ]) {
    expect(names).toEqual([...new Set(names)]);
  }
});

const NAMED = ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const);

describe.each(NAMED)('%s', (name, route) => {
  const operation = document.paths[route.path.slice('/v1'.length)]?.[route.method.toLowerCase()];

  test('is published with its operationId, summary and description', () => {
    expect(operation).toMatchObject({ operationId: route.operationId, tags: [route.noun] });
    expect(route.operationId).toMatch(/^[a-z][A-Za-z]+$/);
    expect(route.summary).toMatch(/^[A-Z].+[^.]$/);
    expect(route.description).toEndWith('.');
  });

  test('has a response schema that compiles', () => {
    expect(() => TypeCompiler.Compile(route.response)).not.toThrow();
  });

  test('describes every parameter', () => {
    for (const [name, property] of Object.entries(route.query.properties)) {
      expect(name).toMatch(/^[a-z_]+$/);
      expect(property.description).toEndWith('.');
    }
  });

  test('limits its body', () => {
    if (route.body.kind === 'none') {
      expect(['GET', 'DELETE', ...BODILESS]).toContain(BODILESS.includes(name) ? name : route.method);
    }
    if (route.body.kind === 'json') {
      const isBatch = route.path.startsWith('/v1/vault/batch');
      expect(route.body.bytesMax).toBe(isBatch ? 8_388_608 : 1_048_576);
    }
    if (route.body.kind === 'stored') {
      const limits: Partial<Record<typeof route.noun, number>> = { rule: 1_048_576, proxy: 1_048_576 };
      const limit = route.path === '/v1/proxy/cert' ? 65_536 : limits[route.noun];
      expect(route.body.bytesMax).toBe(route.path.includes('/batch') ? 8_388_608 : (limit ?? 262_144));
    }
  });

  test('publishes each code that it can answer with, under its status', () => {
    expect(routeErrors(route).filter((code) => !isErrorCode(code))).toEqual([]);
    const published = JSON.stringify(operation?.['responses']);
    for (const code of routeErrors(route)) {
      expect(published).toContain(`"code":"${code}"`);
    }
  });

  test('needs an account, unless it is one of the open ones', () => {
    expect(route.auth).toBe(OPEN[name] ?? 'basic');
  });

  test('needs a scope, takes any credential or none, if it needs an account, and nothing of it otherwise', () => {
    const { auth, scope } = route;
    const scopes = scopesOf(scope);
    const needs = scopes.length > 0 || scope === 'any' || scope === 'password';
    expect([scope !== 'none', needs]).toEqual([auth === 'basic', auth === 'basic']);
    const others = scope === 'password' ? [] : [{ credential: scopes }];
    const byAccount = auth === 'basic' ? [{ basicAuth: [] }, ...others] : expect.anything();
    expect(operation?.['security']).toEqual(byAccount);
    const said = String(operation?.['description']).split('\n\n').slice(1).join();
    const told = /^A credential needs the scope `.+`\.$|^(?:Any|No) credential may be used\.$/;
    expect(said).toMatch(auth === 'basic' ? told : /^$/);
    expect([...said.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual([...scopes]);
  });

  test('declares the parameters of its path, and no others', () => {
    const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(route.params.properties)).toEqual(names as string[]);
    expect(route.params.required ?? []).toEqual(names as string[]);
    for (const property of Object.values(route.params.properties)) {
      expect(property['type']).toBe('string');
      expect(property.description).toEndWith('.');
    }
  });
});

describe('the SDK', () => {
  /** Matches the requests of a route, with or without a query. */
  const requestsOf = ({ method, path }: (typeof ROUTES)[number]): RegExp =>
    new RegExp(`^${method} ${path.replace('{path}', '[^?]+').replaceAll(/\{\w+\}/g, '[^/?]+')}(?:\\?|$)`);
  const requests = Object.values(WIRES).map(({ request }) => request);

  test.each(NAMED.filter(([, route]) => !isLeftOut(route)))('has a method for %s', (_, route) => {
    expect(requests.filter((request) => requestsOf(route).test(request))).not.toEqual([]);
  });

  test('asks for nothing but routes', () => {
    const known = ROUTES.map(requestsOf);
    expect(requests.filter((request) => !known.some((route) => route.test(request)))).toEqual([]);
  });

  test('has no method without its request in the table', () => {
    const at = (kind: string) => ({ url: `https://vault.test/v1/${kind}/shop`, secret: 'secret' });
    const clients = {
      ...new Vault({ baseUrl: 'https://vault.test', username: 'shop', password: 'p' }),
      captureClient: captureClient(at('capture')),
      retrieveClient: retrieveClient(at('retrieve')),
    };
    const methods = callNames(clients);
    expect(methods.length).toBeGreaterThan(30);
    expect(methods.filter((name) => WIRES[name] === undefined)).toEqual([]);
  });

  test('sends an endpoint its secret, and every other route the credentials of the account', () => {
    const secretOf = { capture_secret: 'capture', retrieve_secret: 'retrieve' } as const;
    // A path in plain words goes before one with a parameter in their place.
    const routes = ROUTES.toSorted((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')));
    for (const { request, secret } of Object.values(WIRES)) {
      const route = routes.find((each) => requestsOf(each).test(request));
      const auth = route?.auth ?? 'basic';
      expect(auth === 'public' && secret === 'none' ? undefined : secret).toBe(
        auth === 'capture_secret' || auth === 'retrieve_secret' ? secretOf[auth] : undefined,
      );
    }
  });
});
