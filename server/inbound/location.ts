/** Redirections of a merchant, as the sender of a request may follow them. */

/**
 * Rewrites a `Location` that lies below the base URL of a connection to one below the URL of its inbound. Undefined for any other: the
 * sender would repeat the number to it. `sent` is the URL of the request, against which a relative one is resolved.
 */
export function locationBelow(location: string, sent: string, base: string, url: string): string | undefined {
  const target = URL.parse(location, sent);
  const within = URL.parse(base);
  if (target === null || within === null) {
    return undefined;
  }
  const basePath = within.pathname.replace(/\/+$/, '');
  const rest = target.pathname.slice(basePath.length);
  const isBelow =
    target.origin === within.origin &&
    target.username === '' &&
    target.password === '' &&
    target.pathname.startsWith(`${basePath}/`) &&
    // The inbound itself takes no requests.
    rest !== '/';
  return isBelow ? `${url}${rest}${target.search}${target.hash}` : undefined;
}
