import type { Caller } from '../account/sign-in.ts';
import { VaultError } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import type { HttpContext } from './context.ts';
import type { HttpDeps } from './deps.ts';

/** True for the `Origin` of the request itself, with either scheme, or of the public URL. */
function isOwnOrigin(origin: string, { url }: Request, publicUrl: string): boolean {
  const parsed = URL.parse(origin);
  return (
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    (parsed.host === new URL(url).host || parsed.origin === new URL(publicUrl).origin)
  );
}

/**
 * Rejects a browser's request on behalf of another site, whose pages must not use credentials that the browser remembers. A
 * browser that sends no `Sec-Fetch-Site`, as over plain HTTP, is recognized by its `Origin`; `null` is another site. Other
 * clients send neither.
 */
function rejectOtherSites(request: Request, publicUrl: string): void {
  const site = request.headers.get('sec-fetch-site');
  const origin = site === null ? request.headers.get('origin') : null;
  if (
    site === 'cross-site' ||
    site === 'same-site' ||
    (origin !== null && !isOwnOrigin(origin, request, publicUrl))
  ) {
    throw new VaultError('not_allowed');
  }
}

/** Finds the caller of a request before its body is read. Rejects other sites, and missing or malformed credentials. */
export function recallCaller(ctx: HttpContext, { http, signIns }: HttpDeps): Caller {
  const { request } = ctx;
  rejectOtherSites(request, http.publicUrl);
  const caller = signIns.recall(ctx.ip, new Secret(request.headers.get('authorization') ?? ''));
  ctx.hasCredentials = true;
  return caller;
}
