import type { Elysia } from 'elysia';
import { VaultError } from '../core/errors.ts';
import { createClientAddress } from './client-address.ts';
import { compileRoute, type MountedRoute } from './compile.ts';
import { arrive, endRequest, errorReply, reportError, UNROUTED } from './context.ts';
import { preflightOf } from './cors.ts';
import type { HttpConfig, HttpDeps } from './deps.ts';
import { emptyResponse, type HeaderList } from './reply.ts';
import { answer, type Routed } from './request.ts';
import type { Route } from './route.ts';

function answerPreflight(request: Request, route: string, headers: HeaderList, deps: HttpDeps): Response {
  const ctx = arrive(request, route, deps);
  return endRequest(ctx, emptyResponse(ctx.requestId, headers), deps);
}

/** A request without a route: its path does not exist, or not with this method. */
interface Unrouted {
  readonly route: string;
  /** The methods of the path for 405; the reply is 404 without them. */
  readonly allow?: string;
  readonly error?: unknown;
}

/** Replies with an error to a request without a route. */
export function answerUnrouted(
  request: Request,
  { route, allow, error }: Unrouted,
  deps: HttpDeps,
): Response {
  const ctx = arrive(request, route, deps);
  const code = allow === undefined ? 'not_found' : 'method_not_allowed';
  const failure = error === undefined ? new VaultError(code) : reportError(error, ctx, deps);
  return endRequest(ctx, errorReply(ctx, failure, allow === undefined ? [] : [['Allow', allow]]), deps);
}

function mountPath(app: Elysia, path: string, methods: Map<string, MountedRoute>, deps: HttpDeps): void {
  const routes = [...methods.values()].map(({ route }) => route);
  const read = methods.get('GET');
  if (read !== undefined) {
    methods.set('HEAD', read);
  }
  const preflight = preflightOf(routes);
  const needsPath = routes.some((route) => route.needsPath);
  const allow = [...methods.keys(), ...(preflight === undefined ? [] : ['OPTIONS'])].join(', ');
  // The framework reads the members of its context that a handler uses from its text; any other way it would read the body.
  const respondTo = ({ request, server, params }: Routed): Response | Promise<Response> => {
    const mounted = methods.get(request.method);
    if (needsPath && !params?.['*']) {
      return answerUnrouted(request, { route: UNROUTED }, deps);
    }
    const isOpenMethod = mounted?.isOpen ?? (request.method === 'OPTIONS' && preflight !== undefined);
    if (!isOpenMethod && isOnFormsHost(deps.http, request)) {
      return answerUnrouted(request, { route: UNROUTED }, deps);
    }
    if (mounted !== undefined) {
      return answer(mounted, { request, server, params }, deps);
    }
    return request.method === 'OPTIONS' && preflight !== undefined
      ? answerPreflight(request, path, preflight, deps)
      : answerUnrouted(request, { route: path, allow }, deps);
  };
  for (const pattern of patternsOf(path, needsPath)) {
    mountAll(app, pattern, respondTo);
  }
}

/** The patterns of a path for the framework. A final `{path}` of third parties may have many segments, and mostly be empty. */
function patternsOf(path: string, needsPath: boolean): readonly string[] {
  const [, base] = /^(.*)\/\{path\}$/.exec(path) ?? [];
  const pattern = (base ?? path).replaceAll(/\{(\w+)\}/g, ':$1');
  if (base === undefined) {
    return [pattern];
  }
  return needsPath ? [`${pattern}/*`] : [pattern, `${pattern}/*`];
}

/** Mounts a path for all methods. Without an explicit HEAD the framework would read the whole body to count it. */
export function mountAll(
  app: Elysia,
  path: string,
  respond: (routed: Routed) => Response | Promise<Response>,
): void {
  app.all(path, respond);
  app.head(path, respond);
}

/**
 * Mounts a table of routes. Each path is mounted once for all methods, with and without its trailing slash, so that no
 * default of the framework applies: HEAD would run the GET handler, others would be 404. A literal path takes precedence over
 * a parameter. The separate host for forms has only the open routes, and so never receives credentials of an account.
 */
export function mountRoutes<Needs>(
  app: Elysia,
  routes: readonly Route<Needs>[],
  deps: HttpDeps,
  services: Needs,
): void {
  const clientAddress = createClientAddress(deps.http.trustedProxies);
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    const compiled = ofPath.map(
      (route) => [route.method, compileRoute(route, services, clientAddress, deps)] as const,
    );
    mountPath(app, path, new Map<string, MountedRoute>(compiled), deps);
  }
}

/** The host of a URL with its port, without default ports and a trailing dot; '' for an invalid URL. */
function hostOf(url: string): string {
  return (URL.parse(url)?.host ?? '').replace(/:(?:443|80)$/, '').replace(/\.(?=:|$)/, '');
}

/** True for a request to the separate host for forms. */
export function isOnFormsHost({ formsUrl }: HttpConfig, request: Request): boolean {
  return formsUrl !== undefined && hostOf(request.url) === hostOf(formsUrl);
}
