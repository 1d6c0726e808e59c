/** Cookies of people. They are for the console's host alone, no script reads them, and what they hold is secret. */

interface Cookie {
  readonly name: string;
  readonly sameSite: 'Strict' | 'Lax';
  readonly value: RegExp;
}

/** The cookie of a session, 256 random bits. No page of another site makes a browser send it. */
export const SESSION_COOKIE: Cookie = {
  name: 'vault_session',
  sameSite: 'Strict',
  value: /^[A-Za-z0-9_-]{43}$/,
};
/** A challenge that binds a sign-in at a provider to the browser that has begun it, which sends it when the provider leads back. */
export const SIGN_IN_COOKIE: Cookie = {
  name: 'vault_signin',
  sameSite: 'Lax',
  value: /^[A-Za-z0-9_-]{1,128}$/,
};

/** Browsers take the prefix over HTTPS alone. */
function isPlain(consoleUrl: string): boolean {
  return consoleUrl.startsWith('http:');
}

function startOf(consoleUrl: string, { name }: Cookie): string {
  return `${isPlain(consoleUrl) ? '' : '__Host-'}${name}=`;
}

/** The `Set-Cookie` of a value, which lasts as long as the browser, or for some seconds. */
export function setCookie(consoleUrl: string, cookie: Cookie, value: string, seconds?: number): string {
  const secure = isPlain(consoleUrl) ? '' : '; Secure';
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`;
  return `${startOf(consoleUrl, cookie)}${value}; Path=/; HttpOnly; SameSite=${cookie.sameSite}${secure}${age}`;
}

/** The `Set-Cookie` that ends a cookie. */
export function endCookie(consoleUrl: string, cookie: Cookie): string {
  return setCookie(consoleUrl, cookie, '', 0);
}

/**
 * The value in a `Cookie` header; undefined if there is none, or two that differ. Any other character than a space or a tab before a
 * name is a part of it: to a browser that is a cookie without the prefix, which other hosts of the domain may set.
 */
export function readCookie(consoleUrl: string, cookie: Cookie, header: string): string | undefined {
  const start = startOf(consoleUrl, cookie);
  const pairs = header.split(';').map((pair) => pair.replace(/^[ \t]+/, ''));
  const [pair, ...others] = new Set(pairs.filter((each) => each.startsWith(start)));
  const value = pair?.slice(start.length) ?? '';
  return others.length === 0 && cookie.value.test(value) ? value : undefined;
}
