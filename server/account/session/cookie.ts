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
  const name = nameOf(consoleUrl);
  const found = new Set(
    header
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1)),
  );
  const [token, ...others] = found;
  return token !== undefined && others.length === 0 && TOKEN.test(token) ? token : undefined;
}
