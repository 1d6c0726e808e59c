/** The cookie of a session. It is for the console's host alone, and no page of another site makes a browser send it. */

const NAME = 'vault_session';
/** 256 random bits in base64url. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Browsers take the prefix over HTTPS alone. */
function isPlain(consoleUrl: string): boolean {
  return consoleUrl.startsWith('http:');
}

function nameOf(consoleUrl: string): string {
  return isPlain(consoleUrl) ? NAME : `__Host-${NAME}`;
}

/** The `Set-Cookie` of a session; without a token that of its end. */
export function sessionCookie(consoleUrl: string, token?: string): string {
  const pair = `${nameOf(consoleUrl)}=${token ?? ''}`;
  const end = token === undefined ? '; Max-Age=0' : '';
  return `${pair}; Path=/; HttpOnly; SameSite=Strict${isPlain(consoleUrl) ? '' : '; Secure'}${end}`;
}

/** The token in a `Cookie` header; undefined if there is none, or two that differ. */
export function readSessionCookie(consoleUrl: string, header: string): string | undefined {
  const token = readCookie(nameOf(consoleUrl), header);
  return token !== undefined && TOKEN.test(token) ? token : undefined;
}

/**
 * The value of a cookie in a `Cookie` header; undefined if there is none, or two that differ. Any other character than a space or a
 * tab before a name is a part of it: to a browser that is a cookie without the prefix, which other hosts of the domain may set.
 */
export function readCookie(name: string, header: string): string | undefined {
  const start = `${name}=`;
  const pairs = header.split(';').map((pair) => pair.replace(/^[ \t]+/, ''));
  const [pair, ...others] = new Set(pairs.filter((each) => each.startsWith(start)));
  return others.length === 0 ? pair?.slice(start.length) : undefined;
}
