import { describe, expect, test } from 'bun:test';
import { captureClient, retrieveClient, Vault } from '../sdk/index.ts';
import { API, ROUTES } from '../server/boot/routes.ts';
import { isErrorCode } from '../server/core/errors.ts';
import { OPERATOR_SCOPE, SCOPES } from '../server/core/scopes.ts';
import { buildOpenApi } from '../server/http/openapi/document.ts';
import { type AuthRule, type RouteShape, routeErrors, scopesOf } from '../server/http/route.ts';
import { callNames } from './sdk/call-names.ts';
import { WIRES } from './sdk/wires.ts';

const document = buildOpenApi(API, 'https://vault.test');

/** The routes that need no account, and what they need instead. */
const OPEN: Readonly<Record<string, AuthRule>> = {
  ...Object.fromEntries(
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => [
      `${method} /v1/inbound/{id}/{path}`,
      'inbound_secret' as const,
    ]),
  ),
  'POST /v1/capture/{unique_id}': 'capture_secret',
  'GET /v1/capture/{unique_id}': 'capture_secret',
  'GET /v1/capture/{unique_id}/bin/{digits}': 'capture_secret',
  'GET /v1/capture/{unique_id}/sealing-key': 'public',
  'GET /v1/retrieve/{unique_id}': 'retrieve_secret',
  'GET /v1/retrieve/iframe/{form_id}': 'public',
  'GET /v1/capture/iframe/{form_id}': 'public',
  'POST /v1/person/invitation/options': 'console',
  'POST /v1/person/invitation': 'console',
  'POST /v1/person/signin/options': 'console',
  'POST /v1/person/signin': 'console',
  'POST /v1/person/signin/oidc': 'console',
};

/**
 * Whether the SDK leaves a route out: pages and sessions of people are for browsers, and forms need one of their two paths alone.
 */
function isLeftOut({ path, html, auth }: RouteShape): boolean {
  const isOfSession = auth === 'console' || path.startsWith('/v1/person/self');
  return html === 'always' || isOfSession || path.startsWith('/v1/capture/iframe');
}

/** The routes that change something and are told everything in the path and the query. */
const BODILESS = [
  'POST /v1/capture',
  'POST /v1/retrieve',
  'POST /v1/proxy/job/{id}/redeliver',
  'POST /v1/event/subscription/{id}/test',
  'POST /v1/account/{name}/password',
  'POST /v1/account/{name}/suspend',
  'POST /v1/account/{name}/resume',
  'POST /v1/person/{id}/invite',
];

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

function operationOf({ method, path }: RouteShape) {
  return document.paths[path.slice('/v1'.length)]?.[method.toLowerCase()];
}

/** How a route is told from the others in a failure. */
function nameOf({ method, path }: RouteShape): string {
  return `${method} ${path}`;
}

test('every route is published, under the name of its operation', () => {
  for (const route of ROUTES) {
    expect(operationOf(route)).toMatchObject({ operationId: route.operationId, tags: [route.noun] });
  }
});

/** The bytes of the bodies that may be longer than others. */
const BYTES_MAX: readonly (readonly [of: RegExp, bytes: number])[] = [
  [/^\/v1\/(?:vault|vault\/update|capture\/\{unique_id\}|rule|rule\/test)$/, 262_144],
  [/^\/v1\/vault\/batch\/(?:decrypt|delete)$/, 524_288],
  [
    /^\/v1\/(?:(?:capture|retrieve)\/iframe(?:\/\{form_id\})?|proxy\/(?:post|get|network_token)|relay\/.*|inbound\/\{id\}\/.*)$/,
    1_048_576,
  ],
  [/^\/v1\/vault\/batch$/, 8_388_608],
];

test('every body has a limit, and only what is told all by its address has none', () => {
  for (const route of ROUTES) {
    const { body, method, path } = route;
    if (body.kind === 'none') {
      expect(['GET', 'DELETE', ...BODILESS]).toContain(
        BODILESS.includes(nameOf(route)) ? nameOf(route) : method,
      );
      continue;
    }
    const most = BYTES_MAX.find(([of]) => of.test(path))?.[1] ?? 65_536;
    expect([nameOf(route), body.bytesMax]).toEqual([nameOf(route), most]);
  }
});

test('every code that a route can answer with is published', () => {
  for (const route of ROUTES) {
    const codes = routeErrors(route);
    const published = JSON.stringify(operationOf(route)?.['responses']);
    expect(codes.filter((code) => !isErrorCode(code) || !published.includes(`"code":"${code}"`))).toEqual([]);
  }
});

test('every route needs an account, unless it is one of the open ones', () => {
  const open = ROUTES.filter(({ auth }) => auth !== 'basic').map((route) => [nameOf(route), route.auth]);
  expect(Object.fromEntries(open)).toEqual(OPEN);
});

test('a route that needs an account needs a scope, takes any credential or none, and says so', () => {
  for (const route of ROUTES) {
    const { auth, scope } = route;
    const operation = operationOf(route);
    const scopes = scopesOf(scope);
    const needs = scopes.length > 0 || ['any', 'password', 'person'].includes(String(scope));
    expect([scope !== 'none', needs]).toEqual([auth === 'basic', auth === 'basic']);
    const others = scope === 'password' ? [] : [{ credential: scopes }];
    const byPassword = scope === OPERATOR_SCOPE ? [] : [{ basicAuth: [] }];
    const byCaller = scope === 'person' ? [{ session: [] }] : [...byPassword, ...others];
    const byAccount = auth === 'basic' ? byCaller : expect.anything();
    expect(operation?.['security']).toEqual(byAccount);
    const said = String(operation?.['description']).split('\n\n').slice(1).join();
    expect([...said.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual([...scopes]);
  }
});

test('every route declares the parameters of its path, and no others', () => {
  for (const { path, params } of ROUTES) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    expect(Object.keys(params.properties)).toEqual(names);
    expect(params.required ?? []).toEqual(names);
    expect(Object.values(params.properties).filter(({ type }) => type !== 'string')).toEqual([]);
  }
});

describe('the SDK', () => {
  /** Matches the requests of a route, with or without a query. */
  const requestsOf = ({ method, path }: RouteShape): RegExp =>
    new RegExp(`^${method} ${path.replace('{path}', '[^?]+').replaceAll(/\{\w+\}/g, '[^/?]+')}(?:\\?|$)`);
  const requests = Object.values(WIRES).map(({ request }) => request);

  test('has a method for every route', () => {
    const missing = ROUTES.filter(
      (route) => !isLeftOut(route) && !requests.some((request) => requestsOf(route).test(request)),
    );
    expect(missing.map(nameOf)).toEqual([]);
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
    const secretOf: Readonly<Record<AuthRule, 'capture' | 'retrieve' | undefined>> = {
      ...{ capture_secret: 'capture', retrieve_secret: 'retrieve', inbound_secret: 'capture' },
      ...{ basic: undefined, public: undefined, console: undefined },
    };
    // A path in plain words goes before one with a parameter in their place.
    const routes = ROUTES.toSorted((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')));
    for (const { request, secret } of Object.values(WIRES)) {
      const route = routes.find((each) => requestsOf(each).test(request));
      const auth = route?.auth ?? 'basic';
      expect(auth === 'public' && secret === 'none' ? undefined : secret).toBe(secretOf[auth]);
    }
  });
});
