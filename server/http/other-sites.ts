import { VaultError } from '../core/errors.ts';

/** Whether an `Origin` is that of the request itself, whatever scheme a proxy has ended, or that of the public URL. */
function isOwnOrigin(origin: string, { url }: Request, publicUrl: string): boolean {
  const parsed = URL.canParse(origin) ? new URL(origin) : undefined;
  return (
    parsed !== undefined &&
    /^https?:$/.test(parsed.protocol) &&
    (parsed.host === new URL(url).host || parsed.origin === new URL(publicUrl).origin)
  );
}

/**
 * What a browser sends on behalf of another site is `not_allowed`: a page elsewhere must not be able to use credentials
 * that the browser remembers. A browser that sends no `Sec-Fetch-Site`, as all do over plain HTTP, is known by its
 * `Origin`; `null` is another site. Other clients send neither.
 */
export function rejectOtherSites(request: Request, publicUrl: string): void {
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
