import { readCookie, SESSION_COOKIE } from '../account/session/cookie.ts';
import type { Caller } from '../account/sign-in.ts';
import { VaultError } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import type { HttpContext } from './context.ts';
import type { HttpConfig, HttpDeps } from './deps.ts';
import type { RouteShape } from './route.ts';

/** Routes that send something to third parties with any method. */
const SENDS = /^\/v1\/(?:relay|proxy)(?:\/|$)/;

/** True for the `Origin` of the request itself, with either scheme, of the public URL or of the console. */
function isOwnOrigin(origin: string, { url }: Request, { publicUrl, people }: HttpConfig): boolean {
  const parsed = URL.parse(origin);
  return (
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    (parsed.host === new URL(url).host ||
      parsed.origin === new URL(publicUrl).origin ||
      parsed.origin === people.consoleUrl)
  );
}

/**
 * Rejects a browser's request on behalf of another site, whose pages must not use credentials that the browser remembers. A
 * browser that sends no `Sec-Fetch-Site`, as over plain HTTP, is recognized by its `Origin`; `null` is another site. Other
 * clients send neither.
 */
function rejectOtherSites(request: Request, http: HttpConfig): void {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'cross-site' && site !== 'same-site') {
    return;
  }
  const origin = request.headers.get('origin');
  const isAllowed =
    site === null
      ? origin === null || isOwnOrigin(origin, request, http)
      : origin !== null && origin === http.people.consoleUrl;
  if (!isAllowed) {
    throw new VaultError('not_allowed');
  }
}

/** Rejects credentials that a person has typed into a browser, where the operator wants people to sign in. */
function rejectTyped(request: Request, { people }: HttpConfig): void {
  const site = people.hasPasswords ? null : request.headers.get('sec-fetch-site');
  if (site === 'same-origin' || site === 'none') {
    const expected = 'is not taken from browsers here: sign in at the console as a person';
    throw new VaultError('not_allowed', { field: 'header.Authorization', expected });
  }
}

/**
 * Tells whether the cookie of a session counts: for requests of the console, and for reading also where a browser does not say that
 * another site has caused the request. Reading through the relay or the proxy sends something, and is no reading.
 */
function countsCookie(request: Request, { path }: RouteShape, http: HttpConfig): boolean {
  if (isOfConsole(request, http)) {
    return true;
  }
  const { headers, method } = request;
  const site = headers.get('sec-fetch-site');
  return isReading(method, path) && (site === null || site === 'none');
}

/** True for a request of which the browser says that a page of the console has caused it. */
function isOfConsole({ headers }: Request, { people }: HttpConfig): boolean {
  return headers.get('sec-fetch-site') === 'same-origin' || headers.get('origin') === people.consoleUrl;
}

/**
 * Rejects a sign-in that another site could have caused, whose page would then act in a session of its choice. Browsers let pages send
 * JSON to another site only where that allows it.
 */
export function requireConsole(request: Request, http: HttpConfig): void {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  if (!isOfConsole(request, http) || type.trim().toLowerCase() !== 'application/json') {
    throw new VaultError('cross_site');
  }
}

function isReading(method: string, path: string): boolean {
  return (method === 'GET' || method === 'HEAD') && !SENDS.test(path);
}

/** Finds the session of a request without an `Authorization`; undefined if it has none that counts. */
function recallSession(
  { request }: HttpContext,
  route: RouteShape,
  { http, signIns }: HttpDeps,
): Caller | undefined {
  const { headers, method } = request;
  const { consoleUrl } = http.people;
  const cookies = headers.get('cookie');
  const token =
    consoleUrl === undefined || cookies === null
      ? undefined
      : readCookie(consoleUrl, SESSION_COOKIE, cookies);
  if (token === undefined) {
    return undefined;
  }
  if (countsCookie(request, route, http)) {
    return signIns.recallSession(token, headers.get('x-vault-poll') === '1');
  }
  if (!isReading(method, route.path)) {
    throw new VaultError('cross_site');
  }
  return undefined;
}

/** Finds the caller of a request before its body is read. Rejects other sites, and missing or malformed credentials. */
export function recallCaller(ctx: HttpContext, route: RouteShape, deps: HttpDeps): Caller {
  const { request } = ctx;
  const header = request.headers.get('authorization');
  const session = header === null ? recallSession(ctx, route, deps) : undefined;
  if (session !== undefined) {
    ctx.hasCredentials = true;
    return session;
  }
  rejectOtherSites(request, deps.http);
  const caller = deps.signIns.recall(ctx.ip, new Secret(header ?? ''));
  rejectTyped(request, deps.http);
  ctx.hasCredentials = true;
  return caller;
}
